import type { Connection } from "./Connection.ts"
import { rollback } from "./rollback.ts"

/** The pragma's one row: another number after each commit of another connection, the same after one of this. */
const versionOf = (row: unknown) => (row as { readonly data_version: number }).data_version

export interface SharedReads {
  /** Has to be called before something is taken for what the file says without reading it. Throws what the driver throws. */
  readonly catchUp: () => void
  /** Throws what the statement or the driver throws. */
  readonly read: <A>(statement: () => A) => A
  /** Has to be called before a write. */
  readonly end: () => void
}

/**
 * Reads of one turn look at one snapshot: the locks that a transaction of its own takes are a third of what each costs.
 * A turn is code that runs without a pause, so this process learns of nothing meanwhile. Whoever asks in it had asked
 * before it began, and what had been acknowledged to them by then, here or by another process, is in the snapshot.
 * A read that comes alone needs no transaction.
 *
 * `othersWrote`: somebody has since the turn in which that was looked at last.
 */
export const shareReads = (connection: Connection, othersWrote: () => void): SharedReads => {
  const begin = connection.prepare("BEGIN")
  const commit = connection.prepare("COMMIT")
  const dataVersion = connection.prepare("PRAGMA data_version")
  let reads = 0
  let isShared = false
  let isCaughtUp = false
  let lastVersion: number | undefined

  const end = () => {
    isCaughtUp = false
    if (!isShared) return
    isShared = false
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

  return {
    catchUp: () => {
      if (isCaughtUp) return
      const version = versionOf(dataVersion.get())
      if (version !== lastVersion) othersWrote()
      lastVersion = version
      isCaughtUp = true
      queueMicrotask(endTurn)
    },
    read: (statement) => {
      reads++
      if (reads === 1) queueMicrotask(endTurn)
      if (reads === 2) {
        begin.run()
        isShared = true
      }
      return statement()
    },
    end
  }
}
