import { Effect, Layer, Logger, Option } from "effect"
import { layer } from "../../adapters/redis/Redis.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { recordOf } from "./redisGiven.ts"

// A process of its own that counts three records up, so many times each, against other processes.
const [url = "", times = "0"] = process.argv.slice(2)

const increment = Effect.fnUntraced(function* (id: string) {
  const store = yield* Storage
  const found = Option.getOrThrow(yield* store.get(recordOf(id)))
  yield* store.replace(found.version, { ...found, body: Number(found.body) + 1 })
})

const countUp = (id: string) =>
  Effect.forEach(Array.from({ length: Number(times) }), () =>
    Effect.retry(increment(id), { while: (error) => error._tag === "Conflict" })
  )

const program = Effect.forEach(["a", "b", "c"], countUp, { concurrency: "unbounded", discard: true })

await Effect.runPromise(Effect.provide(program, Layer.merge(layer({ url }), Logger.layer([]))))
