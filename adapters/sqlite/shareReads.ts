import type { Connection } from "./Connection.ts"
import { rollback } from "./rollback.ts"
import { closeTurn, openTurn } from "./turns.ts"

/** Throws what the statement or the driver throws. */
export type SharedRead = <A>(statement: () => A) => A

/**
 * Reads of one turn look at one snapshot: the locks that a transaction of its own takes are a third of what each costs.
 * A turn is code that runs without a pause, so this process learns of nothing meanwhile. Whoever asks in it had asked
 * before it began, and what had been acknowledged to them by then, here or by another process, is in the snapshot.
 * A read that comes alone needs no transaction.
 */
export const shareReads = (connection: Connection): SharedRead => {
  const begin = connection.prepare("BEGIN")
  const commit = connection.prepare("COMMIT")
  let reads = 0
  let isShared = false

  const end = () => {
    if (!isShared) return
    isShared = false
    closeTurn(end)
    try {
      commit.run()
    } catch {
      // Nothing was written; but it must not stay open.
      rollback(connection)
    }
  }

  const endTurn = () => {
    reads = 0
    end()
  }

  return (statement) => {
    reads++
    if (reads === 1) queueMicrotask(endTurn)
    if (reads === 2) {
      begin.run()
      isShared = true
      openTurn(end)
    }
    return statement()
  }
}
