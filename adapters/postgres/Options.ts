import { readFileSync } from "node:fs"
import { checkServerIdentity, type PeerCertificate } from "node:tls"
import { Duration, Effect, Redacted, Schema } from "effect"
import type { Address, ConnectionSettings } from "./Connection.ts"

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

/** The address is not one. The message names what is wrong and never repeats the address, which holds a password. */
export class BadPostgresUrl extends Schema.TaggedError<BadPostgresUrl>()("BadPostgresUrl", {
  message: Schema.String
}) {}

const known = ["sslmode", "sslrootcert", "sslcert", "sslkey", "application_name", "host", "user"]
const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]

/** Behind a ? in a password that is not encoded stands the rest of the password. */
const strangeParameter = (name: string, search: string): string =>
  search.includes("@")
    ? "has an unknown parameter: write %3F for a ? in the password"
    : `has the unknown parameter ${name}`

/**
 * Reads `postgres://user:password@host:port/database?sslmode=…`. The parameters mean what they mean to libpq; one that
 * is not known is refused, because a misspelt `sslmode` must not connect in the clear.
 */
export const readPostgresUrl = (url: Redacted.Redacted<string>): Effect.Effect<Address, BadPostgresUrl> =>
  Effect.gen(function* () {
    const text = Redacted.value(url)
    if (!URL.canParse(text)) return yield* new BadPostgresUrl({ message: "is not a URL" })
    const { hash, hostname, password, pathname, port, protocol, search, searchParams, username } = new URL(text)
    if (protocol !== "postgres:" && protocol !== "postgresql:") {
      return yield* new BadPostgresUrl({ message: "does not start with postgres://" })
    }
    if (hash !== "") return yield* new BadPostgresUrl({ message: "has a #: write %23 for one in the password" })
    const strange = [...searchParams.keys()].find((name) => !known.includes(name))
    if (strange !== undefined) return yield* new BadPostgresUrl({ message: strangeParameter(strange, search) })
    const mode = searchParams.get("sslmode") ?? "prefer"
    if (!sslModes.includes(mode)) {
      return yield* new BadPostgresUrl({ message: `has an sslmode that is none of ${sslModes.join(", ")}` })
    }

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
