/** The laws of owning: 1 to 6, and 8. */
import * as Effect from "effect/Effect"
import type { Law } from "../Law.ts"
import type { Epochs } from "../Observation.ts"
import { fallen, heavy, lingering, losersEndMs, reigns, twoAtOnce, waited } from "./judgements.ts"
import { expect, hasEnded, hold, isReady, law, lifeOf } from "./law.ts"
import { familyOf } from "./processes.ts"

const contenders = 10

const one = law(1, "ten contenders, and ten more after a crash: one process at a time runs the application", (kit) =>
  Effect.gen(function* () {
    for (const round of [1, 2]) {
      yield* kit.swarm(contenders)
      const { health } = yield* isReady(kit)
      const ran = reigns(kit.lives())
      yield* expect(ran.length === round, `${ran.length} processes ran the application: ${ran.map(({ pid }) => pid)}`)
      if (round === 2) break
      const owner = yield* kit.owner
      yield* owner.kill
      yield* hasEnded(kit, health!.pid)
    }
    yield* hold(twoAtOnce(kit.lives()))
  })
)

const two = law(2, "each owner has a higher epoch than the one before it, and so has what its fence accepts", (kit) =>
  Effect.gen(function* () {
    const seen: Array<Epochs> = []
    for (const loss of ["nothing", "nothing", "the lease"]) {
      if (loss === "the lease") yield* kit.faultFile("lease", "delete")
      const [owner] = yield* kit.swarm(1)
      yield* isReady(kit)
      const now = kit.epochs()
      const before = seen.at(-1)
      // a lease that was deleted may begin again; what fences the application's writes may not
      if (before !== undefined && loss === "nothing") {
        yield* expect(now.lease! > before.lease!, `the lease went from epoch ${before.lease} to ${now.lease}`)
      }
      seen.push(now)
      yield* owner!.kill
      yield* owner!.exited
    }
    yield* hold(fallen(seen))
  })
)

const three = law(3, "a loser never imports the application and is gone within 2 s", (kit) =>
  Effect.gen(function* () {
    yield* kit.swarm(1)
    const owner = yield* isReady(kit)
    const members = yield* kit.swarm(contenders - 1)
    const ended = yield* Effect.forEach(members, ({ exited }) => exited, { concurrency: "unbounded" }).pipe(
      Effect.timeoutOption(losersEndMs)
    )
    yield* hold(lingering(kit.lives(), kit.elapsed()))
    if (ended._tag === "None") return yield* hold(`losers were still there after ${losersEndMs} ms`)
    const codes = ended.value.map(({ code }) => code)
    yield* expect(
      codes.every((code) => code === 0),
      `losers ended with ${codes.join(" ")}`
    )
    yield* hold(heavy(kit.lives()))
    const { registration } = yield* kit.client.state
    yield* expect(registration?.instanceID === owner.registration?.instanceID, "another instance owns the service")
  })
)

const four = law(
  4,
  "a healthy owner is not killed or displaced: not by contenders, clients, or for want of its files",
  (kit) =>
    Effect.gen(function* () {
      const [owner] = yield* kit.swarm(1)
      const { registration } = yield* isReady(kit)
      for (const lost of [undefined, "registration", "owner"] as const) {
        if (lost !== undefined) yield* kit.faultFile(lost, "delete")
        const members = yield* kit.swarm(3)
        yield* kit.eventually(
          "the contenders have ended, or the owner has",
          () => [owner!, ...members].map(({ pid }) => lifeOf(kit, pid)?.to !== undefined),
          ([gone, ...others]) => gone === true || others.every((ended) => ended)
        )
      }
      const client = yield* kit.follow("a client", { access: "launch" })
      const ready = yield* client.reconnect().pipe(
        Effect.timeoutOption("10 seconds"),
        Effect.catch(({ message }) => hold(message).pipe(Effect.as(undefined)))
      )
      yield* expect(ready?._tag === "Some", "a client did not find the owner in 10 s")
      const life = lifeOf(kit, owner!.pid)
      yield* expect(life?.to === undefined, `the owner ${owner!.pid} was ended`)
      const after = yield* kit.client.state
      yield* expect(after.health?.instanceID === registration?.instanceID, "another instance owns the service")
    })
)

const five = law(5, "a dead owner has a successor within a second of its lock being free", (kit) =>
  Effect.gen(function* () {
    const [owner] = yield* kit.swarm(1)
    yield* isReady(kit)
    yield* owner!.kill
    yield* owner!.exited
    const free = kit.elapsed()
    const [successor] = yield* kit.swarm(1)
    const life = yield* kit.eventually(
      "the successor has the lock",
      () => lifeOf(kit, successor!.pid),
      (seen) => seen?.steps.some(({ step }) => step === "after-lock") === true
    )
    const ms = waited(life!, free)
    yield* expect(ms <= 1000, `the successor ${successor!.pid} got the lock ${Math.round(ms)} ms after it was free`)
    yield* isReady(kit)
    yield* expect((yield* kit.owner).pid === successor!.pid, "somebody else owns the service")
  })
)

const six = law(6, "an owner that ends removes nothing of its successor", (kit) =>
  Effect.gen(function* () {
    const [old] = yield* kit.swarm(1)
    yield* isReady(kit)
    yield* old!.freeze
    for (const file of ["lock", "lease", "registration", "owner"] as const) yield* kit.faultFile(file, "delete")
    const [next] = yield* kit.swarm(1)
    yield* kit.waitFor(
      "the successor is ready",
      ({ health }) => health?.pid === next!.pid && health.status.type === "ready",
      {
        within: "45 seconds"
      }
    )
    const since = kit.elapsed()
    yield* old!.thaw
    // it says that it ends before it has; what it does last counts, too
    yield* hasEnded(kit, old!.pid)
    yield* old!.exited
    kit.lives()
    const gaps = kit.samples().filter(({ at, registered }) => at > since && registered !== next!.pid)
    yield* expect(gaps.length === 0, `the successor's registration was gone at ${gaps[0]?.at} ms`)
    const { health } = yield* kit.client.state
    yield* expect(health?.pid === next!.pid, "the successor does not answer any more")
  })
)

const eight = law(8, "every contender ends as the owner or exits, wherever another one crashed", (kit) =>
  Effect.gen(function* () {
    for (const step of ["after-lock", "after-register"] as const) {
      yield* kit.swarm(3, { crashAt: step })
      yield* kit.eventually(
        `all that crash at ${step} have ended`,
        () =>
          kit
            .lives()
            .filter(({ to }) => to === undefined)
            .map(({ pid }) => pid),
        (living) => living.length === 0
      )
    }
    yield* kit.swarm(3)
    const clients = yield* Effect.forEach([1, 2, 3], (n) => kit.follow(`client ${n}`, { access: "launch" }))
    yield* isReady(kit)
    yield* Effect.forEach(clients, (client) => client.reconnect(), { concurrency: "unbounded" }).pipe(
      Effect.catch(({ message }) => hold(message)),
      Effect.timeoutOption("20 seconds")
    )
    const owner = yield* kit.owner
    const others = () => {
      const there = kit.processes()
      const family = familyOf(owner.pid, there)
      const living = kit.lives().filter(({ to }) => to === undefined)
      return [...living, ...there].map(({ pid }) => pid).filter((pid) => !family.has(pid))
    }
    yield* kit.eventually("only the owner is left", others, (left) => left.length === 0, { within: losersEndMs * 2 })
  })
)

export const ownersLaws: ReadonlyArray<Law> = [one, two, three, four, five, six, eight]
