/** What lasts: from one change to the next. */

/** From `at` on it is `name`; an empty name ends what was before. `short` is the name where there is little room. */
export interface Change {
  readonly at: number
  readonly tone: string
  readonly name: string
  readonly short: string
  readonly detail?: string
}

export interface Span {
  readonly from: number
  readonly to: number
  readonly tone: string
  readonly name: string
  readonly short: string
  readonly details: ReadonlyArray<{ readonly at: number; readonly text: string }>
}

/** Changes in order become spans up to `end`; equal ones that follow each other are one span with all their details. */
export const spans = (changes: ReadonlyArray<Change>, end: number): ReadonlyArray<Span> => {
  const begun: Array<Omit<Span, "to">> = []
  for (const { at, detail, name, short, tone } of changes) {
    const last = begun.at(-1)
    const details = detail === undefined ? [] : [{ at, text: detail }]
    if (last !== undefined && last.name === name && last.tone === tone) {
      begun[begun.length - 1] = { ...last, details: [...last.details, ...details] }
    } else begun.push({ from: at, tone, name, short, details })
  }
  return begun
    .map((span, index) => ({ ...span, to: Math.min(end, begun[index + 1]?.from ?? end) }))
    .filter(({ from, name, to }) => name !== "" && to >= from)
}
