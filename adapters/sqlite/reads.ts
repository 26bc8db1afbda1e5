import { LruMap } from "../../core/cache/LruMap.ts"
import type { Kind, RecordKey, StoredRecord } from "../../core/ports/Storage.ts"
import { freeze } from "../records/freeze.ts"
import { type Connection, rollback } from "./Connection.ts"
import type { Found, Write } from "./RecordTable.ts"

/** What ends the turns that are open: an assumption lasts until its turn ends, or until a write ends it earlier. */
const openTurns = new Set<() => void>()

/**
 * Call before a write, because a read in the same turn has to see it. Ends the turns of all stores of this process,
 * which may share a file.
 */
export const endTurns = (): void => {
  for (const end of openTurns) end()
}

/** Throws what the statement or the driver throws. */
type SharedRead = <A>(statement: () => A) => A

/**
 * Reads of one turn share a snapshot, because the locks of a transaction of its own are a third of a read's cost. A
 * turn runs without a pause, so all its reads were asked for before it began, and every write that was acknowledged
 * by then is in the snapshot. A lone read needs no transaction.
 */
export const shareReads = (connection: Connection): SharedRead => {
  const begin = connection.prepare("BEGIN")
  const commit = connection.prepare("COMMIT")
  let reads = 0
  let isShared = false

  const end = () => {
    if (!isShared) return
    isShared = false
    openTurns.delete(end)
    try {
      commit.run()
    } catch {
      // Nothing was written, but the transaction must not stay open.
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
      openTurns.add(end)
    }
    return statement()
  }
}

/** The pragma's row. The number changes with each commit of another connection, and not with our own. */
const versionOf = (row: unknown) => (row as { readonly data_version: number }).data_version

/**
 * Returns a check to call before known records are used; it throws what the driver throws. It calls `theyWrote` when
 * another connection has committed. It asks once a turn, because reads of a turn were asked for before it began
 * (`shareReads`).
 */
const watchOthers = (connection: Connection, theyWrote: () => void): (() => void) => {
  const dataVersion = connection.prepare("PRAGMA data_version")
  let lastVersion: number | undefined
  let isCaughtUp = false

  const end = () => {
    isCaughtUp = false
    openTurns.delete(end)
  }

  return () => {
    if (isCaughtUp) return
    const version = versionOf(dataVersion.get())
    if (version !== lastVersion) theyWrote()
    lastVersion = version
    isCaughtUp = true
    openTurns.add(end)
    queueMicrotask(end)
  }
}

/** The kind that requests read most. */
const knownKind: Kind = "grant"
/** One kilobyte each. */
const most = 2048
/** Longer bodies are read each time, so that no client decides how much memory is used. */
const longest = 1024

/** The records read last, valid until a connection writes. */
export class KnownRecords {
  private records = new LruMap<string, StoredRecord>(most)
  private readonly catchUp: () => void

  constructor(connection: Connection) {
    this.catchUp = watchOthers(connection, () => this.forgetAll())
  }

  /** Throws what `read` or the driver throws. */
  get(key: RecordKey, read: () => Found | undefined): StoredRecord | undefined {
    if (key.kind !== knownKind) return read()?.record
    this.catchUp()
    const known = this.records.get(key.id)
    if (known?.workspace === key.workspace) return known
    const found = read()
    return found && this.keep(found)
  }

  /** Forgets the record with the write. */
  forgetting({ kind, id }: RecordKey, write: Write): Write {
    return () => {
      if (kind === knownKind) this.records.delete(id)
      return write()
    }
  }

  forgetAll(): void {
    this.records = new LruMap(most)
  }

  /** The body is frozen, because readers share it. */
  private keep({ record, text }: Found): StoredRecord {
    if (text.length > longest) return record
    freeze(record.body)
    this.records.set(record.id, record)
    return record
  }
}
