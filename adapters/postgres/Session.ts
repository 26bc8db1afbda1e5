import { Clock, Effect } from "effect"
import type { Kind, StorageUnavailable } from "../../core/ports/Storage.ts"
import { monotonicMillis } from "../batching/coalesce.ts"
import { ParseCache } from "../records/ParseCache.ts"
import type { Cell, Row } from "./Connection.ts"
import { isLostRace, unavailable } from "./outcome.ts"
import type { Pool, Statement, Unanswered } from "./Pool.ts"
import { fromBodyText } from "./rows.ts"
import type { Statements } from "./statements.ts"

export type Trouble = Unanswered | StorageUnavailable
export type Rows = ReadonlyArray<Row>

/** Shared by all verbs. Times are milliseconds on the monotonic clock. */
export interface Session {
  readonly statements: Readonly<Record<Kind, Statements>>
  readonly now: () => number
  /** The deadline of a call that starts now. */
  readonly deadline: () => number
  readonly read: (text: string, parameters: ReadonlyArray<Cell>, until: number) => Effect.Effect<Rows, Trouble>
  readonly write: (text: string, parameters: ReadonlyArray<Cell>, until: number) => Effect.Effect<Rows, Trouble>
  /** For the kinds that requests read most. */
  readonly caches: Readonly<Partial<Record<Kind, ParseCache>>>
}

/** A race that is lost more often is no accident. */
const raceRetries = 3

export const makeSession = Effect.fnUntraced(function* (
  pool: Pool,
  statements: Session["statements"],
  within: number
): Effect.fn.Return<Session> {
  const now = monotonicMillis(yield* Clock.Clock)

  /** Retries only a lost race, which the server has rolled back, so no write happens twice. */
  const run = (statement: Statement, until: number, retries: number): Effect.Effect<Rows, Trouble> =>
    Effect.catchIf(
      Effect.suspend(() => pool.run(statement, until - now())),
      (trouble) => retries > 0 && trouble._tag === "Unanswered" && isLostRace(trouble.failure),
      () => run(statement, until, retries - 1)
    )

  return {
    statements,
    caches: { grant: new ParseCache(fromBodyText) },
    now,
    deadline: () => now() + within,
    read: (text, parameters, until) => run({ text, parameters, writes: false }, until, raceRetries),
    write: (text, parameters, until) => run({ text, parameters, writes: true }, until, raceRetries)
  }
})

const readTold = (trouble: Trouble) => (trouble._tag === "Unanswered" ? unavailable(trouble.failure, false) : trouble)
const writeTold = (trouble: Trouble) => (trouble._tag === "Unanswered" ? unavailable(trouble.failure, true) : trouble)

/** Maps trouble to the port's error: not done, or unknown for a write that may have happened. */
export const told = (writes: boolean) => (writes ? writeTold : readTold)
