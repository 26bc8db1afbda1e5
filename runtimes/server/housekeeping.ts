import { Clock, Effect, Schedule } from "effect"
import type { Usage } from "../../core/engine/Usage.ts"
import type { LimitSharing } from "../../core/limits/SharedLimiter.ts"
import type { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"

const sweepAtOnce = 1000

/** Removes everything that has expired by now, some at a time, so that nobody waits for long. */
export const sweepAll = Effect.fnUntraced(function* (
  storage: Storage["Service"]
): Effect.fn.Return<number, StorageUnavailable> {
  const now = yield* Clock.currentTimeMillis
  let total = 0
  for (;;) {
    const swept = yield* storage.sweep(now, sweepAtOnce)
    total += swept
    if (swept < sweepAtOnce) return total
  }
})

/** Again and again, whatever happens: what fails is logged and tried again next time. */
const every = <A, E>(pause: Schedule.Schedule<unknown>, what: string, task: Effect.Effect<A, E>) =>
  task.pipe(
    Effect.catchCause((cause) => Effect.logError(`${what} failed and will be tried again`, cause)),
    Effect.repeat(pause)
  )

// Jittered, so that many processes over one store do not all come at once.
const aboutEvery = (pause: "1 second" | "1 minute" | "5 minutes") => Schedule.jittered(Schedule.spaced(pause))

export interface House {
  readonly storage: Storage["Service"]
  readonly usage: Usage
  readonly limits: LimitSharing["Service"]
  /** Tells other processes of failed sign-ins. */
  readonly shareFailures: Effect.Effect<unknown, unknown>
  /** Lets go of clients that nobody let in, where there are too many. */
  readonly clearRoom: Effect.Effect<unknown, unknown>
  /** Sees those out who were removed while a process died. */
  readonly finishRemovals: Effect.Effect<unknown, unknown>
}

/** What a server does when nobody asks. Never ends by itself. */
export const housekeeping = (house: House): Effect.Effect<never> => {
  const { clearRoom, finishRemovals, limits, shareFailures, storage, usage } = house
  return Effect.all(
    [
      every(aboutEvery("1 minute"), "sweeping", sweepAll(storage)),
      every(aboutEvery("1 minute"), "making room for clients", clearRoom),
      every(aboutEvery("1 minute"), "noting last uses", usage.flush),
      every(aboutEvery("5 minutes"), "finishing removals", finishRemovals),
      every(aboutEvery("1 second"), "sharing rate limits", limits.share),
      every(aboutEvery("1 second"), "sharing failed sign-ins", shareFailures)
    ],
    { concurrency: "unbounded" }
  ).pipe(Effect.andThen(Effect.never))
}
