/** Flags that several commands of the group have. */
import * as Flag from "effect/cli/Flag"

export const json = Flag.Boolean("json").pipe(Flag.withDescription("Print one line of JSON"), Flag.withDefault(false))
