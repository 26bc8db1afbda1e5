import { readFileSync } from "node:fs"
import { checkServerIdentity, type PeerCertificate } from "node:tls"
import { Duration, Effect, Redacted, Result, Schema } from "effect"
import { countOf, readParameters, switchOf, textOf, wordOf } from "../StoreKind.ts"
import type { Address, ConnectionSettings } from "./Connection.ts"

export interface PostgresOptions extends UrlOptions {
  /**
   * `postgres://user:password@host:port/database?sslmode=…`, as libpq reads it. The options of `UrlOptions` may stand in
   * its query, as `pool_size`, `by_workspace` and so on; one that is given beside the URL counts.
   */
  readonly url: Redacted.Redacted<string>
  /** In which time every call is answered, one way or another. Default 5 seconds. */
  readonly deadline?: Duration.Input
  /** How long a connection may take until it can be used. Default: three fifths of the deadline. */
  readonly connectTimeout?: Duration.Input
  /** When the server gives a statement up. Default: three fifths of the deadline. */
  readonly statementTimeout?: Duration.Input
  /** How long a start waits for a server that does not answer; 0 is one try. Default: six times the deadline. */
  readonly startWithin?: Duration.Input
  /** When a connection that is not used is closed. Default 5 minutes. */
  readonly idleTimeout?: Duration.Input
  /** How old a connection may grow. Default 30 minutes. */
  readonly connectionLifetime?: Duration.Input
}

