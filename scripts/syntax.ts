/** The parser's tree, as far as scripts read it. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export const nodeOf = (value: unknown): Node | undefined => (value as Node | null) ?? undefined
export const listOf = (value: unknown): ReadonlyArray<Node> => (value ?? []) as ReadonlyArray<Node>
