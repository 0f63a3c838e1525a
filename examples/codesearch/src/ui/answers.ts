/** What the service answers, looked at before it is shown: another version may answer otherwise. */
import type { Hit, Root, RootsEvent } from "../api.ts"
import type { Trouble } from "./State.ts"

export const otherWords: Trouble = {
  message: "The service gave an answer that this version does not understand.",
  action: "Quit and start this program again."
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

const isSpan = (value: unknown): boolean =>
  isObject(value) && Number.isInteger(value["start"]) && Number.isInteger(value["end"])

const isHit = (value: unknown): value is Hit =>
  isObject(value) &&
  typeof value["file"] === "string" &&
  typeof value["text"] === "string" &&
  Number.isInteger(value["line"]) &&
  Array.isArray(value["matches"]) &&
  value["matches"].every(isSpan)

const isRoot = (value: unknown): value is Root =>
  isObject(value) &&
  typeof value["path"] === "string" &&
  Number.isInteger(value["indexed"]) &&
  Number.isInteger(value["total"]) &&
  ["scanning", "indexing", "watching", "failed"].includes(String(value["state"]))

export const hitsIn = (value: unknown): ReadonlyArray<Hit> | undefined =>
  Array.isArray(value) && value.every(isHit) ? value : undefined

export const rootsEventIn = (value: unknown): RootsEvent | undefined => {
  if (!isObject(value)) return undefined
  const { path, root, roots, type } = value
  if (type === "current" && Array.isArray(roots) && roots.every(isRoot)) return { type, roots }
  if (type === "changed" && isRoot(root)) return { type, root }
  return type === "removed" && typeof path === "string" ? { type, path } : undefined
}

/** An error of the promise client, or the body of an answer that is one. */
export const troubleIn = (value: unknown): Trouble => {
  if (!isObject(value) && !(value instanceof Error)) return otherWords
  const { action, message } = value as { readonly message?: unknown; readonly action?: unknown }
  return typeof message === "string" && typeof action === "string" ? { message, action } : otherWords
}
