import { Effect, Schema } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import { writeAll } from "../engine/lists.ts"
import type { RecordKind, Records } from "../engine/Records.ts"
import { transactOrFail, type WriteFault } from "../engine/transact.ts"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import { setBackBy, toldBackBy } from "../limits/SharedLimiter.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { hour, Instant, instantOf, later, type Millis } from "../rules/Instant.ts"
import { digestOf } from "../rules/Secret.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"

/** So many failures count, the last of them at this moment. */
export interface Failures {
  readonly count: number
  readonly last: Instant
}

/** What failures of one sort come to. */
export interface Rule {
  readonly name: string
  /** How many still count. */
  readonly left: (failures: Failures, now: Instant) => number
  /** How long the next attempt has to wait. */
  readonly wait: (failures: Failures, now: Instant) => Millis
  /** No more than these are counted. */
  readonly most: number
  /** With fewer, other processes need not hear of it. */
  readonly worthTelling: number
  /** The last one, where one at `last` joins those that other processes told. */
  readonly joined: (told: Failures, last: Instant, now: Instant) => Instant
}

/** A row expires this long after its last failure. */
export const forgottenAfter = 24 * hour
/** Failures without a wait. */
export const freeFailures = 5

/** The failures as processes tell them each other, by the clock that showed `toldAt` then. */
const SharedFailures = Schema.Struct({
  id: Schema.String,
  count: Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)),
  last: Instant,
  toldAt: Instant
})
type SharedFailures = typeof SharedFailures.Type

/** It stands with the other limits that processes share, in a list of its own. */
export const failuresKind: RecordKind<SharedFailures> = {
  kind: "limit",
  schema: SharedFailures,
  version: 1,
  upcast: [],
  id: ({ id }) => id,
  owner: () => "sign-ins",
  // A few failures are kept for an hour: one guess at each of many logins leaves little behind.
  expiresAt: ({ count, last }) => later(last, count > 0 && count < freeFailures ? hour : forgottenAfter)
}

export const latest = (a: Instant, b: Instant): Instant => (a > b ? a : b)

interface Row {
  readonly workspace: WorkspaceId
  readonly of: string
  /** Those that other processes told included, and attempts that are under way. */
  count: number
  last: Instant
  /** What the clock showed when it was last looked at. */
  seenAt: Instant
  underWay: number
  /** Failed here since the other processes last heard of it. */
  untold: number
  /** Whether a success, of which the other processes have not heard, ended what was counted. */
  cleared: boolean
}

/** What a process has to tell the others, or wants to hear of them, by the name of the row. */
type ToTell = LruMap<string, { readonly table: FailureTable; readonly row: Row }>

/** The bound of each table: it keeps between one and two times this many rows. */
const rows = 50_000

export const toTell = (): ToTell => new LruMap(2 * rows)

/** Failures of one sort in memory, so that no attempt waits for a store to be counted. */
export class FailureTable {
  readonly #rule: Rule
  readonly #toTell: ToTell
  readonly #rows = new LruMap<string, Row>(2 * rows)

  constructor(rule: Rule, untold: ToTell) {
    this.#rule = rule
    this.#toTell = untold
  }

  /** How many count, those under way included. */
  count(workspace: WorkspaceId, of: string, now: Instant): number {
    const row = this.#rows.get(`${workspace} ${of}`)
    return row === undefined ? 0 : this.#rule.left(seen(row, now), now)
  }

  wait(workspace: WorkspaceId, of: string, now: Instant): Millis {
    const row = this.#rows.get(`${workspace} ${of}`)
    return row === undefined ? 0 : this.#rule.wait(seen(row, now), now)
  }

