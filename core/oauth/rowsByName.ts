import { Result, Schema } from "effect"

/** Two rows of one table share a name, so that a request could not tell which of them it means. */
export class DuplicateRow extends Schema.TaggedError<DuplicateRow>()("DuplicateRow", {
  table: Schema.String,
  name: Schema.String
}) {
  override get message(): string {
    return `Two rows of ${this.table} are called ${this.name}.`
  }
}

/** The rows of a table by their names, in the table's order. */
export const rowsByName = <R>(
  table: string,
  rows: ReadonlyArray<R>,
  nameOf: (row: R) => string
): Result.Result<ReadonlyMap<string, R>, DuplicateRow> => {
  const byName = new Map<string, R>()
  for (const row of rows) {
    const name = nameOf(row)
    if (byName.has(name)) return Result.fail(new DuplicateRow({ table, name }))
    byName.set(name, row)
  }
  return Result.succeed(byName)
}
