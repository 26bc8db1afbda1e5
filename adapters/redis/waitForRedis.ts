import { Clock, Duration, Effect, Result } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Wire } from "./Wire.ts"

const pause = Duration.millis(500)

/** Until the server answers; each time that it does not, the reason is logged. The last one is the failure. */
export const waitForRedis = Effect.fnUntraced(function* (
  wire: Wire,
  patience: Duration.Input
): Effect.fn.Return<void, StorageUnavailable> {
  const giveUpAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(patience)
  while (true) {
    const answer = yield* Effect.result(wire.ask("ping", [], wire.deadline()))
    if (Result.isSuccess(answer)) return
    if ((yield* Clock.currentTimeMillis) >= giveUpAt) return yield* answer.failure
    yield* Effect.logWarning(`The storage does not answer, trying again. ${answer.failure.message}`)
    yield* Effect.sleep(pause)
  }
})
