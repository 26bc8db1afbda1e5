import { Effect, Option } from "effect"
import { layer } from "../../../adapters/sqlite/Sqlite.ts"
import { Storage } from "../../../core/ports/Storage.ts"
import { counter } from "./sharedFile.ts"

/** Adds one to the shared counter, a number of times from each of four fibers, whatever other processes do. */
const [path = "", times = ""] = process.argv.slice(2)

const once = Effect.gen(function* () {
  const store = yield* Storage
  const found = Option.getOrThrow(yield* store.get(counter))
  yield* store.replace(found.version, { ...found, body: Number(found.body) + 1 })
}).pipe(Effect.retry({ while: (error) => error._tag === "Conflict" }))

const each = Effect.forEach(Array.from({ length: Number(times) }), () => once)

await Effect.runPromise(
  Effect.all([each, each, each, each], { concurrency: "unbounded" }).pipe(Effect.provide(layer({ path })))
)
