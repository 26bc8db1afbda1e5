import { Duration, type Redacted } from "effect"
import type { ConnectionSettings } from "./Connection.ts"
import type { Address } from "./PostgresUrl.ts"

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database?sslmode=…`, as libpq reads it. */
  readonly url: Redacted.Redacted<string>
  /** Where the tables live. Default `tessera`. */
  readonly schema?: string
  /** Connections of this process at most. Default 10. */
  readonly poolSize?: number
  /** `false` behind a pooler that hands its connections on after each transaction. Default `true`. */
  readonly prepare?: boolean
  /** How long a connection may take until it can be used. Default 3 seconds. */
  readonly connectTimeout?: Duration.Input
  /** When the server gives a statement up. Default 3 seconds. */
  readonly statementTimeout?: Duration.Input
  /** When a connection that nobody uses is closed. Default 5 minutes. */
  readonly idleTimeout?: Duration.Input
  /** How old a connection may grow. Default 30 minutes. */
  readonly connectionLifetime?: Duration.Input
  /** In which time every call is answered, one way or another. Default 5 seconds. */
  readonly deadline?: Duration.Input
  /** How long a start waits for a server that does not answer; 0 is one try. Default 30 seconds. */
  readonly startWithin?: Duration.Input
  /** Whether a start brings the database up to date, or only looks whether it is. Default `run`. */
  readonly migrations?: "run" | "check"
  /** Calls that meet travel as one: all of them, only those of one workspace (Citus), or none. Default `all`. */
  readonly coalesce?: "all" | "by_workspace" | "none"
}

/**
 * The request path is nothing but primary keys, so the planner is told so: a plan that was made while a table was
 * small would otherwise read all of it long after it has grown.
 */
const planner = {
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
  plan_cache_mode: "force_generic_plan"
}

export const schemaOf = (options: PostgresOptions): string => options.schema ?? "tessera"

export const connectTimeoutOf = (options: PostgresOptions): Duration.Duration =>
  Duration.fromInputUnsafe(options.connectTimeout ?? "3 seconds")

export const connectionSettings = (options: PostgresOptions, address: Address): ConnectionSettings => {
  const prepare = options.prepare ?? true
  const statement = Math.ceil(Duration.toMillis(options.statementTimeout ?? "3 seconds"))
  // One row that somebody holds must not keep a whole batch until the statement's time is over.
  const lock = Math.ceil(Math.min(statement / 2, 1000))
  return {
    address,
    prepare,
    session: prepare ? { ...planner, statement_timeout: `${statement}`, lock_timeout: `${lock}` } : {}
  }
}

/** Definitions may take their time, and nobody should be in their way for long. */
export const migrationSettings = (address: Address): ConnectionSettings => ({ address, prepare: false, session: {} })
