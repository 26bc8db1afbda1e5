import { Effect, Exit, Fiber } from "effect"
import type { Fault } from "../http/Fault.ts"
import type { NewRecord } from "../ports/Storage.ts"

/** Something that a request uses up, for as long as nothing has asked the store for it. */
export class Held<out E = Fault> {
  /** What takes it, if a write takes it along. */
  readonly record: NewRecord
  private readonly refused: Effect.Effect<never, E>
  private readonly spend: Effect.Effect<void, E>
  private begun: Effect.Effect<void, E> | undefined

  constructor(record: NewRecord, spend: Effect.Effect<void, E>, refused: Effect.Effect<never, E>) {
    this.record = record
    this.spend = spend
    this.refused = refused
  }

  get isBegun(): boolean {
    return this.begun !== undefined
  }

  /** A write took it along. */
  tookAlong(): void {
    this.begun = Effect.void
  }

  /** A write found that another request has it. */
  readonly refuse: Effect.Effect<never, E> = Effect.suspend(() =>
    Effect.flatMap(Effect.exit(this.refused), (refusal) => {
      this.begun = refusal
      return refusal
    })
  )

  readonly begin: Effect.Effect<void> = Effect.suspend(() =>
    this.begun === undefined
      ? Effect.map(Effect.forkChild(this.spend, { startImmediately: true }), (fiber) => {
          this.begun = Fiber.join(fiber)
        })
      : Effect.void
  )

  readonly spent: Effect.Effect<void, E> = Effect.andThen(
    this.begin,
    Effect.suspend(() => this.begun ?? Effect.void)
  )
}

/** What a request uses up: it may write and hand out once all of it is spent. */
export interface Spending<out E = Fault> {
  /** What is not asked for before the request reads or writes. */
  readonly held: ReadonlyArray<Held<E>>
  /** Ends once all is spent; begins what has not begun. */
  readonly spent: Effect.Effect<void, E>
}

/** Both. */
export const bothSpent = <E, R>(one: Spending<E> | undefined, other: Spending<R>): Spending<E | R> =>
  one === undefined ? other : { held: [...one.held, ...other.held], spent: Effect.andThen(one.spent, other.spent) }

/** Before a read, with which it leaves. `undefined`: there is nothing to begin. */
export const beginHeld = (spending: Spending<unknown> | undefined): Effect.Effect<void> | undefined => {
  const waiting = spending === undefined ? [] : spending.held.filter(({ isBegun }) => !isBegun)
  return waiting.length === 0 ? undefined : Effect.forEach(waiting, ({ begin }) => begin, { discard: true })
}

/** Where nothing of it is held back. */
export const spendingOf = <E>(spent: Effect.Effect<void, E> | undefined): Spending<E> | undefined =>
  spent === undefined ? undefined : { held: [], spent }

/**
 * Spends beside the rest of a request, so that it costs no round trip of its own: what the rest reads leaves in the same
 * turn, and what is held back leaves with its first read or its write. The rest awaits `spent` before it writes; whatever
 * it comes to, it is answered only if all was spent.
 */
export const beside = <A, E, R>(
  spending: Spending<R> | undefined,
  rest: (spending: Spending<R> | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E | R> => {
  if (spending === undefined) return rest(undefined)
  const { held, spent } = spending
  // A store that answers at once has answered.
  const isThere: boolean = Exit.isExit(spent)
  if (isThere) return Effect.flatMapEager(spent, () => rest(undefined))
  const answered = (all: Spending<R>): Effect.Effect<A, E | R> =>
    Effect.flatMap(Effect.exit(rest(all)), (answer) => Effect.flatMap(all.spent, () => answer))
  return held.length > 0
    ? answered(spending)
    : Effect.flatMap(Effect.forkChild(spent, { startImmediately: true }), (fiber) =>
        answered({ held, spent: Fiber.join(fiber) })
      )
}
