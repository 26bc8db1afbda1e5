import type { Connection } from "./Connection.ts"
import { closeTurn, openTurn } from "./turns.ts"

/** The pragma's one row: another number after each commit of another connection, the same after one of this. */
const versionOf = (row: unknown) => (row as { readonly data_version: number }).data_version

/**
 * Answers what has to be called before something is taken for what the file says without reading it, and throws what the
 * driver throws. Tells of `theyWrote` when a commit of another connection, in this process or another, is seen for the
 * first time. It looks once a turn: whoever asks in one had asked before it began (`shareReads.ts`).
 */
export const watchOthers = (connection: Connection, theyWrote: () => void): (() => void) => {
  const dataVersion = connection.prepare("PRAGMA data_version")
  let lastVersion: number | undefined
  let isCaughtUp = false

  const end = () => {
    isCaughtUp = false
    closeTurn(end)
  }

  return () => {
    if (isCaughtUp) return
    const version = versionOf(dataVersion.get())
    if (version !== lastVersion) theyWrote()
    lastVersion = version
    isCaughtUp = true
    openTurn(end)
    queueMicrotask(end)
  }
}
