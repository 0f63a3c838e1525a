/** A happening in words. */
import type { Happening } from "../Timeline.ts"

/** Who it is about, and what. `who` is empty where it is about nobody. */
export const describe = (one: Happening): { readonly who: string; readonly what: string } => {
  switch (one._tag) {
    case "Started":
      return { who: `${one.pid}`, what: `started as ${one.role}` }
    case "Ended":
      return { who: `${one.pid}`, what: one.code === null ? "ended without a code" : `ended with ${one.code}` }
    case "Step":
      return { who: `${one.pid}`, what: one.step }
    case "Locked":
      return { who: `${one.pid}`, what: "got the lock" }
    case "Unlocked":
      return { who: `${one.pid}`, what: "lost the lock" }
    case "Epoch":
      return { who: `${one.pid}`, what: `got epoch ${one.epoch}` }
    case "Fenced":
      return { who: "fence", what: `accepts epoch ${one.epoch}` }
    case "Status":
      return { who: `${one.pid}`, what: `became ${withDetail(one)}` }
    case "Seen":
      return { who: one.client, what: `saw ${withDetail(one)}` }
    case "Signal":
      return { who: `${one.pid}`, what: `got ${one.signal}` }
    case "Fault":
    case "Log":
      return { who: one.pid === undefined ? "" : `${one.pid}`, what: one.text }
    case "Note":
      return { who: "", what: one.text }
  }
}

const withDetail = ({ detail, status }: { readonly status: string; readonly detail?: string }): string =>
  detail === undefined ? status : `${status}: ${detail}`

// what moves a cursor, rings a bell, or turns the order of letters round
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu

/** Text with its control characters written out; line ends and tabs stay. */
export const printable = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replaceAll(/\p{Surrogate}/gu, "\ufffd")
    .replaceAll(unseen, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Milliseconds as seconds, to the millisecond. */
export const seconds = (ms: number): string => `${(ms / 1000).toFixed(3)} s`
