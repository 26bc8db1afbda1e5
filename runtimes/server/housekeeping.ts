import { Clock, Effect, Schedule } from "effect"
import type { Usage } from "../../core/engine/Usage.ts"
import type { LimitSharing } from "../../core/limits/SharedLimiter.ts"
import type { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"

const sweepAtOnce = 1000

/** Removes everything that has expired by now, some at a time, so that no request waits for long. */
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

/** Trouble in so many workspaces is trouble of the store's, which is left in peace until the next round. */
const troubledMost = 10

/** In one workspace after the other: trouble in one keeps no other one waiting, and is told when all are done. */
export const inEach = <E, F, W = Workspace>(
  hosted: { readonly each: <G>(act: (workspace: W) => Effect.Effect<void, G>) => Effect.Effect<void, F | G> },
  act: (workspace: W) => Effect.Effect<unknown, E>
): Effect.Effect<void, E | F> =>
  Effect.suspend(() => {
    const faults: Array<E> = []
    const trying = (workspace: W) =>
      Effect.catch(Effect.asVoid(act(workspace)), (fault) => {
        faults.push(fault)
        return faults.length < troubledMost ? Effect.void : Effect.fail(fault)
      })
    return Effect.flatMap(hosted.each(trying), () => {
      const [first] = faults
      return first === undefined ? Effect.void : Effect.fail(first)
    })
  })

export interface House {
  readonly storage: Storage["Service"]
  readonly usage: Usage
  readonly limits: LimitSharing["Service"]
  /** Tells other processes of failed sign-ins. */
  readonly shareFailures?: Effect.Effect<unknown, unknown>
  /** Takes over which workspaces there are. */
  readonly follow?: Effect.Effect<never>
  /** Deletes clients that no person let in, where there are too many. */
  readonly clearRoom: Effect.Effect<unknown, unknown>
  /** Rotates the signing keys that are due, and ends those that are not needed. */
  readonly keepSigningKeys: Effect.Effect<unknown, unknown>
  /** Tells applications of sessions that ended, as far as this process knows of some; and those that others left. */
  readonly deliverKnown: Effect.Effect<unknown, unknown>
  readonly deliverLogouts: Effect.Effect<unknown, unknown>
  /** Sees those out who were removed while a process died. */
  readonly finishRemovals?: Effect.Effect<unknown, unknown>
}

/** What a server does without a request. Never ends by itself. */
export const housekeeping = ({
  clearRoom,
  deliverKnown,
  deliverLogouts,
  finishRemovals = Effect.never,
  follow = Effect.never,
  keepSigningKeys,
  limits,
  shareFailures = Effect.never,
  storage,
  usage
}: House): Effect.Effect<never> =>
  Effect.all(
    [
      every(aboutEvery("1 minute"), "sweeping", sweepAll(storage)),
      every(aboutEvery("1 minute"), "making room for clients", clearRoom),
      every(aboutEvery("1 minute"), "noting last uses", usage.flush),
      every(aboutEvery("5 minutes"), "keeping signing keys", keepSigningKeys),
      every(aboutEvery("1 second"), "delivering logout calls", deliverKnown),
      every(aboutEvery("1 minute"), "looking for logout calls", deliverLogouts),
      every(aboutEvery("5 minutes"), "finishing removals", finishRemovals),
      every(aboutEvery("1 second"), "sharing rate limits", limits.share),
      every(aboutEvery("1 second"), "sharing failed sign-ins", shareFailures),
      follow
    ],
    { concurrency: "unbounded" }
  ).pipe(Effect.andThen(Effect.never))
