import { Effect, Result } from "effect"
import { hexOf } from "../codec/Base64Url.ts"
import type { Decision } from "../grant/Decision.ts"
import type { Grant, Standing } from "../grant/Grant.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { type Conflict, StorageUnavailable } from "../ports/Storage.ts"
import type { GrantId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { type Kept, TtlCache } from "./caches.ts"
import type { Records } from "./Records.ts"
import { beginHeld, type Held, type Spending } from "./Spending.ts"

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

/** What a write may fail by. */
export type WriteFault = StorageUnavailable | Contended

/** What a decision that writes waits for. */
export interface First<R> {
  /** Asked once the decision is made. */
  readonly ready?: () => Effect.Effect<void, R> | undefined
  readonly spending: Spending<R> | undefined
}

/** What a record is to become, by which decision, and on what it was decided. */
interface Attempt<V, A, E> {
  readonly kept: Kept<V> | undefined
  readonly next: V
  readonly outcome: Result.Result<A, E>
}

/**
 * Read, decide, swap; a lost swap decides again on the record that won. A write whose answer was lost is recognised by
 * its command id, never repeated blindly. A decision that writes is first made on the cached record, unread. Nothing is
 * written before what `first` says: what the request spends leaves with the read, or in one step with the write.
 */
export const transact = <V, A, E, R = never>(
  records: Records<V>,
  entropy: Entropy["Service"],
  workspace: WorkspaceId,
  id: string,
  decide: (value: V | undefined) => Decision<A, E, V>,
  first?: First<R>
): Effect.Effect<Result.Result<A, E>, WriteFault | R> => {
  const transaction: Transaction<V, A, E, R> = { records, entropy, workspace, id, decide, first }
  const known = records.cache?.assumed(workspace, id)
  const early = known === undefined ? undefined : decide(known.value)
  if (early?.next !== undefined)
    return swap(transaction, { kept: known, next: early.next, outcome: early.outcome }, true)
  const begin = beginHeld(first?.spending)
  const read = () =>
    Effect.flatMapEager(records.get(workspace, id), (kept): Swapped<A, E, R> => {
      const decision = decide(kept?.value)
      return decision.next === undefined
        ? Effect.succeed(decision.outcome)
        : swap(transaction, { kept, next: decision.next, outcome: decision.outcome }, false)
    })
  return begin === undefined ? read() : Effect.flatMap(begin, read)
}

/** The same, failing where the decision refuses. */
export const transactOrFail = <V, A, E>(
  records: Records<V>,
  entropy: Entropy["Service"],
  workspace: WorkspaceId,
  id: string,
  decide: (value: V | undefined) => Decision<A, E, V>
): Effect.Effect<A, E | WriteFault> =>
  Effect.flatMap(transact(records, entropy, workspace, id, decide), Effect.fromResult)

/** For what is written or handed out otherwise. `undefined`: nothing is waited for. */
export const beforeWriting = <R>({ ready, spending }: First<R>): Effect.Effect<void, R> | undefined => {
  const before = ready?.()
  if (spending === undefined) return before
  return before === undefined ? spending.spent : Effect.andThen(before, spending.spent)
}

interface Transaction<V, A, E, R> {
  readonly records: Records<V>
  readonly entropy: Entropy["Service"]
  readonly workspace: WorkspaceId
  readonly id: string
  readonly decide: (value: V | undefined) => Decision<A, E, V>
  readonly first: First<R> | undefined
}

const save = <V>(records: Records<V>, workspace: WorkspaceId, kept: Kept<V> | undefined, next: V, command: string) =>
  kept === undefined
    ? records.insert(workspace, next, command)
    : records.replace(workspace, kept.version, next, command)

type Swapped<A, E, R = never> = Effect.Effect<Result.Result<A, E>, WriteFault | R>

/** `unread`: decided on the cached record. */
const swap = <V, A, E, R>(
  transaction: Transaction<V, A, E, R>,
  attempt: Attempt<V, A, E>,
  unread: boolean
): Swapped<A, E, R> => {
  const { first } = transaction
  if (first === undefined) return swapNow(transaction, attempt, unread)
  const ready = first.ready?.()
  const spendAndSwap = () => swapSpending(transaction, attempt, unread, first.spending)
  return ready === undefined ? spendAndSwap() : Effect.flatMapEager(ready, spendAndSwap)
}

const swapSpending = <V, A, E, R>(
  transaction: Transaction<V, A, E, R>,
  attempt: Attempt<V, A, E>,
  unread: boolean,
  spending: Spending<R> | undefined
): Swapped<A, E, R> => {
  if (spending === undefined) return swapNow(transaction, attempt, unread)
  const { held, spent } = spending
  const { kept } = attempt
  const mayTakeAlong = kept !== undefined && held.length > 0 && held.every(({ isBegun }) => !isBegun)
  const along = mayTakeAlong ? swapAlong(transaction, attempt, kept, unread, held) : undefined
  return along ?? Effect.flatMapEager(spent, () => swapNow(transaction, attempt, unread))
}

/** Takes what the request spends along with the write, where the store can. */
const swapAlong = <V, A, E, R>(
  transaction: Transaction<V, A, E, R>,
  attempt: Attempt<V, A, E>,
  kept: Kept<V>,
  unread: boolean,
  held: ReadonlyArray<Held<R>>
): Swapped<A, E, R> | undefined => {
  const { entropy, records, workspace } = transaction
  const command = hexOf(entropy.bytes(commandLength))
  const added = held.map(({ record }) => record)
  const write = records.replaceWith?.(added, workspace, kept.version, attempt.next, command)
  if (write === undefined) return undefined
  return Effect.flatMap(Effect.result(write), (written): Swapped<A, E, R> => {
    const lost = Result.isSuccess(written) ? undefined : written.failure
    if (lost?._tag === "Taken") {
      const taken = held.find(({ record }) => record.id === lost.id)
      return taken?.refuse ?? Effect.die(new Error("the store tells of a record that it was not given"))
    }
    // Where the store fell silent, each is asked for by itself before the next write.
    if (lost?._tag !== "StorageUnavailable") for (const one of held) one.tookAlong()
    return swapped(transaction, attempt, unread, command, lost)
  })
}

const swapNow = <V, A, E, R>(
  transaction: Transaction<V, A, E, R>,
  attempt: Attempt<V, A, E>,
  unread: boolean
): Swapped<A, E, R> => {
  const { entropy, records, workspace } = transaction
  const command = hexOf(entropy.bytes(commandLength))
  const write = save(records, workspace, attempt.kept, attempt.next, command)
  return Effect.flatMapEager(Effect.result(write), (written) =>
    swapped(transaction, attempt, unread, command, Result.isSuccess(written) ? undefined : written.failure)
  )
}

const swapped = <V, A, E, R>(
  transaction: Transaction<V, A, E, R>,
  attempt: Attempt<V, A, E>,
  unread: boolean,
  command: string,
  lost: Conflict | StorageUnavailable | undefined
): Swapped<A, E, R> => {
  if (lost === undefined) return Effect.succeed(attempt.outcome)
  const { records, workspace } = transaction
  if (unread && lost._tag === "Conflict") records.cache?.wasStale(workspace, transaction.id)
  return retry(transaction, command, attempt, lost)
}

const retry = Effect.fnUntraced(function* <V, A, E, R>(
  transaction: Transaction<V, A, E, R>,
  command: string,
  first: Attempt<V, A, E>,
  firstLoss: Conflict | StorageUnavailable
) {
  const { decide, entropy, id, records, workspace } = transaction
  const spending = transaction.first?.spending
  /** A write whose answer was lost: the version that it was to replace, and what it was to say. */
  let uncertain: { readonly version: number; readonly outcome: Result.Result<A, E> } | undefined
  let attempt = first
  let lost = firstLoss
  /** What could not be done after an uncertain write says nothing about that one. */
  const told = (failure: StorageUnavailable) =>
    uncertain === undefined ? failure : new StorageUnavailable({ outcome: "unknown", message: failure.message })

  for (let count = 1; ; count++) {
    records.cache?.forget(workspace, id)
    if (lost._tag === "StorageUnavailable") {
      if (lost.outcome === "not_done") return yield* told(lost)
      uncertain = { version: attempt.kept?.version ?? 0, outcome: attempt.outcome }
    }
    if (count === attempts) return yield* uncertain === undefined ? new Contended() : unknownOutcome
    yield* pause(count, entropy)

    const kept: Kept<V> | undefined = yield* Effect.mapError(records.get(workspace, id), told)
    if (uncertain !== undefined && kept?.command === command) return uncertain.outcome
    if (uncertain !== undefined && uncertain.version !== (kept?.version ?? 0)) {
      // Another request has written since, over our write or instead of it: there is no telling.
      return yield* unknownOutcome
    }
    const decision = decide(kept?.value)
    if (decision.next === undefined) return decision.outcome
    attempt = { kept, next: decision.next, outcome: decision.outcome }
    if (spending !== undefined) yield* spending.spent
    const write = save(records, workspace, kept, decision.next, command)
    const next = yield* write.pipe(Effect.as(undefined), Effect.catch(Effect.succeed))
    if (next === undefined) return attempt.outcome
    lost = next
  }
})

/**
 * Runs the clean-up after a deciding write; `false` if it failed. A failure is only logged: the deciding write is
 * done, so reporting a failure would be wrong and a second try would find nothing to do.
 */
export const cleanUpOrWarn = (
  workspace: WorkspaceId,
  tidying: Effect.Effect<void, WriteFault>,
  left: string,
  about: Readonly<Record<string, string>>
): Effect.Effect<boolean> =>
  Effect.catchEager(
    Effect.mapEager(tidying, () => true),
    (fault) => Effect.as(Effect.logWarning(left, { workspace, ...about, fault: fault._tag }), false)
  )

type Step<A, E> = (grant: Grant | undefined) => Decision<A, E>
type Decided<A, E, R> = Effect.Effect<Result.Result<A, E>, WriteFault | R>

/** Decisions about grants, each on the grant as it is stored, except those about a client's own grant. */
interface GrantDecisions {
  readonly decide: <A, E, R = never>(
    workspace: WorkspaceId,
    id: GrantId,
    step: Step<A, E>,
    first?: First<R>
  ) => Decided<A, E, R>
  /**
   * About a client's own grant, as it was a moment ago. A token of a grant that ended meanwhile is worth nothing, because
   * every check reads the stored grant.
   */
  readonly decideOwn: <A, E, R = never>(
    workspace: WorkspaceId,
    id: GrantId,
    step: Step<A, E>,
    now: Instant,
    first?: First<R>
  ) => Decided<A, E, R>
  readonly forget: (workspace: WorkspaceId, id: GrantId) => void
}

const standingGrantsKept = 20_000

const isStanding = (grant: Grant | undefined): grant is Standing => grant?._tag === "Standing"

export const makeGrantDecisions = (
  records: Records<Grant>,
  entropy: Entropy["Service"],
  policy: Policy
): GrantDecisions => {
  const standing = new TtlCache<Standing>(standingGrantsKept, policy.clientStaleness)

  const decide: GrantDecisions["decide"] = (workspace, id, step, first) => {
    let changed = false
    const decideOn: typeof step = (grant) => {
      const decision = step(grant)
      changed = decision.next !== undefined && (isStanding(grant) || isStanding(decision.next))
      if (changed) standing.forget(workspace, id)
      return decision
    }
    const decided = transact(records, entropy, workspace, id, decideOn, first)
    // A request that read the grant during the write may have read it as it was before.
    return Effect.mapEager(decided, (outcome) => {
      if (changed) standing.forget(workspace, id)
      return outcome
    })
  }

  const readAndDecide: GrantDecisions["decideOwn"] = (workspace, id, step, now, first) => {
    const before = standing.forgotten
    let read: Grant | undefined
    const decideOn: typeof step = (grant) => {
      read = grant
      return step(grant)
    }
    const decided = decide(workspace, id, decideOn, first)
    return Effect.mapEager(decided, (outcome) => {
      if (isStanding(read)) standing.remember(workspace, id, read, now, before)
      return outcome
    })
  }

  return {
    decide,
    decideOwn: (workspace, id, step, now, first) => {
      const known = standing.get(workspace, id, now)
      const decision = known === undefined ? undefined : step(known)
      return decision === undefined || decision.next !== undefined
        ? readAndDecide(workspace, id, step, now, first)
        : Effect.succeed(decision.outcome)
    },
    forget: (workspace, id) => standing.forget(workspace, id)
  }
}
