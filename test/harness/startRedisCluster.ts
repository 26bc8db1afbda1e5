import { Effect, type Scope } from "effect"
import { redisCli } from "./given.ts"
import { pollUntil } from "./pollUntil.ts"
import { runProgram } from "./runProgram.ts"
import { type Server, ServerFailed } from "./Server.ts"
import { askRedis, type RedisOptions, startRedis } from "./startRedis.ts"

export interface RedisCluster {
  /** `redis+cluster://host:port,host:port,host:port` */
  readonly url: string
  /** Masters with a third of the slots each, without replicas. */
  readonly nodes: ReadonlyArray<Server>
}

const joinLimit = 30_000

/** A cluster of three Redis nodes for one test. */
export const startRedisCluster = Effect.fnUntraced(function* (
  options: RedisOptions = {}
): Effect.fn.Return<RedisCluster, ServerFailed, Scope.Scope> {
  const cli = options.cli ?? redisCli()
  const settings = { "cluster-enabled": "yes", "cluster-node-timeout": "5000", ...options.settings }
  const nodes = yield* Effect.all(
    [1, 2, 3].map(() => startRedis({ ...options, settings })),
    { concurrency: "unbounded" }
  )
  const addresses = nodes.map(({ host, port }) => `${host}:${port}`)

  const made = yield* runProgram(cli, ["--cluster", "create", ...addresses, "--cluster-replicas", "0", "--cluster-yes"])
  if (made.status !== 0) {
    return yield* new ServerFailed({ message: `redis-cli --cluster create failed: ${made.stdout}${made.stderr}` })
  }

  // The nodes agree on the cluster's state a moment after redis-cli has ended.
  const isWhole = ({ port }: Server) =>
    askRedis(cli, port, ["CLUSTER", "INFO"]).pipe(Effect.map((said) => said.includes("cluster_state:ok")))
  const agreed = yield* pollUntil(
    Effect.all(nodes.map(isWhole)).pipe(Effect.map((whole) => whole.every(Boolean))),
    joinLimit
  )
  if (!agreed) return yield* new ServerFailed({ message: "the Redis Cluster's nodes did not find each other" })
  return { url: `redis+cluster://${addresses.join(",")}`, nodes }
})
