import { Deferred, Effect, Schema } from "effect"
import { makeRecords } from "../../engine/Records.ts"
import { usageKind } from "../../engine/Usage.ts"
import { json, noStore } from "../../http/answer.ts"
import { bound, type Contract, type Endpoint, type HandlerOf, type Services } from "../../http/Route.ts"
import { type Storage, StorageUnavailable } from "../../ports/Storage.ts"
import { currentInstant, type Instant } from "../../rules/Instant.ts"
import type { WorkspaceId } from "../../workspace/Workspace.ts"

const id = "readiness"

/** Any stranger may ask, so many questions cost one write: this long its answer counts, for all processes. */
const writeCountsFor = 5000

/**
 * Fails unless the store answers and was seen to take a write lately. A full disk, or a database that became a replica,
 * still answers reads.
 */
export const takesWrites = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace: WorkspaceId
): Effect.fn.Return<void, StorageUnavailable> {
  const records = makeRecords(storage, usageKind)
  const now = yield* currentInstant
  const use = { id, usedAt: now }
  const kept = yield* records.get(workspace, id)
  if (kept !== undefined && Math.abs(now - kept.value.usedAt) < writeCountsFor) return
  const write =
    kept === undefined ? records.insert(workspace, use, id) : records.replace(workspace, kept.version, use, id)
  // The write of another process was taken.
  yield* Effect.catchTag(write, "Conflict", () => Effect.void)
})

interface Attempt {
  readonly begunAt: Instant
  readonly outcome: Deferred.Deferred<void, StorageUnavailable>
}

/** How long an attempt that did not succeed answers for this process, under way or refused. */
const countsFor = 1000

/**
 * Any stranger may ask, and a store in trouble is not to be asked as often as they ask: those who ask at once
 * share one attempt, and what was refused stays refused for a moment.
 */
export const makeReadiness = (storage: Storage["Service"]) => {
  const attempts = new Map<WorkspaceId, Attempt>()

  // As a whole or not at all: an attempt that is not made would have an outcome that never comes.
  const begin = Effect.fnUntraced(function* (workspace: WorkspaceId, begunAt: Instant) {
    const attempt: Attempt = { begunAt, outcome: Deferred.makeUnsafe() }
    attempts.set(workspace, attempt)
    const forget = Effect.sync(() => {
      if (attempts.get(workspace) === attempt) attempts.delete(workspace)
    })
    const asking = Effect.andThen(takesWrites(storage, workspace), forget)
    // Not a child of the first to ask: who goes away takes no answer from the others.
    yield* Effect.forkDetach(Deferred.into(asking, attempt.outcome), { startImmediately: true })
    return attempt
  }, Effect.uninterruptible)

  return Effect.fnUntraced(function* (workspace: WorkspaceId): Effect.fn.Return<void, StorageUnavailable> {
    const now = yield* currentInstant
    const last = attempts.get(workspace)
    const counts = last !== undefined && Math.abs(now - last.begunAt) < countsFor
    yield* Deferred.await((counts ? last : yield* begin(workspace, now)).outcome)
  })
}

const says = <Word extends string>(word: Word) => Schema.Struct({ status: Schema.Literal(word) })

const livenessContract = {
  id: "liveness",
  heading: "Health",
  summary: "Whether the process runs",
  callers: [{ shows: "nothing" }],
  answers: [{ description: "It runs.", like: () => json(200, {}, noStore), body: says("ok") }],
  faults: []
} as const satisfies Contract

const readinessContract = {
  id: "readiness",
  heading: "Health",
  summary: "Whether the process can do its work",
  callers: [{ shows: "nothing" }],
  answers: [
    {
      description: "Its storage answers, and takes what is written.",
      like: () => json(200, {}, noStore),
      body: says("ready")
    }
  ],
  faults: [StorageUnavailable]
} as const satisfies Contract

/** The process runs and answers. */
const livenessHandler: HandlerOf<typeof livenessContract> = () => Effect.succeed(json(200, { status: "ok" }, noStore))

/** The process can do its work: the storage answers, and takes what is written. */
const readinessHandler = (services: Services): HandlerOf<typeof readinessContract> => {
  const ready = makeReadiness(services.storage)
  return Effect.fnUntraced(function* (call) {
    yield* ready(call.workspace.id)
    return json(200, { status: "ready" }, noStore)
  })
}

export const livenessEndpoint: Endpoint = {
  path: "/healthz",
  match: "exact",
  methods: { GET: bound(livenessContract, () => livenessHandler) },
  errors: "oauth",
  storeless: true,
  cors: false
}

export const readinessEndpoint: Endpoint = {
  path: "/readyz",
  match: "exact",
  methods: { GET: bound(readinessContract, readinessHandler) },
  errors: "oauth",
  cors: false
}
