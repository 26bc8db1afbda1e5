import { Effect, type Scope } from "effect"
import { buildExecutable } from "./buildExecutable.ts"
import { equip } from "./machine/equip.ts"
import { findNode20, findNode22, findNode24 } from "./machine/findNode.ts"
import { findPython } from "./machine/findPython.ts"
import { findWorkerd } from "./machine/findWorkerd.ts"
import type { NotInstalled } from "./machine/installPackages.ts"
import type { ServerFailed } from "./Server.ts"
import { startPostgres } from "./startPostgres.ts"
import { startRedis } from "./startRedis.ts"
import { startRedisCluster } from "./startRedisCluster.ts"

export type Environment = Readonly<Record<string, string>>

const fromEnvironment = <E, R>(variable: string, start: Effect.Effect<{ readonly url: string }, E, R>) => {
  const given = process.env[variable]
  return given ? Effect.succeed({ url: given }) : start
}

/** Files that run at once share its connections. */
const settings = { max_connections: "200" }

/** Finds or starts the tests' services; those that it started end with the scope. */
export const startServices: Effect.Effect<Environment, NotInstalled | ServerFailed, Scope.Scope> = Effect.gen(
  function* () {
    const { postgresBin, redis, chromium } = yield* equip
    const [postgres, single, cluster, executable, node20, node22, node24, python, workerd] = yield* Effect.all(
      [
        fromEnvironment("TEST_POSTGRES_URL", startPostgres({ settings, ...(postgresBin ? { bin: postgresBin } : {}) })),
        fromEnvironment("TEST_REDIS_URL", startRedis(redis)),
        fromEnvironment("TEST_REDIS_CLUSTER_URL", startRedisCluster(redis)),
        fromEnvironment("TESSERA_EXECUTABLE", buildExecutable),
        findNode20,
        findNode22,
        findNode24,
        findPython,
        findWorkerd
      ],
      { concurrency: "unbounded" }
    )
    return {
      TEST_POSTGRES_URL: postgres.url,
      TEST_REDIS_URL: single.url,
      TEST_REDIS_CLUSTER_URL: cluster.url,
      TESSERA_EXECUTABLE: executable.url,
      TEST_NODE20: node20,
      TEST_NODE22: node22,
      TEST_NODE24: node24,
      ...(postgresBin ? { TEST_POSTGRES_BIN: postgresBin } : {}),
      ...(redis ? { TEST_REDIS_SERVER: redis.server, TEST_REDIS_CLI: redis.cli } : {}),
      ...(python ? { TEST_PYTHON: python } : {}),
      ...(workerd ? { TEST_WORKERD: workerd } : {}),
      ...(chromium ? { CHROMIUM_PATH: chromium } : {})
    }
  }
)
