import { Database, SQLiteError } from "bun:sqlite"
import type { Open } from "./Connection.ts"

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
