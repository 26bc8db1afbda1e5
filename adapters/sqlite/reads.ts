import { LruMap } from "../../core/cache/LruMap.ts"
import type { Kind, RecordKey, StoredRecord } from "../../core/ports/Storage.ts"
import { freeze } from "../records/freeze.ts"
import { type Connection, rollback } from "./Connection.ts"
import type { Found, Write } from "./RecordTable.ts"

const open = new Set<() => void>()

/** What a store takes for granted until its turn ends has to stop, by this, where a write ends it early. */
const openTurn = (end: () => void): void => {
  open.add(end)
}

const closeTurn = (end: () => void): void => {
  open.delete(end)
}

/**
 * Before a write: what it is acknowledged as, anybody may be asked about in the very turn. That goes for the other stores
 * of this process too, which may be over the same file.
 */
export const endTurns = (): void => {
  for (const end of open) end()
}

/** Throws what the statement or the driver throws. */
type SharedRead = <A>(statement: () => A) => A

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

/** The pragma's one row: another number after each commit of another connection, the same after one of this. */
const versionOf = (row: unknown) => (row as { readonly data_version: number }).data_version

/**
 * Answers what has to be called before something is taken for what the file says without reading it, and throws what the
 * driver throws. Tells of `theyWrote` when a commit of another connection, in this process or another, is seen for the
 * first time. It looks once a turn: whoever asks in one had asked before it began (`shareReads.ts`).
 */
const watchOthers = (connection: Connection, theyWrote: () => void): (() => void) => {
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

/** The kind that requests read over and over. */
const knownKind: Kind = "grant"
/** A kilobyte each. */
const most = 2048
/** A longer body is read every time, so that no client decides how much is kept. */
const longest = 1024

/** Records as they were read last, which is what the file says until a connection writes to it. */
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

  /** The same write, after which its record is not known. */
  forgetting({ kind, id }: RecordKey, write: Write): Write {
    return () => {
      if (kind === knownKind) this.records.delete(id)
      return write()
    }
  }

  forgetAll(): void {
    this.records = new LruMap(most)
  }

  /** Many readers share the body, so it is frozen. */
  private keep({ record, text }: Found): StoredRecord {
    if (text.length > longest) return record
    freeze(record.body)
    this.records.set(record.id, record)
    return record
  }
}
