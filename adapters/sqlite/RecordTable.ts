import type { Json, Kind, Listing, NewRecord, Page, RecordKey, StoredRecord } from "../../core/ports/Storage.ts"
import { fromKeyText, toKeyText } from "../KeyText.ts"
import type { Connection, Statement } from "./Connection.ts"
import { tables } from "./tables.ts"
import type { Write } from "./transact.ts"

/** A row as SQLite holds it; in lists of one owner the workspace and owner are known already. */
interface Row {
  readonly workspace: string
  readonly id: string
  readonly owner: string
  readonly version: number
  readonly expiresAt: number | null
  readonly body: string
}

// The statements below name these columns, and the table is STRICT, so its rows are of this type.
const rowsOf = (rows: ReadonlyArray<unknown>) => rows as ReadonlyArray<Row>

const columns = "workspace, id, owner, version, expires_at AS expiresAt, body"

/** The statements of one kind. All of it is synchronous, and throws what the driver throws. */
export class RecordTable {
  private readonly kind: Kind
  private readonly selectOne: Statement
  private readonly insertOne: Statement
  private readonly updateOne: Statement
  private readonly deleteOne: Statement
  private readonly firstOfOwner: Statement
  private readonly nextOfOwner: Statement
  private readonly deleteExpired: Statement
  private readonly firstOfAll: Statement
  private readonly nextOfAll: Statement

  constructor(connection: Connection, kind: Kind) {
    const table = tables[kind]
    const select = `SELECT ${columns} FROM ${table}`
    this.kind = kind
    this.selectOne = connection.prepare(`${select} WHERE workspace = ? AND id = ?`)
    this.insertOne = connection.prepare(
      `INSERT INTO ${table} (workspace, id, owner, version, expires_at, body) VALUES (?, ?, ?, 1, ?, ?)
       ON CONFLICT DO NOTHING`
    )
    this.updateOne = connection.prepare(
      `UPDATE ${table} SET version = version + 1, expires_at = ?, body = ?
       WHERE workspace = ? AND id = ? AND version = ?`
    )
    this.deleteOne = connection.prepare(`DELETE FROM ${table} WHERE workspace = ? AND id = ?`)
    this.firstOfOwner = connection.prepare(`${select} WHERE workspace = ? AND owner = ? ORDER BY id LIMIT ?`)
    this.nextOfOwner = connection.prepare(`${select} WHERE workspace = ? AND owner = ? AND id > ? ORDER BY id LIMIT ?`)
    this.deleteExpired = connection.prepare(
      `DELETE FROM ${table} WHERE rowid IN
         (SELECT rowid FROM ${table} WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`
    )
    this.firstOfAll = connection.prepare(`${select} ORDER BY workspace, id LIMIT ?`)
    this.nextOfAll = connection.prepare(`${select} WHERE (workspace, id) > (?, ?) ORDER BY workspace, id LIMIT ?`)
  }

  get({ workspace, id }: RecordKey): StoredRecord | undefined {
    const [row] = rowsOf([this.selectOne.get(toKeyText(workspace), toKeyText(id))])
    return row && this.record(row)
  }

  insert({ workspace, id, owner, expiresAt, body }: NewRecord): Write {
    const values = [toKeyText(workspace), toKeyText(id), toKeyText(owner), expiresAt, JSON.stringify(body)] as const
    return () => this.insertOne.run(...values)
  }

  replace(expected: number, { workspace, id, expiresAt, body }: NewRecord): Write {
    const values = [expiresAt, JSON.stringify(body), toKeyText(workspace), toKeyText(id), expected] as const
    return () => this.updateOne.run(...values)
  }

  remove({ workspace, id }: RecordKey): Write {
    return () => this.deleteOne.run(toKeyText(workspace), toKeyText(id))
  }

  sweep(before: number, limit: number): number {
    return this.deleteExpired.run(before, limit)
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

  /** One row more than the limit was asked for, to know whether a page follows. */
  private page(rows: ReadonlyArray<unknown>, limit: number, next: (last: StoredRecord) => string): Page {
    const records = rowsOf(rows.slice(0, limit)).map((row) => this.record(row))
    const last = records.at(-1)
    return { records, next: rows.length > limit && last !== undefined ? next(last) : undefined }
  }

  private record(row: Row): StoredRecord {
    return {
      workspace: fromKeyText(row.workspace),
      kind: this.kind,
      id: fromKeyText(row.id),
      owner: fromKeyText(row.owner),
      version: row.version,
      expiresAt: row.expiresAt,
      // Only `insert` and `replace` write this column, and what they write is JSON.
      body: JSON.parse(row.body) as Json
    }
  }
}

/** Key text holds no NUL, so the first one ends the workspace. */
const cursor = ({ workspace, id }: StoredRecord): string => `${toKeyText(workspace)}\0${toKeyText(id)}`

const readCursor = (after: string): readonly [workspace: string, id: string] => {
  const end = after.indexOf("\0")
  return [after.slice(0, end), after.slice(end + 1)]
}
