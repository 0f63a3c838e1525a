/** `npm run bench`: the whole slice; `npm run bench -- lock`: the lock and the lease; `npm run bench -- owner`: the
 * lifecycle shell; `npm run bench -- client`: finding and starting. A number is the slice's runs. */
const [name = "slice"] = process.argv.slice(2)
if (name === "lock") await import("./lock.ts")
else if (name === "owner") await import("./owner.ts")
else if (name === "client") await import("./client.ts")
else if (name === "slice" || /^[1-9]\d*$/.test(name)) await import("./slice.ts")
else {
  console.error(
    `There is no benchmark ${JSON.stringify(name)}; run slice, lock, owner, client, or a number of runs of the slice.`
  )
  process.exitCode = 64
}
