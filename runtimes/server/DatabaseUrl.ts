import { Redacted, Result } from "effect"

/** Where the records are. URLs of servers hold passwords. */
export type DatabaseUrl =
  | { readonly _tag: "Memory" }
  | { readonly _tag: "Sqlite"; readonly path: string }
  | { readonly _tag: "Postgres"; readonly url: Redacted.Redacted<string> }
  | { readonly _tag: "Redis"; readonly url: Redacted.Redacted<string> }

export const databaseUrlExpected =
  "memory:, sqlite:PATH, postgres://…, redis://… or redis+cluster://host:port,host:port"

export const parseDatabaseUrl = (text: string): Result.Result<DatabaseUrl, string> => {
  if (text === "memory:") return Result.succeed({ _tag: "Memory" })
  const [, scheme = "", rest = ""] = /^([a-z+]+):(.+)$/s.exec(text) ?? []
  switch (scheme) {
    case "sqlite":
      return Result.succeed({ _tag: "Sqlite", path: rest })
    case "postgres":
    case "postgresql":
      return Result.succeed({ _tag: "Postgres", url: Redacted.make(text, { label: "DATABASE_URL" }) })
    case "redis":
    case "rediss":
    case "redis+cluster":
    case "rediss+cluster":
    case "redis+sentinel":
    case "rediss+sentinel":
      return Result.succeed({ _tag: "Redis", url: Redacted.make(text, { label: "DATABASE_URL" }) })
    default:
      return Result.fail(databaseUrlExpected)
  }
}

/** A URL without its password and options, for people to read. */
const shown = (url: Redacted.Redacted<string>): string => {
  const [, scheme = "", rest = ""] = /^([a-z+]+):\/\/([^?#]*)/.exec(Redacted.value(url)) ?? []
  return `${scheme}://${rest.slice(rest.lastIndexOf("@") + 1)}`
}

export const describeDatabase = (database: DatabaseUrl): string => {
  switch (database._tag) {
    case "Memory":
      return "this process's memory: everything is gone when it ends"
    case "Sqlite":
      return `SQLite in ${database.path}`
    case "Postgres":
      return `PostgreSQL at ${shown(database.url)}`
    case "Redis":
      return `Redis at ${shown(database.url)}`
  }
}
