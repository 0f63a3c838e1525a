/** Whether the command line asks for the terminal's user interface. Loaded at every start, so it loads nothing. */
export interface Wanted {
  readonly directory: string
  /** In this process, with an index of its own that goes with it. */
  readonly standalone: boolean
  readonly plain: boolean
}

interface Surroundings {
  readonly stdin: { readonly isTTY?: boolean }
  readonly stdout: { readonly isTTY?: boolean }
  readonly env: Readonly<Record<string, string | undefined>>
}

/** `undefined`: something else is wanted, or there is no terminal for it. */
export const wanted = (args: ReadonlyArray<string>, { env, stdin, stdout }: Surroundings): Wanted | undefined => {
  if (stdin.isTTY !== true || stdout.isTTY !== true) return undefined
  let [directory, standalone, plain] = [".", false, env["TERM"] === "dumb" || env["INK_SCREEN_READER"] === "true"]
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    const [name, value] = arg.startsWith("--dir=") ? ["--dir", arg.slice("--dir=".length)] : [arg, undefined]
    if (name === "--standalone") standalone = true
    else if (name === "--plain") plain = true
    else if (name === "--dir") directory = value ?? rest.shift() ?? ""
    else return undefined
  }
  return directory === "" ? undefined : { directory, standalone, plain }
}
