import { Effect, type Option, Result } from "effect"
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
