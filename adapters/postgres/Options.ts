import { readFileSync } from "node:fs"
import { checkServerIdentity, type PeerCertificate } from "node:tls"
import { Duration, Effect, Redacted, Result, Schema } from "effect"
import { countOf, readParameters, switchOf, textOf, wordOf } from "../StoreKind.ts"
import type { Address, ConnectionSettings } from "./Connection.ts"

export interface PostgresOptions extends UrlOptions {
  /**
   * `postgres://user:password@host:port/database?sslmode=…`, as libpq reads it. Its query can hold the `UrlOptions`,
   * as `pool_size`, `by_workspace` and so on; an option beside the URL wins.
   */
  readonly url: Redacted.Redacted<string>
  /** Every call is answered within this time. Default 5 seconds. */
  readonly deadline?: Duration.Input
  /** How long address, TLS and login may take. Default: three fifths of the deadline. */
  readonly connectTimeout?: Duration.Input
  /** When the server cancels a statement. Default: three fifths of the deadline. */
  readonly statementTimeout?: Duration.Input
  /** How long a start waits for the server; 0 is one try. Default: six times the deadline. */
  readonly startWithin?: Duration.Input
  /** When an unused connection is closed. Default 5 minutes. */
  readonly idleTimeout?: Duration.Input
  /** Maximum age of a connection. Default 30 minutes. */
  readonly connectionLifetime?: Duration.Input
}

/** Options that the URL can hold too. */
export interface UrlOptions {
  /** The tables' schema. Default `tessera`. */
  readonly schema?: string
  /** Maximum connections of this process. Default 10. */
  readonly poolSize?: number
  /** `false` behind a pooler in transaction mode. Default `true`. */
  readonly prepare?: boolean
  /** `run` migrates at start, `check` refuses an outdated database. Default `run`. */
  readonly migrations?: "run" | "check"
  /** Only calls of one workspace share a statement, for Citus. Default `false`. */
  readonly byWorkspace?: boolean
}

/**
 * All requests use primary keys. Without these settings a plan from when a table was small would scan it long after
 * it has grown.
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
  // A locked row must not hold a whole batch until the statement's timeout.
  const lock = Math.ceil(Math.min(statement / 2, 1000))
  return {
    address,
    prepare,
    session: prepare ? { ...planner, statement_timeout: `${statement}`, lock_timeout: `${lock}` } : {}
  }
}

/** No timeouts: migrations may take long. `apply` bounds their locks. */
export const migrationSettings = (address: Address): ConnectionSettings => ({ address, prepare: false, session: {} })

/** The URL is invalid. The message never repeats it, because it holds a password. */
export class BadPostgresUrl extends Schema.TaggedError<BadPostgresUrl>()("BadPostgresUrl", {
  message: Schema.String
}) {}

const anyText = textOf("text", /^/)

/** libpq's parameters, then Tessera's. */
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

/** The options in a URL, or its fault. */
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

/** The options, completed by those of the URL. */
export const withUrlOptions = (options: PostgresOptions): Effect.Effect<PostgresOptions, BadPostgresUrl> =>
  Effect.fromResult(checkPostgresUrl(Redacted.value(options.url))).pipe(
    Effect.mapBoth({
      onFailure: (message) => new BadPostgresUrl({ message }),
      onSuccess: (inUrl) => ({ ...inUrl, ...options })
    })
  )

/**
 * Parses the URL. Parameters mean what they mean to libpq. Unknown ones are refused, because a misspelt `sslmode`
 * must not connect in the clear.
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
      // libpq's verify-ca, and `require` with a root certificate: checks the chain and not the name. verify-full
      // passes the host here, because TLS over our own socket would check for "localhost".
      checkServerIdentity:
        mode === "verify-full"
          ? (_: string, certificate: PeerCertificate) => checkServerIdentity(host, certificate)
          : () => undefined
    }
  })
