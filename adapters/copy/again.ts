import { Schedule, Schema } from "effect"
import { StorageUnavailable } from "../../core/ports/Storage.ts"

/** Every step may be done twice, so a store that is away for a moment is asked again. */
export const again = {
  while: (error: unknown) => Schema.is(StorageUnavailable)(error),
  schedule: Schedule.jittered(Schedule.exponential("100 millis")).pipe(Schedule.upTo({ times: 8 }))
}