  /** An attempt counts from its start: parallel ones gain nothing. */
  begin(workspace: WorkspaceId, of: string, now: Instant): void {
    const row = this.#row(workspace, of, now)
    row.count = Math.min(this.#rule.most, this.#rule.left(seen(row, now), now) + 1)
    row.last = now
    row.underWay++
  }

  /** The attempt failed, which other processes are to hear. */
  fail(workspace: WorkspaceId, of: string, now: Instant): void {
    const row = this.#rows.get(`${workspace} ${of}`)
    // A success meanwhile ended those under way too.
    if (row === undefined || row.underWay === 0) return
    row.underWay--
    row.untold++
    if (this.#rule.left(row, now) >= this.#rule.worthTelling) this.#note(row)
  }

  /** The attempt does not count. */
  undo(workspace: WorkspaceId, of: string): void {
    const row = this.#rows.get(`${workspace} ${of}`)
    if (row === undefined) return
    row.count = Math.max(0, row.count - 1)
    row.underWay = Math.max(0, row.underWay - 1)
    this.#dropIdle(row)
  }

  /** Nothing that was counted counts any more, in other processes neither. */
  clear(workspace: WorkspaceId, of: string, now: Instant): void {
    const row = this.#row(workspace, of, now)
    row.count = 0
    row.underWay = 0
    row.untold = 0
    row.cleared = true
    this.#note(row)
  }

  /** A person waits here: if a success in another process ended that, this one is to hear of it. */
  ask(workspace: WorkspaceId, of: string): void {
    const row = this.#rows.get(`${workspace} ${of}`)
    if (row !== undefined) this.#note(row)
  }

  #row(workspace: WorkspaceId, of: string, now: Instant): Row {
    const key = `${workspace} ${of}`
    const known = this.#rows.get(key)
    if (known !== undefined) return known
    const made = { workspace, of, count: 0, last: now, seenAt: now, underWay: 0, untold: 0, cleared: false }
    this.#rows.set(key, made)
    return made
  }

  #note(row: Row): void {
    this.#toTell.set(`${this.#rule.name} ${row.workspace} ${row.of}`, { table: this, row })
  }

  #dropIdle(row: Row): void {
    const key = `${row.workspace} ${row.of}`
    const isIdle = row.count <= 0 && row.underWay === 0 && row.untold === 0 && !row.cleared
    if (isIdle && this.#rows.get(key) === row) this.#rows.delete(key)
  }

  tell(row: Row, records: Records<SharedFailures>, entropy: Entropy["Service"], now: Instant) {
    const { cleared, untold } = row
    const rule = this.#rule
    const here = rule.left(seen(row, now), now)
    const { last } = row
    // What no longer counts is told no more.
    const told = Math.min(untold, here)
    const besides = Math.max(0, here - untold - row.underWay)
    row.untold = 0
    row.cleared = false
    const id = `${rule.name}:${digestOf(row.of)}`
    return transactOrFail(records, entropy, row.workspace, id, (known) => {
      const heard =
        known === undefined ? undefined : { ...known, last: later(known.last, -toldBackBy(known.toldAt, now)) }
      const anew = cleared || heard === undefined
      // Where no process has told anything, what this process knows is what there is.
      const others = cleared ? 0 : heard === undefined ? besides : rule.left(heard, now)
      const next = {
        count: Math.min(rule.most, others + told),
        last: anew ? (told > 0 ? last : now) : rule.joined(heard, last, now)
      }
      if (told > 0 || (cleared && heard !== undefined && heard.count > 0)) {
        return answerAndKeep({ id, ...next, toldAt: now }, next)
      }
      return answer(anew ? undefined : { count: others, last: heard.last })
    }).pipe(
      Effect.flatMap((all) => {
        // A success meanwhile has ended it all.
        if (all !== undefined && !row.cleared) {
          row.count = Math.min(rule.most, all.count + row.underWay + row.untold)
          row.last = latest(row.last, later(all.last, -setBackBy(now, row.seenAt)))
        }
        this.#dropIdle(row)
        return Effect.void
      }),
      Effect.onError(() =>
        Effect.sync(() => {
          if (!row.cleared) {
            row.untold += untold
            row.cleared = cleared
          }
          // As the last one, so that a record that cannot be had keeps no other one waiting.
          this.#note(row)
        })
      )
    )
  }
}

/** The row as of now: a clock that was set back must not delay every wait until it has caught up. */
const seen = (row: Row, now: Instant): Row => {
  if (row.last > now) row.last = later(row.last, -setBackBy(row.seenAt, now))
  row.seenAt = now
  return row
}

/** Tells the other processes what failed here, and hears what failed there. */
export const shareFailures = (
  untold: ToTell,
  records: Records<SharedFailures>,
  entropy: Entropy["Service"]
): Effect.Effect<number, WriteFault> =>
  Effect.clockWith((clock) => {
    const now = instantOf(clock)
    return writeAll(
      [...untold],
      ([name, { row, table }]) =>
        Effect.suspend(() => {
          untold.delete(name)
          return table.tell(row, records, entropy, now)
        }),
      () => undefined
    )
  })
