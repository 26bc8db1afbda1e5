import type { Open } from "./Connection.ts"

// By name: a bundler for another platform, or of an older Node, stops at an import that it does not know.
const { DatabaseSync } = process.getBuiltinModule("node:sqlite")

export const open: Open = (path) => {
  const database = new DatabaseSync(path)
  return {
    exec: (sql) => database.exec(sql),
    prepare: (sql) => {
      const statement = database.prepare(sql)
      return {
        run: (...values) => Number(statement.run(...values).changes),
        get: (...values) => statement.get(...values),
        all: (...values) => statement.all(...values)
      }
    },
    close: () => database.close(),
    resultCode: (thrown) =>
      thrown instanceof Error && "errcode" in thrown && typeof thrown.errcode === "number" ? thrown.errcode : undefined
  }
}
