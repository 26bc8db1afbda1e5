import { Redacted, Result } from "effect"

/** Where the records are. URLs of servers hold passwords. */
export type DatabaseUrl =
  | { readonly _tag: "Memory" }
  | { readonly _tag: "Sqlite"; readonly path: string }
  | { readonly _tag: "Postgres"; readonly url: Redacted.Redacted<string> }
  | { readonly _tag: "Redis"; readonly url: Redacted.Redacted<string> }

export const databaseUrlExpected =
  "memory:, sqlite:PATH, postgres://…, redis://…, redis+cluster://host:port,host:port or redis+sentinel://host:port,host:port/name"

export const parseDatabaseUrl = (text: string): Result.Result<DatabaseUrl, string> => {
  if (text === "memory:") return Result.succeed({ _tag: "Memory" })
  const [, scheme = "", rest = ""] = /^([a-z+]+):(.+)$/s.exec(text) ?? []
  switch (scheme) {
    case "sqlite":
      // SQLite's own name for what has no file; ours is another, and a file of that name nobody wants.
      if (rest === ":memory:") return Result.fail(databaseUrlExpected)
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

const host = /^(?:\[[0-9a-f:.]+\]|[^:@,[\]]*)(?::\d+)?$/i

/**
 * A URL without its password and options, for people to read. A `?`, `#`, `/` or `@` in a password that is not encoded
 * leaves pieces of it where something else should be: then only the scheme is told.
 */
const shown = (url: Redacted.Redacted<string>): string => {
  const [, scheme = "", hosts = "", path = ""] =
    /^([a-z+]+):\/\/(?:[^@/?#]*@)?([^@/?#]*)(\/[^@?#]*)?(?:\?[^@#]*)?$/.exec(Redacted.value(url)) ?? []
  const isWhole = scheme !== "" && hosts.split(",").every((one) => host.test(one))
  return isWhole ? `${scheme}://${hosts}${path}` : `${schemeOf(url)}://…`
}

const schemeOf = (url: Redacted.Redacted<string>): string => /^[a-z+]*/.exec(Redacted.value(url))?.[0] ?? ""

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