/** What may be said in the URL as well. */
export interface UrlOptions {
  /** Where the tables live. Default `tessera`. */
  readonly schema?: string
  /** Connections of this process at most. Default 10. */
  readonly poolSize?: number
  /** `false` behind a pooler that hands its connections on after each transaction. Default `true`. */
  readonly prepare?: boolean
  /** Whether a start brings the database up to date, or only looks whether it is. Default `run`. */
  readonly migrations?: "run" | "check"
  /** Calls that meet share a statement only where they are about one workspace, for Citus. Default `false`. */
  readonly byWorkspace?: boolean
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

export const deadlineOf = (options: PostgresOptions): Duration.Duration =>
  Duration.fromInputUnsafe(options.deadline ?? "5 seconds")

/** Below the deadline, so that the server itself says what became of a statement. */
const within = (options: PostgresOptions): Duration.Duration => Duration.times(deadlineOf(options), 0.6)

export const connectTimeoutOf = (options: PostgresOptions): Duration.Duration =>
  Duration.fromInputUnsafe(options.connectTimeout ?? within(options))

export const startWithinOf = (options: PostgresOptions): Duration.Duration =>
  Duration.fromInputUnsafe(options.startWithin ?? Duration.times(deadlineOf(options), 6))

export const connectionSettings = (options: PostgresOptions, address: Address): ConnectionSettings => {
  const prepare = options.prepare ?? true
  const statement = Math.ceil(Duration.toMillis(options.statementTimeout ?? within(options)))
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

/** The address is not one. The message names what is wrong and never repeats the address, which holds a password. */
export class BadPostgresUrl extends Schema.TaggedError<BadPostgresUrl>()("BadPostgresUrl", {
  message: Schema.String
}) {}

const anyText = textOf("text", /^/)

/** libpq's, and ours. */
const parameters = {
  sslmode: wordOf("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
  sslrootcert: anyText,
  sslcert: anyText,
  sslkey: anyText,
  application_name: anyText,
  host: anyText,
  user: anyText,
  schema: textOf("up to 63 small letters, digits and _, and no digit first", /^[a-z_][a-z0-9_]{0,62}$/),
  pool_size: countOf(1, 1000),
  prepare: switchOf,
  migrations: wordOf("run", "check"),
  by_workspace: switchOf
}

/** The options in a URL, or what is wrong with it. */
export const checkPostgresUrl = (text: string): Result.Result<UrlOptions, string> => {
  if (!URL.canParse(text)) return Result.fail("is not a URL")
  const { hash, protocol, search } = new URL(text)
  if (protocol !== "postgres:" && protocol !== "postgresql:") return Result.fail("does not start with postgres://")
  if (hash !== "") return Result.fail("has a #: write %23 for one in the password")
  return Result.map(
    readParameters(search.slice(1), parameters),
    ({ by_workspace: byWorkspace, migrations, pool_size: poolSize, prepare, schema }) => ({
      ...(schema === undefined ? {} : { schema }),
      ...(poolSize === undefined ? {} : { poolSize }),
      ...(prepare === undefined ? {} : { prepare }),
      ...(migrations === undefined ? {} : { migrations }),
      ...(byWorkspace === undefined ? {} : { byWorkspace })
    })
  )
}

/** The options with those of the URL. */
export const withUrlOptions = (options: PostgresOptions): Effect.Effect<PostgresOptions, BadPostgresUrl> =>
  Effect.fromResult(checkPostgresUrl(Redacted.value(options.url))).pipe(
    Effect.mapBoth({
      onFailure: (message) => new BadPostgresUrl({ message }),
      onSuccess: (inUrl) => ({ ...inUrl, ...options })
    })
  )

/**
 * Reads `postgres://user:password@host:port/database?sslmode=…`. The parameters mean what they mean to libpq; one that
 * is not known is refused, because a misspelt `sslmode` must not connect in the clear.
 */
export const readPostgresUrl = (url: Redacted.Redacted<string>): Effect.Effect<Address, BadPostgresUrl> =>
  Effect.gen(function* () {
    const text = Redacted.value(url)
    yield* Effect.mapError(Effect.fromResult(checkPostgresUrl(text)), (message) => new BadPostgresUrl({ message }))
    const { hostname, password, pathname, port, searchParams, username } = new URL(text)
    const mode = searchParams.get("sslmode") ?? "prefer"

    const decoded = yield* Effect.try({
      try: () => ({
        host: decodeURIComponent(hostname).replace(/^\[|\]$/g, ""),
        user: decodeURIComponent(username),
        password: decodeURIComponent(password),
        database: decodeURIComponent(pathname.slice(1))
      }),
      catch: () => new BadPostgresUrl({ message: "has a % that is not followed by two hexadecimal digits" })
    })
    const host = searchParams.get("host") ?? decoded.host
    const user = searchParams.get("user") ?? (decoded.user === "" ? "postgres" : decoded.user)
    const portNumber = port === "" ? 5432 : Number(port)
    return {
      host: host === "" ? "localhost" : host,
      port: portNumber,
      path: host.startsWith("/") ? `${host}/.s.PGSQL.${portNumber}` : undefined,
      database: decoded.database === "" ? user : decoded.database,
      user,
      password: Redacted.make(decoded.password, { label: "password" }),
      tls: host.startsWith("/") ? false : yield* tlsOptions(mode, host, searchParams),
      applicationName: searchParams.get("application_name") ?? "tessera"
    }
  })

const tlsOptions = (mode: string, host: string, parameters: URLSearchParams) =>
  Effect.gen(function* () {
    if (mode === "disable") return false as const
    if (mode === "allow" || mode === "prefer") return "prefer" as const
    const read = (name: string) => {
      const file = parameters.get(name)
      return file === null
        ? Effect.succeed(undefined)
        : Effect.try({
            try: () => readFileSync(file, "utf8"),
            catch: () => new BadPostgresUrl({ message: `names a file as ${name} that cannot be read` })
          })
    }
    const root = parameters.get("sslrootcert") === "system" ? undefined : yield* read("sslrootcert")
    const cert = yield* read("sslcert")
    const key = yield* read("sslkey")
    return {
      rejectUnauthorized: mode !== "require" || root !== undefined,
      ...(root === undefined ? {} : { ca: root }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      // libpq's verify-ca, and `require` where a root certificate is given: the chain is checked, the name is not. For
      // verify-full the name is said here, because over a socket of ours TLS would take it for "localhost".
      checkServerIdentity:
        mode === "verify-full"
          ? (_: string, certificate: PeerCertificate) => checkServerIdentity(host, certificate)
          : () => undefined
    }
  })
