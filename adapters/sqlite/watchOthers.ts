import type { Connection } from "./Connection.ts"

export interface Others {
  /** Has to be called before something is taken for what the file says without reading it. Throws what the driver throws. */
  readonly catchUp: () => void
  /** Has to be called before a write. */
  readonly end: () => void
}

/** The pragma's one row: another number after each commit of another connection, the same after one of this. */
const versionOf = (row: unknown) => (row as { readonly data_version: number }).data_version

/**
 * Tells of `theyWrote` when a commit of another connection, in this process or another, is seen for the first time. It
 * looks once a turn: whoever asks in one had asked before it began (`shareReads.ts`).
 */
export const watchOthers = (connection: Connection, theyWrote: () => void): Others => {
  const dataVersion = connection.prepare("PRAGMA data_version")
  let lastVersion: number | undefined
  let isCaughtUp = false

  const end = () => {
    isCaughtUp = false
  }

  return {
    catchUp: () => {
      if (isCaughtUp) return
      const version = versionOf(dataVersion.get())
      if (version !== lastVersion) theyWrote()
      lastVersion = version
      isCaughtUp = true
      queueMicrotask(end)
    },
    end
  }
}
