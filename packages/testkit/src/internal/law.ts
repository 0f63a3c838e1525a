/** How a law is stated and fails. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Law } from "../Law.ts"
import { Testkit } from "../Testkit.ts"
import { LawBroken, type WaitedTooLong } from "../WaitedTooLong.ts"
import { storyOf } from "./story.ts"

export type Kit = Testkit["Service"]

/** What a law's body says when it finds the law broken. */
export class Broken {
  readonly _tag = "Broken"
  readonly words: string
  constructor(words: string) {
    this.words = words
  }
}

/** Fails with what is wrong, if anything is. */
export const hold = (wrong: string | undefined): Effect.Effect<void, Broken> =>
  wrong === undefined ? Effect.void : Effect.fail(new Broken(wrong))

export const expect = (holds: boolean, wrong: string): Effect.Effect<void, Broken> => hold(holds ? undefined : wrong)

export const law = (
  number: number,
  sentence: string,
  body: (kit: Kit) => Effect.Effect<void, Broken | WaitedTooLong, Scope.Scope>
): Law => {
  const broken = (words: string) => new LawBroken({ message: `Law ${number} is broken: ${words}`, action: "" })
  return {
    number,
    sentence,
    timeoutMs: 60_000,
    check: Effect.flatMap(Testkit, (kit) =>
      body(kit).pipe(
        Effect.catchTag("Broken", ({ words }) => broken(`${words}\n${storyOf(kit.timeline())}`)),
        Effect.catchTag("WaitedTooLong", ({ message }) => broken(message)),
        Effect.scoped
      )
    )
  }
}

export const isReady = (kit: Kit) =>
  kit.waitFor("the service is ready", ({ status }) => status.type === "ready", { within: "45 seconds" })

/** What is known of one process. */
export const lifeOf = (kit: Kit, pid: number) => kit.lives().find((life) => life.pid === pid)

export const hasEnded = (kit: Kit, pid: number) =>
  kit.eventually(
    `${pid} has ended`,
    () => lifeOf(kit, pid)?.to,
    (to) => to !== undefined,
    { within: "30 seconds" }
  )
