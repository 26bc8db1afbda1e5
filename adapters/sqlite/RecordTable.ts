import {
  type Json,
  type Kind,
  type Listing,
  type NewRecord,
  type Page,
  type RecordKey,
  recordKinds,
  type StoredRecord
} from "../../core/ports/Storage.ts"
import { fromKeyText, toKeyText } from "../records/KeyText.ts"
import type { Connection, Statement } from "./Connection.ts"

/** The columns of a record beside its key. */
interface Content {
  readonly owner: string
  readonly version: number
  readonly expiresAt: number | null
  readonly body: string
}

const content = "owner, version, expires_at AS expiresAt, body"

interface Row extends Content {
  readonly workspace: string
  readonly id: string
}

// The table is STRICT and the statements name these columns, so rows have these types.
const contentOf = (row: unknown) => row as Content | undefined
const rowsOf = (rows: ReadonlyArray<unknown>) => rows as ReadonlyArray<Row>

/** A write's statements; answers the number of changed records. */
export type Write = () => number

export interface Found {
  readonly record: StoredRecord
  /** The stored body. */
  readonly text: string
}

/** The statements of one kind's table. Synchronous; throws what the driver throws. */
export class RecordTable {
  private readonly kind: Kind
  private readonly selectOne: Statement
  private readonly insertOne: Statement
  private readonly prolongOne: Statement
  private readonly updateOne: Statement
  private readonly deleteOne: Statement
  private readonly firstOfOwner: Statement
  private readonly nextOfOwner: Statement
  private readonly deleteExpired: Statement
  private readonly postponeProlonged: Statement
  private readonly firstOfAll: Statement
  private readonly nextOfAll: Statement

  constructor(connection: Connection, kind: Kind) {
    const { table } = recordKinds[kind]
    const select = `SELECT workspace, id, ${content} FROM ${table}`
    const update = (also: string) => `UPDATE ${table} SET version = version + 1, expires_at = ?1, body = ?2${also}
       WHERE workspace = ?3 AND id = ?4 AND version = ?5`
    const lookedAt = `rowid IN (SELECT rowid FROM ${table} WHERE sweep_at <= ?1 ORDER BY sweep_at LIMIT ?2)`
    this.kind = kind
    this.selectOne = connection.prepare(`SELECT ${content} FROM ${table} WHERE workspace = ? AND id = ?`)
    this.insertOne = connection.prepare(
      `INSERT INTO ${table} (workspace, id, owner, version, expires_at, body, sweep_at)
       VALUES (?1, ?2, ?3, 1, ?4, ?5, ?4)
       ON CONFLICT DO NOTHING`
    )
    this.prolongOne = connection.prepare(`${update("")} AND sweep_at <= ?1`)
    this.updateOne = connection.prepare(update(", sweep_at = ?1"))
    this.deleteOne = connection.prepare(`DELETE FROM ${table} WHERE workspace = ? AND id = ?`)
    this.firstOfOwner = connection.prepare(`${select} WHERE workspace = ? AND owner = ? ORDER BY id LIMIT ?`)
    this.nextOfOwner = connection.prepare(`${select} WHERE workspace = ? AND owner = ? AND id > ? ORDER BY id LIMIT ?`)
    this.deleteExpired = connection.prepare(`DELETE FROM ${table} WHERE ${lookedAt} AND expires_at <= ?1`)
    this.postponeProlonged = connection.prepare(
      `UPDATE ${table} SET sweep_at = expires_at WHERE ${lookedAt} AND (expires_at <= ?1) IS NOT TRUE`
    )
    this.firstOfAll = connection.prepare(`${select} ORDER BY workspace, id LIMIT ?`)
    this.nextOfAll = connection.prepare(`${select} WHERE (workspace, id) > (?, ?) ORDER BY workspace, id LIMIT ?`)
  }

  get({ workspace, id }: RecordKey): Found | undefined {
    const found = contentOf(this.selectOne.get(toKeyText(workspace), toKeyText(id)))
    return found && { record: this.record(workspace, id, found), text: found.body }
  }

  insert({ workspace, id, owner, expiresAt, body }: NewRecord): Write {
    const values = [toKeyText(workspace), toKeyText(id), toKeyText(owner), expiresAt, JSON.stringify(body)] as const
    return () => this.insertOne.run(...values)
  }

  replace(expected: number, { workspace, id, expiresAt, body }: NewRecord): Write {
    const values = [expiresAt, JSON.stringify(body), toKeyText(workspace), toKeyText(id), expected] as const
    return () => {
      const prolonged = expiresAt === null ? 0 : this.prolongOne.run(...values)
      return prolonged === 0 ? this.updateOne.run(...values) : prolonged
    }
  }

  remove({ workspace, id }: RecordKey): Write {
    return () => this.deleteOne.run(toKeyText(workspace), toKeyText(id))
  }

  /** Removes expired records, and moves the sweep date of prolonged ones. */
  sweep(before: number, limit: number): number {
    let swept = 0
    for (;;) {
      const left = limit - swept
      const removed = this.deleteExpired.run(before, left)
      swept += removed
      if (swept === limit || removed + this.postponeProlonged.run(before, left) === 0) return swept
    }
  }

  list({ workspace, owner, after, limit }: Listing): Page {
    const of = [toKeyText(workspace), toKeyText(owner)] as const
    const rows =
      after === undefined
        ? this.firstOfOwner.all(...of, limit + 1)
        : this.nextOfOwner.all(...of, toKeyText(after), limit + 1)
    return this.page(rows, limit, ({ id }) => id)
  }

  scan(after: string | undefined, limit: number): Page {
    const rows =
      after === undefined ? this.firstOfAll.all(limit + 1) : this.nextOfAll.all(...readCursor(after), limit + 1)
    return this.page(rows, limit, cursor)
  }

  /** The query asked for one row more than the limit, to know whether a page follows. */
  private page(rows: ReadonlyArray<unknown>, limit: number, next: (last: StoredRecord) => string): Page {
    const records = rowsOf(rows.slice(0, limit)).map((row) =>
      this.record(fromKeyText(row.workspace), fromKeyText(row.id), row)
    )
    const last = records.at(-1)
    return { records, next: rows.length > limit && last !== undefined ? next(last) : undefined }
  }

  private record(workspace: string, id: string, { owner, version, expiresAt, body }: Content): StoredRecord {
    return {
      workspace,
      kind: this.kind,
      id,
      owner: fromKeyText(owner),
      version,
      expiresAt,
      // Only `insert` and `replace` write this column, as JSON.
      body: JSON.parse(body) as Json
    }
  }
}

/** Key text has no NUL, so the first one ends the workspace. */
const cursor = ({ workspace, id }: StoredRecord): string => `${toKeyText(workspace)}\0${toKeyText(id)}`

const readCursor = (after: string): readonly [workspace: string, id: string] => {
  const end = after.indexOf("\0")
  return [after.slice(0, end), after.slice(end + 1)]
}
