/** A timeline as it stands below the sentence of a failure, which is its headline. */
import { type Timeline, toText } from "../Timeline.ts"

export const storyOf = (timeline: Timeline): string => toText(timeline).split("\n").slice(1).join("\n")
