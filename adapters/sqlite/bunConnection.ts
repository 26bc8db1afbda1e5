import type * as BunSqlite from "bun:sqlite"
import type { Open } from "./Connection.ts"

// By name: a bundler for another platform stops at an import that it does not know.
const { Database, SQLiteError } = process.getBuiltinModule("bun:sqlite") as typeof BunSqlite

export const open: Open = (path) => {
  const database = new Database(path, { readwrite: true, create: true })
  return {
    exec: (sql) => {
      database.run(sql)
    },
    prepare: (sql) => {
      const statement = database.query(sql)
      return {
        run: (...values) => statement.run(...values).changes,
        get: (...values) => statement.get(...values) ?? undefined,
        all: (...values) => statement.all(...values)
      }
    },
    close: () => database.close(),
    resultCode: (thrown) => (thrown instanceof SQLiteError ? thrown.errno : undefined)
  }
}
