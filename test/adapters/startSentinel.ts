import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { freePort } from "../harness/freePort.ts"
import { redisCli, redisServer } from "../harness/given.ts"
import { startServer } from "../harness/Server.ts"
import { askRedis } from "../harness/startRedis.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"

/** One sentinel is enough to follow: it agrees with itself. */
export const startSentinel = Effect.fnUntraced(function* (masterPort: number) {
  const port = yield* freePort
  const folder = yield* throwawayFolder("sentinel")
  const settings = join(folder, "sentinel.conf")
  writeFileSync(
    settings,
    `port ${port}\nbind 127.0.0.1\ndir ${folder}\nsentinel monitor main 127.0.0.1 ${masterPort} 1\n` +
      "sentinel down-after-milliseconds main 500\nsentinel failover-timeout main 2000\n"
  )
  return yield* startServer({
    name: "sentinel",
    url: `redis://127.0.0.1:${port}`,
    port,
    folder,
    command: redisServer(),
    args: [settings, "--sentinel"],
    user: undefined,
    stopSignal: "SIGTERM",
    discardSignal: "SIGKILL",
    answers: askRedis(redisCli(), port, ["PING"]).pipe(Effect.map((said) => said.startsWith("PONG")))
  })
})
