import { openSqliteRows } from "../sqliteRows.ts"
import { type Rows, rowOf } from "./Rows.ts"

/** Swaps. */
export const inSqlite = async (url: string): Promise<Rows> => {
  const rows = await openSqliteRows(url.slice("sqlite:".length))
  const known = new Map<string, { version: number; readonly expiresAt: number; readonly body: string }>()

  return {
    atOnce: 1000,
    know: async (ids) => {
      for (const id of ids) known.set(id, { ...rows.read(id) })
    },
    use: async (ids) => {
      rows.begin.run()
      const swapped = ids.map((id) => {
        const row = rowOf(known, id)
        const isSwapped = rows.swap(id, row)
        if (isSwapped) row.version++
        return isSwapped
      })
      rows.commit.run()
      return swapped
    }
  }
}
