import { dirname, join } from "node:path"
import { Effect, type Scope } from "effect"
import { findPostgres } from "../../test/harness/machine/findPostgres.ts"
import { findRedis } from "../../test/harness/machine/findRedis.ts"
import { canInstallPackages, installPackages, NotInstalled } from "../../test/harness/machine/installPackages.ts"
import { isExecutable } from "../../test/harness/machine/onPath.ts"
import { startPostgres } from "../../test/harness/startPostgres.ts"
import { startRedis } from "../../test/harness/startRedis.ts"
import type { PostgresServer, RedisServer } from "../parts/Part.ts"

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
