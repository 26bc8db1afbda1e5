import { Effect } from "effect"
import { placeOf } from "../../adapters/redis/RecordPlace.ts"
import { replaceScript } from "../../adapters/redis/scripts.ts"
import { commandRedis } from "../measure/commandRedis.ts"
import { outside } from "../measure/outside.ts"
import { BenchFailed } from "../measure/Talker.ts"
import type { RedisServer } from "./Part.ts"
import { redisRate } from "./redisRate.ts"

/**
 * The adapter's script with its comparison turned round: redis-benchmark knows no versions, and every swap has to
 * succeed. One record a call, as each of its clients asks for itself.
 */
const turned = replaceScript.lua.replace("if version ~= expected", "if version == expected")

/** Twelve digits come out of `__rand_int__`; with these around them they make a grant's id. */
const path = "default/grant/000000000__rand_int__A"
/** Beside the server's own records, which lie in the shards of their own paths. */
const shard = placeOf("floor", path).shard
const record = `${shard}:${path}`
const longAgo = "0"

const atOnce = 1000
const leastRequests = 1000

export const redisBenchmark = (redis: RedisServer, grants: number, body: string, clients: number, millis: number) =>
  Effect.gen(function* () {
    const { server, benchmark } = redis
    const expires = String(Date.now() + 30 * 86_400_000)
    const fillIn = `for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('SET', string.gsub(KEYS[1], '__rand_int__', string.format('%012d', n)), ARGV[3])
end`
    const value = `1 1 ${expires} entry "user:user-1"\n${body}`
    for (let first = 0; first < grants; first += atOnce) {
      yield* commandRedis(
        redis,
        "EVAL",
        fillIn,
        "1",
        record,
        `${first}`,
        `${Math.min(grants, first + atOnce) - 1}`,
        value
      )
    }
    const sha = yield* commandRedis(redis, "SCRIPT", "LOAD", turned)
    const swap = ["EVALSHA", sha, "2", record, shard, longAgo, expires, "3000000000", body]
    const swapped = yield* commandRedis(redis, ...swap.map((part) => part.replace("__rand_int__", "0".repeat(12))))
    if (swapped !== "1") return yield* new BenchFailed({ message: `the script swapped nothing: ${swapped}` })
    let perSecond = 2000
    let requests = 0
    return outside({
      name: "redis-benchmark, the same script",
      runtime: "C",
      store: "redis",
      millis,
      families: [server.pid() ?? 0],
      command: (millis) => {
        requests = Math.max(leastRequests, Math.round((perSecond * millis) / 1000))
        return [
          benchmark,
          ["-p", `${server.port}`, "-c", `${clients}`, "-n", `${requests}`, "-r", `${grants}`, "--csv", ...swap]
        ]
      },
      read: (output) => {
        const rate = redisRate(output)
        perSecond = rate.perSecond
        return { perSecond, requests, p50: rate.p50 }
      }
    })
  })
