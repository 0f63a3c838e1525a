/**
 * A fence around an application's own database: a write by an owner of the past is refused in its own transaction.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ExitCode from "./ExitCode.ts"
import { type ClaimSuperseded, type LeaseUnavailable } from "./LeaseError.ts"
import { Ownership } from "./Ownership.ts"
import { ServiceError } from "./ServiceError.ts"

/**
 * A newer owner has written; nothing of this write was done. `ours` and `stored` are epochs.
 *
 * **When to use** To end what this owner still does: it was superseded, whatever its lease said when it looked.
 *
 * @category errors
 * @since 0.1.0
 */
export class StaleEpoch extends ServiceError<StaleEpoch>()("StaleEpoch", ExitCode.unavailable, {
  ours: Schema.Int,
  stored: Schema.Int
}) {}

/**
 * What a fence needs of a SQLite database: `DatabaseSync` of `node:sqlite` and `Database` of `bun:sqlite` have it.
 *
 * @category models
 * @since 0.1.0
 */
export interface FencedDatabase {
  exec(sql: string): unknown
  prepare(sql: string): { get(...parameters: Array<any>): unknown; run(...parameters: Array<any>): unknown }
}

/**
 * Writes that only the current owner can make.
 *
 * **Details** `write` runs the body in one transaction with the check of the epoch: all of it, or nothing. What the body
 * throws is a defect, after the transaction was rolled back. The body is synchronous: nothing else runs in between.
 *
 * **When to use** For every write of an application whose owner may have been frozen after it looked whether it still
 * owns. A lease alone cannot stop that write; the store can.
 *
 * **Gotchas** Writes that do not go through it are not fenced. Reads are not either.
 *
 * **Example**
 *
 * ```ts
 * import { Fence } from "@holdfast/lock/Fence"
 * import { Ownership } from "@holdfast/lock/Ownership"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import { DatabaseSync } from "node:sqlite"
 *
 * const database = new DatabaseSync(":memory:")
 * database.exec("CREATE TABLE notes (note TEXT)")
 *
 * const keep = (note: string) =>
 *   Effect.flatMap(Fence, (fence) =>
 *     fence.write(() => database.prepare("INSERT INTO notes VALUES (?)").run(note).changes))
 *
 * const layer = Fence.layer(database).pipe(Layer.provide(Ownership.layerMemory))
 * console.log(await Effect.runPromise(keep("hello").pipe(Effect.provide(layer)))) // => 1
 * ```
 *
 * Source: DESIGN §3 "Fence".
 *
 * @category services
 * @since 0.1.0
 */
export class Fence extends Context.Service<
  Fence,
  { readonly write: <A>(body: () => A) => Effect.Effect<A, StaleEpoch> }
>()("@holdfast/lock/Fence") {
  /**
   * Raises the fence to this owner's epoch, in one transaction, before anything is read through it. A fence that has
   * accepted that epoch already (the lease was recreated) moves the owner past it first.
   */
  static readonly layer = (
    database: FencedDatabase
  ): Layer.Layer<Fence, ClaimSuperseded | LeaseUnavailable, Ownership> =>
    Layer.effect(
      Fence,
      Effect.gen(function* () {
        const ownership = yield* Ownership
        yield* Effect.sync(() =>
          database.exec(
            "CREATE TABLE IF NOT EXISTS holdfast_fence (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL)"
          )
        )
        const stored = (): number =>
          (
            database.prepare("SELECT epoch FROM holdfast_fence WHERE id = 1").get() as
              | { readonly epoch: number }
              | undefined
              | null
          )?.epoch ?? 0
        const put = (epoch: number) =>
          database.exec(
            `INSERT INTO holdfast_fence (id, epoch) VALUES (1, ${epoch}) ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch`
          )
        /** `true` when the fence stands at our epoch; the lower one is never put back. */
        const raise = Effect.sync(() => {
          const { epoch } = ownership
          return inTransaction(database, () => {
            if (stored() >= epoch) return false
            put(epoch)
            return true
          })
        })
        while (!(yield* raise)) yield* ownership.advance(yield* Effect.sync(stored))
        return Fence.of({
          write: (body) =>
            Effect.suspend(() => {
              const ours = ownership.epoch
              let stale: number | undefined
              const value = inTransaction(database, () => {
                const found = stored()
                if (found > ours) {
                  stale = found
                  return undefined as never
                }
                if (found < ours) put(ours) // another fence of ours moved the owner on
                return body()
              })
              return stale === undefined ? Effect.succeed(value) : Effect.fail(staleEpoch(ours, stale))
            })
        })
      })
    )
}

const staleEpoch = (ours: number, stored: number): StaleEpoch =>
  new StaleEpoch({
    ours,
    stored,
    message: `A newer owner (epoch ${stored}) has written; this one (epoch ${ours}) writes no more.`,
    action: "Nothing is to be done: the newer owner serves."
  })

const inTransaction = <A>(database: FencedDatabase, body: () => A): A => {
  database.exec("BEGIN IMMEDIATE")
  try {
    const value = body()
    database.exec("COMMIT")
    return value
  } catch (error) {
    try {
      database.exec("ROLLBACK")
    } catch {
      // a full disk has already ended it; what counts is the first error
    }
    throw error
  }
}
