import { Clock, Duration, Effect, Schedule } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Wire } from "./Wire.ts"

/** Until the server answers; each time that it does not, the reason is logged. The last one is the failure. */
export const waitForRedis = Effect.fnUntraced(function* (
  wire: Wire,
  patience: Duration.Input
): Effect.fn.Return<void, StorageUnavailable> {
  const giveUpAt = (yield* Clock.currentTimeMillis) + Duration.toMillis(patience)
  const isWorthAnother = Effect.map(Clock.currentTimeMillis, (now) => now < giveUpAt)
  yield* Effect.suspend(() => wire.ask("ping", [], wire.deadline())).pipe(
    Effect.tapError(({ message }) =>
      Effect.when(Effect.logWarning(`The storage does not answer, trying again. ${message}`), isWorthAnother)
    ),
    Effect.retry({ schedule: Schedule.spaced("500 millis"), while: () => isWorthAnother })
  )
})
