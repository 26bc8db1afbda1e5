import { Clock, Duration, Effect } from "effect"
import { forEachItem } from "../../core/engine/lists.ts"
import { queuesOwner } from "../../core/engine/logoutCalls.ts"
import { issuerOf } from "../../core/engine/Openings.ts"
import type { Services } from "../../core/http/Route.ts"
import type { LimitSharing } from "../../core/limits/SharedLimiter.ts"
import type { StorageScan } from "../../core/ports/Storage.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { housekeeping, inEach, sweepAll } from "../server/housekeeping.ts"
import type { LateStorage } from "./lateStorage.ts"
import type { HostedWorkspaces } from "./workspaces.ts"

/** Node's and Bun's timers can let the process go; the web's are numbers and hold nothing. */
const letGo = (timer: unknown): void => {
  if (typeof timer === "object" && timer !== null && "unref" in timer && typeof timer.unref === "function") {
    timer.unref()
  }
}

/** The same time, for chores: waiting for them keeps no process alive. */
const unrefClock = (clock: Clock.Clock): Clock.Clock => ({
  currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
  currentTimeMillis: clock.currentTimeMillis,
  currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
  currentTimeNanos: clock.currentTimeNanos,
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) =>
    Effect.callback<void>((resume) => {
      const timer = setTimeout(() => resume(Effect.void), Duration.toMillis(duration))
      letGo(timer)
      return Effect.sync(() => clearTimeout(timer))
    })
})

interface ChoresOptions {
  readonly services: Services
  readonly late: LateStorage
  readonly limits: LimitSharing["Service"]
  readonly hosted: HostedWorkspaces
}

/** The workspaces for which the store has logout calls. */
const withCalls = Effect.fnUntraced(function* ({ scan }: StorageScan["Service"]) {
  const ids = new Set<WorkspaceId>()
  yield* forEachItem(
    ({ after, limit }) => Effect.map(scan("logout", after, limit), ({ next, records }) => ({ values: records, next })),
    ({ owner, workspace }) =>
      Effect.sync(() => {
        if (owner !== queuesOwner) ids.add(WorkspaceId.make(workspace))
      })
  )
  return ids
})

/** Delivers what a process left that was stopped, in workspaces that no request has asked for since. */
const deliverLeft = Effect.fnUntraced(function* ({ hosted: { atHostOf, each }, late, services }: ChoresOptions) {
  const scan = atHostOf && (yield* late.scan)
  if (scan === undefined || atHostOf === undefined) return
  const ids = yield* withCalls(scan)
  yield* each(({ id }) => Effect.sync(() => void ids.delete(id)))
  const deliverIn = Effect.fnUntraced(function* (id: WorkspaceId) {
    const issuer = yield* issuerOf(services.storage, id)
    const workspace = issuer && (yield* atHostOf(issuer))
    if (workspace?.id === id && workspace.issuer === issuer) yield* services.logouts.deliver(workspace)
  })
  yield* inEach({ each: (act) => Effect.forEach(ids, act, { discard: true }) }, deliverIn)
})

/** How long closing waits for the store to take what was noted. */
const patience = "5 seconds"

/** What the server does without a request. A host's people are its own: no removals to finish, no sign-ins to count. */
export const choresOf = (options: ChoresOptions) => {
  const { hosted, late, limits, services } = options
  const { each } = hosted
  const { storage, usage } = services
  const clearRoom = inEach({ each }, ({ id }) => services.clientRoom.clear(id))
  const keepSigningKeys = inEach({ each }, (workspace) =>
    Effect.flatMap(currentInstant, (now) => services.signing.keep(workspace, now))
  )
  const deliver = inEach({ each }, services.logouts.deliver)
  const deliverLogouts = Effect.flatMap(Effect.exit(deliver), (exit) => Effect.andThen(deliverLeft(options), exit))
  const { deliverKnown } = services.logouts
  return {
    deliver,
    /** Begins when the storage is open: chores are no reason to open it. Keeps no process alive, by the real clock. */
    always: (given: Clock.Clock | undefined) =>
      Effect.clockWith((clock) =>
        Effect.andThen(
          late.opened,
          housekeeping({
            clearRoom,
            deliverKnown,
            deliverLogouts,
            keepSigningKeys,
            limits,
            storage,
            usage
          })
        ).pipe(Effect.provideService(Clock.Clock, given ?? unrefClock(clock)))
      ),
    once: sweepAll(storage).pipe(
      Effect.andThen(clearRoom),
      Effect.andThen(keepSigningKeys),
      Effect.andThen(usage.flush),
      Effect.andThen(limits.share),
      Effect.andThen(deliverLogouts),
      Effect.asVoid
    ),
    last: usage.flush.pipe(
      Effect.timeout(patience),
      // A fault of the store's own, too: it is to be closed all the same.
      Effect.catchCause((cause) => Effect.logWarning("last uses could not be noted while closing", cause)),
      Effect.asVoid
    )
  }
}
