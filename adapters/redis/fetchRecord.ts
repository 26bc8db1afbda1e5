import { Effect, Option } from "effect"
import { type RecordKey, StorageUnavailable } from "../../core/ports/Storage.ts"
import { pathOf, placeOf } from "./Place.ts"
import { parseValue, type StoredValue } from "./StoredValue.ts"
import type { Deadline, Wire } from "./Wire.ts"

export const fetchRecord = (
  wire: Wire,
  prefix: string,
  key: RecordKey,
  deadline: Deadline
): Effect.Effect<Option.Option<StoredValue>, StorageUnavailable> =>
  Effect.matchEffect(wire.ask("get", [placeOf(prefix, pathOf(key)).record], deadline), {
    onFailure: (error) => Effect.fail(notDone(error)),
    onSuccess: (text) =>
      typeof text === "string"
        ? Effect.map(Effect.fromResult(parseValue(key, text)), Option.some)
        : Effect.succeed(Option.none())
  })

/** Of what changes no record: whether it happened or not, nothing was done. */
export const notDone = (error: StorageUnavailable): StorageUnavailable =>
  error.outcome === "not_done" ? error : new StorageUnavailable({ outcome: "not_done", message: error.message })
