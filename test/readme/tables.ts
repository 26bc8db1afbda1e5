import { textOf } from "./blocks.ts"

export type Row = ReadonlyArray<string>

/** The rows of a page's tables whose first heading is this one; the heads are left out. */
export const tableRows = (page: string, firstHeading: string): ReadonlyArray<Row> => {
  const rows: Array<Row> = []
  let wanted = false
  let inTable = false
  for (const line of textOf(page).split("\n")) {
    if (!line.startsWith("|")) {
      inTable = false
      continue
    }
    const cells = line.slice(1, line.lastIndexOf("|")).split(/(?<!\\)\|/)
    const row = cells.map((cell) => cell.trim())
    if (!inTable) {
      inTable = true
      wanted = row[0] === firstHeading
    } else if (wanted && !/^:?-+:?$/.test(row[0] ?? "")) rows.push(row)
  }
  return rows
}

/** What a cell says, if it is nothing but one piece of code. */
export const codeIn = (cell = ""): string | undefined => /^`([^`]+)`$/.exec(cell)?.[1]
