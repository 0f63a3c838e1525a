/** The primitives of this process: loaded once, in their order, and passed over on a file system where they let two in. */
import * as darwin from "./darwin.ts"
import * as flock from "./flock.ts"
import { choose, here, type Primitive, type PrimitiveName } from "./primitive.ts"
import * as windows from "./windows.ts"

const load = (name: PrimitiveName): Primitive =>
  name === "open(2) O_EXLOCK" ? darwin.make() : name.includes("share mode 0") ? windows.make(name) : flock.make(name)

/** For tests and diagnostics: only this primitive, by its name, and no other. */
const forced = (): string | undefined => process.env["HOLDFAST_LOCK_PRIMITIVE"] || undefined

interface Loaded {
  readonly ready: Array<Primitive>
  readonly waiting: Array<PrimitiveName>
  /** Why those that are not there are not. */
  readonly missing: Array<string>
}
let loaded: Loaded | undefined

const start = (): Loaded => {
  const only = forced()
  const waiting = choose(here()).filter((name) => only === undefined || name === only)
  const missing =
    waiting.length > 0 ? [] : [only === undefined ? `none is known for ${process.platform}` : `${only}: unknown here`]
  return { ready: [], waiting: [...waiting], missing }
}

const dishonest = new Set<string>()
const key = (primitive: Primitive, device: string): string => `${primitive.name}\0${device}`

/** On this device two holders were let in, so the primitive is worth nothing there; elsewhere it may be. */
export const distrust = (primitive: Primitive, device: string): void => void dishonest.add(key(primitive, device))

/** The first primitive that loads and was not caught on the device, which is rarely asked for; otherwise why there is none. */
export const primitiveFor = (device: () => string): Primitive | string => {
  const { missing, ready, waiting } = (loaded ??= start())
  for (let index = 0; ; index++) {
    while (ready[index] === undefined) {
      const name = waiting.shift()
      if (name === undefined) {
        const caught = ready.map(({ name }) => `${name}: a second holder was let in`)
        return [...missing, ...caught].join("; ")
      }
      try {
        ready.push(load(name))
      } catch (error) {
        missing.push(`${name}: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`)
      }
    }
    const primitive = ready[index]!
    if (dishonest.size === 0 || !dishonest.has(key(primitive, device()))) return primitive
  }
}
