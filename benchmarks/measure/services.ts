import { dirname, join } from "node:path"
import { Effect, type Scope } from "effect"
import { findPostgres } from "../../test/harness/machine/findPostgres.ts"
import { findRedis } from "../../test/harness/machine/findRedis.ts"
import { canInstallPackages, installPackages, NotInstalled } from "../../test/harness/machine/installPackages.ts"
import { isExecutable } from "../../test/harness/machine/onPath.ts"
import { runProgram } from "../../test/harness/runProgram.ts"
import type { Server } from "../../test/harness/Server.ts"
import { startPostgres } from "../../test/harness/startPostgres.ts"
import { startRedis } from "../../test/harness/startRedis.ts"
import { BenchFailed } from "./processes.ts"

export interface PostgresServer {
  readonly server: Server
  readonly bin: string
}

export interface RedisServer {
  readonly server: Server
  readonly cli: string
  readonly benchmark: string
}

/** Looks, installs what is missing where that can be done, and looks again. */
const found = <A>(look: () => A | undefined, packages: ReadonlyArray<string>, say: (line: string) => void) =>
  Effect.gen(function* () {
    const present = look()
    if (present !== undefined) return present
    if (canInstallPackages()) {
      say(`Installing ${packages.join(", ")} by apt-get …`)
      yield* installPackages(packages)
    }
    const installed = look()
    if (installed !== undefined) return installed
    return yield* new NotInstalled({ message: `The benchmarks need ${packages.join(", ")}` })
  })

const lookForPostgres = () => {
  const bin = process.env.TEST_POSTGRES_BIN || findPostgres()
  return bin !== undefined && isExecutable(join(bin, "pgbench")) ? bin : undefined
}

const lookForRedis = () => {
  const programs = findRedis()
  if (programs === undefined) return undefined
  const benchmark = join(dirname(programs.cli), "redis-benchmark")
  return isExecutable(benchmark) ? { ...programs, benchmark } : undefined
}

/** A PostgreSQL with its defaults but for one: with 64 clients of pgbench and ours, a hundred are too few. */
export const postgresServer = (say: (line: string) => void): Effect.Effect<PostgresServer, Error, Scope.Scope> =>
  Effect.gen(function* () {
    const bin = yield* found(lookForPostgres, ["postgresql"], say)
    const server = yield* startPostgres({ bin, settings: { max_connections: "200", shared_preload_libraries: "" } })
    return { server, bin }
  })

/** A Redis that keeps a log, as a store of grants has to. */
export const redisServer = (
  say: (line: string) => void,
  settings: Readonly<Record<string, string>> = {}
): Effect.Effect<RedisServer, Error, Scope.Scope> =>
  Effect.gen(function* () {
    const { server: command, cli, benchmark } = yield* found(lookForRedis, ["redis-server", "redis-tools"], say)
    return { server: yield* startRedis({ server: command, cli, settings }), cli, benchmark }
  })

/** What psql answers there. */
export const sql = (postgres: PostgresServer, url: string, text: string) =>
  Effect.flatMap(
    runProgram(`${postgres.bin}/psql`, [url, "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-At", "-c", text]),
    ({ status, stdout, stderr }) =>
      status === 0 ? Effect.succeed(stdout.trim()) : Effect.fail(new BenchFailed({ message: `psql failed: ${stderr}` }))
  )

const urlOf = (postgres: PostgresServer, name: string) => postgres.server.url.replace(/\/postgres$/, `/${name}`)

const newDatabase = (postgres: PostgresServer, name: string, how = "") =>
  // What an earlier look at the same part left is gone.
  Effect.forEach(
    [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, `CREATE DATABASE ${name}${how}`],
    (text) => sql(postgres, postgres.server.url, text),
    { discard: true }
  ).pipe(Effect.as(urlOf(postgres, name)))

/** A database of one's own on the server. */
export const freshDatabase = (postgres: PostgresServer, name: string) => newDatabase(postgres, name)

/** While no client is connected to the original. */
export const copyDatabase = (postgres: PostgresServer, original: string, name: string) =>
  newDatabase(postgres, name, ` TEMPLATE ${original}`)

/** `ERR …`, `LOADING …`: redis-cli calls that a success. */
const refusal = /^[A-Z]{3,} /

/** What redis-cli answers there. The harness's `askRedis` gives back whatever is printed; a refusal is a failure here. */
export const commandRedis = Effect.fnUntraced(function* (
  { server, cli }: RedisServer,
  ...command: ReadonlyArray<string>
): Effect.fn.Return<string, BenchFailed> {
  const { status, stdout, stderr } = yield* runProgram(cli, ["-p", `${server.port}`, ...command])
  if (status !== 0 || refusal.test(stdout)) {
    return yield* new BenchFailed({ message: `redis-cli failed: ${stdout}${stderr}` })
  }
  return stdout.trim()
})

/** What another part has stored is gone; the server and its scripts stay. */
export const freshRedis = (redis: RedisServer) => Effect.as(commandRedis(redis, "FLUSHALL"), redis.server.url)
