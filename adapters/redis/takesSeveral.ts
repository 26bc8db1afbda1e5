import { Effect, Option } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import { placeOf } from "./Place.ts"
import { replaceScript } from "./scripts.ts"
import type { Wire } from "./Wire.ts"

/**
 * Whether a command may name several records, whichever shards they are in. A cluster refuses what is not in one slot,
 * and so do proxies in front of one. The records that are asked for here are not there.
 */
export const takesSeveral = (wire: Wire, prefix: string): Effect.Effect<boolean, StorageUnavailable> => {
  const places = ["a", "b"].map((path) => placeOf(prefix, path))
  const keys = places.flatMap(({ record, shard }) => [record, shard])
  const nothingExpected = places.flatMap(() => ["0", "-", "0", ""])
  const [master] = wire.masters()
  if (master === undefined) return Effect.succeed(false)
  return Effect.map(
    Effect.all([
      master.ask(
        "mget",
        places.map(({ record }) => record)
      ),
      master.ask("eval", [replaceScript.lua, keys.length, ...keys, ...nothingExpected])
    ]),
    (answers) => answers.every(Option.isSome)
  )
}
