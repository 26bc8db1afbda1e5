/** Grants in a store, by the adapter's own statement for several and nothing around it. */
export interface Rows {
  /** What is asked for afterwards. */
  readonly know: (ids: ReadonlyArray<string>) => Promise<void>
  /** Whether it was done to each, in one statement: read, or swapped as it was known. */
  readonly use: (ids: ReadonlyArray<string>) => Promise<ReadonlyArray<boolean>>
  /** What the adapter takes at once. */
  readonly atOnce: number
}

export const workspace = "default"

/** What the plan has asked to be known. */
export const rowOf = <Row>(known: ReadonlyMap<string, Row>, id: string): Row => {
  const row = known.get(id)
  if (row === undefined) throw new Error(`${id} is not known`)
  return row
}
