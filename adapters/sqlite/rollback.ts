import type { Driver } from "./Connection.ts"

/** After a failure inside of a transaction, which SQLite may have rolled back by itself. */
export const rollback = (connection: Driver): void => {
  try {
    connection.exec("ROLLBACK")
  } catch {
    // There was none any more. Were it still open, the next BEGIN would fail and say so.
  }
}
