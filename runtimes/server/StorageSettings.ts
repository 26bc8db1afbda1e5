import { Effect, type Option, Redacted, Result, Schema } from "effect"
import {
  type Complaint,
  complaintsOf,
  type Given,
  oneOf,
  optional,
  readVariables,
  switchOf,
  text,
  timeoutOf,
  wholeNumber
} from "./Variable.ts"

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

/**
 * The storage can't be used, or only once it is brought up to date. `message` says what is wrong, and holds no password.
 */
export class StorageRefused extends Schema.TaggedError<StorageRefused>()("StorageRefused", {
  reason: Schema.Literals(["unusable", "outdated"]),
  message: Schema.String
}) {}

/** How a storage is used. */
export interface StorageSettings {
  /** How long, in milliseconds, a start waits for a server that does not answer. */
  readonly patience: number
  /** In how many milliseconds every call is answered, one way or another; none: as the adapter has it. */
  readonly deadline: Option.Option<number>
  readonly postgres: {
    readonly poolSize: number
    readonly connectTimeout: number
    readonly statementTimeout: number
    readonly prepare: boolean
    readonly coalesce: "all" | "by_workspace" | "none"
    readonly schema: string
    readonly migrations: "run" | "check"
  }
  readonly redis: {
    readonly prefix: string
    readonly allowEviction: boolean
  }
}

/** What the records are called where others' stand beside them. */
export const storageNames = {
  schema: {
    ...text("POSTGRES_SCHEMA", "up to 63 small letters, digits and _, and no digit first", /^[a-z_][a-z0-9_]{0,62}$/),
    fallback: "tessera"
  },
  prefix: {
    ...text("REDIS_PREFIX", "up to 64 letters, digits, _ and -", /^[A-Za-z0-9_-]{1,64}$/),
    fallback: "tessera"
  }
}

const variables = {
  startTimeout: timeoutOf("STORAGE_START_TIMEOUT", 0, 30_000),
  deadline: optional(timeoutOf("STORAGE_TIMEOUT", 100, 0)),
  poolSize: wholeNumber("POSTGRES_POOL_SIZE", 1, 1000, 10),
  connectTimeout: timeoutOf("POSTGRES_CONNECT_TIMEOUT", 100, 3000),
  statementTimeout: timeoutOf("POSTGRES_STATEMENT_TIMEOUT", 100, 3000),
  prepare: switchOf("POSTGRES_PREPARE", "true", "false", true),
  coalesce: oneOf("POSTGRES_COALESCE", ["all", "by_workspace", "none"], "all"),
  migrations: oneOf("POSTGRES_MIGRATIONS", ["run", "check"], "run"),
  ...storageNames,
  eviction: oneOf("REDIS_EVICTION", ["refuse", "allow"], "refuse")
}

export const storageVariables = readVariables(variables)

export const storageSettings = (given: Given<typeof variables>): StorageSettings => ({
  patience: given.startTimeout,
  deadline: given.deadline,
  postgres: {
    poolSize: given.poolSize,
    connectTimeout: given.connectTimeout,
    statementTimeout: given.statementTimeout,
    prepare: given.prepare,
    coalesce: given.coalesce,
    schema: given.schema,
    migrations: given.migrations
  },
  redis: { prefix: given.prefix, allowEviction: given.eviction === "allow" }
})

/** For commands that are told otherwise which storages they are about. */
export const readStorageSettings: Effect.Effect<StorageSettings, ReadonlyArray<Complaint>> = Effect.flatMap(
  Effect.all(storageVariables, { mode: "result" }),
  (read) => {
    const given = Result.all(read)
    if (Result.isSuccess(given)) return Effect.succeed(storageSettings(given.success))
    return Effect.fail(complaintsOf(read))
  }
)
