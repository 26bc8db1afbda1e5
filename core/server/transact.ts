import { Effect, Exit, type Result } from "effect"
import type { Decision } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { type Conflict, StorageUnavailable } from "../ports/Storage.ts"
import { hexOf } from "../rules/Hex.ts"
import { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { Kept, Records } from "./Records.ts"

const attempts = 16
/** The first few meet on one machine and are over at once; only a crowd has to be spread out. */
const attemptsWithoutPause = 4
const commandLength = 9

const unknownOutcome = new StorageUnavailable({ outcome: "unknown", message: "the outcome of a write is not known" })

const pause = (attempt: number, entropy: Entropy["Service"]) => {
  if (attempt < attemptsWithoutPause) return Effect.yieldNow
  const most = Math.min(2 ** (attempt - attemptsWithoutPause), 64)
  return Effect.sleep(1 + (most * (entropy.bytes(1)[0] ?? 0)) / 255)
}

/**
 * Read, decide, swap; a lost swap decides again on what won. The only code that knows that two requests can meet, and
 * that an answer of the store can get lost: such a write is looked for by its command id, never repeated blindly.
 */
export const transact = <V, A, E>(
  records: Records<V>,
  entropy: Entropy["Service"],
  workspace: WorkspaceId,
  id: string,
  decide: (value: V | undefined) => Decision<A, E, V>
): Effect.Effect<Result.Result<A, E>, StorageUnavailable | Contended> =>
  Effect.flatMapEager(records.get(workspace, id), (kept) => {
    const decision = decide(kept?.value)
    return decision.next === undefined
      ? Effect.succeed(decision.outcome)
      : swap(records, entropy, workspace, id, decide, kept, decision.next, decision.outcome)
  })

const save = <V>(records: Records<V>, workspace: WorkspaceId, kept: Kept<V> | undefined, next: V, command: string) =>
  kept === undefined
    ? records.insert(workspace, next, command)
    : records.replace(workspace, kept.version, next, command)

const swap = <V, A, E>(
  records: Records<V>,
  entropy: Entropy["Service"],
  workspace: WorkspaceId,
  id: string,
  decide: (value: V | undefined) => Decision<A, E, V>,
  kept: Kept<V> | undefined,
  next: V,
  outcome: Result.Result<A, E>
): Effect.Effect<Result.Result<A, E>, StorageUnavailable | Contended> => {
  const command = hexOf(entropy.bytes(commandLength))
  const write = save(records, workspace, kept, next, command)
  // A store in this process may have done it by now.
  return Exit.isExit(write) && Exit.isSuccess(write)
    ? Effect.succeed(outcome)
    : insist(records, entropy, workspace, id, decide, command, kept, write, outcome)
}

const insist = Effect.fnUntraced(function* <V, A, E>(
  records: Records<V>,
  entropy: Entropy["Service"],
  workspace: WorkspaceId,
  id: string,
  decide: (value: V | undefined) => Decision<A, E, V>,
  command: string,
  first: Kept<V> | undefined,
  firstWrite: Effect.Effect<void, Conflict | StorageUnavailable>,
  firstOutcome: Result.Result<A, E>
) {
  /** A write whose answer was lost: the version that it was to replace, and what it was to say. */
  let uncertain: { readonly version: number; readonly outcome: Result.Result<A, E> } | undefined
  let kept = first
  let write = firstWrite
  let outcome = firstOutcome

  for (let attempt = 1; ; attempt++) {
    const version = kept?.version ?? 0
    const lost = yield* write.pipe(Effect.as(undefined), Effect.catch(Effect.succeed))
    if (lost === undefined) return outcome
    if (lost._tag === "StorageUnavailable") {
      if (lost.outcome === "not_done") return yield* lost
      uncertain = { version, outcome }
    }
    if (attempt === attempts) return yield* uncertain === undefined ? new Contended() : unknownOutcome
    yield* pause(attempt, entropy)

    kept = yield* records.get(workspace, id)
    if (uncertain !== undefined && kept?.command === command) return uncertain.outcome
    if (uncertain !== undefined && uncertain.version !== (kept?.version ?? 0)) {
      // Somebody else has written since, over our write or instead of it: there is no telling.
      return yield* unknownOutcome
    }
    const decision = decide(kept?.value)
    if (decision.next === undefined) return decision.outcome
    write = save(records, workspace, kept, decision.next, command)
    outcome = decision.outcome
  }
})
