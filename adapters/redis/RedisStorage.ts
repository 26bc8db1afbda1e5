import { Clock, Effect, Exit, Option } from "effect"
import {
  Conflict,
  type Kind,
  type NewRecord,
  type RecordKey,
  type Storage,
  StorageUnavailable,
  Taken
} from "../../core/ports/Storage.ts"
import { type Coalescing, coalesce } from "../batching/coalesce.ts"
import { ParseCache } from "../records/ParseCache.ts"
import { lineOf, ownerKey, pathOf, placeOf } from "./RecordPlace.ts"
import { fetchRecords, listOwned, notDone, onceSettled, strike, type Wanted } from "./reads.ts"
import { dueText, expiryText, firstValue, jsonOf, parseHead, type StoredValue } from "./StoredValue.ts"
import { insertAndReplaceScript, insertScript, removeScript, replaceScript } from "./scripts.ts"
import { sweepShards } from "./sweepShards.ts"
import type { Deadline, Wire } from "./Wire.ts"

/** A verb of the port that sends several items as one command. */
interface Several<Item, A, E> extends Pick<Coalescing<Item, A, E>, "same"> {
  readonly send: (
    items: ReadonlyArray<Item>,
    deadline: Deadline
  ) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E | StorageUnavailable>>, StorageUnavailable>
}

interface Gathering {
  /** Whether a command may name several records. */
  readonly several: boolean
  readonly deadlineMillis: number
  readonly maximumWaiting: number
}

/** Larger batches save little, and a script blocks its server. */
const batchSize = 64
const batchesUnderWay = 1

/** Batches calls that meet into one command, or sends each alone. */
export const batched = <Item, A, E>(
  wire: Pick<Wire, "deadline" | "tooBusy">,
  { deadlineMillis, maximumWaiting, several }: Gathering,
  { same, send }: Several<Item, A, E>
): Effect.Effect<(item: Item) => Effect.Effect<A, E | StorageUnavailable>> =>
  several
    ? coalesce<Item, A, E | StorageUnavailable>({
        run: (items, left) => send(items, performance.now() + left),
        ...(same === undefined ? {} : { same }),
        size: batchSize,
        underWay: batchesUnderWay,
        within: deadlineMillis,
        mostWaiting: maximumWaiting,
        late: wire.tooBusy
      })
    : Effect.succeed((item: Item) =>
        Effect.flatMap(
          Effect.suspend(() => send([item], wire.deadline())),
          ([answer]) => answer ?? unanswered
        )
      )

const unanswered = Exit.die(new Error("a call was left without an answer"))

interface Replacement {
  readonly expected: number
  readonly record: NewRecord
  /** Milliseconds, as text for the script. */
  readonly lifetime: string
}

type Replaced = Exit.Exit<void, Conflict | StorageUnavailable>

const replacing = ({ expected, lifetime, record }: Replacement): ReadonlyArray<string> => [
  `${expected}`,
  expiryText(record.expiresAt),
  lifetime,
  JSON.stringify(record.body)
]

/**
 * Compares and sets each item, in order, in one script; on a cluster all must be of one shard. Serializing here, in
 * one loop, costs less than in each call.
 */
export const replaceRecords = (
  wire: Pick<Wire, "run">,
  prefix: string,
  replacements: ReadonlyArray<Replacement>,
  deadline: Deadline
): Effect.Effect<ReadonlyArray<Replaced>, StorageUnavailable> => {
  const keys: Array<string> = []
  const args: Array<string> = []
  for (const replacement of replacements) {
    const place = placeOf(prefix, pathOf(replacement.record))
    keys.push(place.record, place.shard)
    args.push(...replacing(replacement))
  }
  return Effect.map(wire.run(replaceScript, keys, args, deadline), (answer) =>
    replacements.map((_, at) => (typeof answer === "string" ? meaningOf(answer[at]) : unreadable))
  )
}

const meaningOf = (letter: string | undefined): Replaced => {
  switch (letter) {
    case "1":
      return Exit.void
    case "0":
      return conflict
    case "E":
      return inTheWay
    default:
      return unreadable
  }
}

const conflict = Exit.fail(new Conflict())
const inTheWay = Exit.fail(
  new StorageUnavailable({
    outcome: "not_done",
    message: "Redis holds something else where a record or an index belongs"
  })
)
const unreadable = Exit.fail(
  new StorageUnavailable({ outcome: "unknown", message: "Redis gave an answer to a script that is not the script's" })
)

interface Keeping {
  /** Prefix of all keys. */
  readonly prefix: string
  /** Redis' own expiry, this long after the record's. */
  readonly backstopMillis: number
  /** An insert takes less than this; an older line without a record is stale. */
  readonly staleAfterMillis: number
  /** A new entry for a record's line in its owner's list. */
  readonly entryAt: (now: number) => string
}

export const makeStorage = Effect.fnUntraced(function* (wire: Wire, keeping: Keeping, gathering: Gathering) {
  const { prefix } = keeping
  // Requests read grants most.
  const caches: Readonly<Partial<Record<Kind, ParseCache>>> = { grant: new ParseCache(jsonOf) }

  /** Milliseconds from now on the port's clock, not Redis'; "0" for no expiry. */
  const lifetime = (expiresAt: number | null, now: number): string => {
    if (expiresAt === null) return "0"
    const millis = Math.ceil(Math.max(0, expiresAt - now) + keeping.backstopMillis)
    return millis < longestLifetime ? `${millis}` : "0"
  }

  const recordIn = Option.map(({ record }: StoredValue) => record)

  /** What the scripts take to insert it: its keys, its owner's list, and arguments, the last of them its line there. */
  const insertion = (record: NewRecord, now: number) => {
    const { path, record: key, shard } = placeOf(prefix, pathOf(record))
    const entry = keeping.entryAt(now)
    const value = firstValue(record, entry)
    const args = [path, value, dueText(record.expiresAt), lifetime(record.expiresAt, now)]
    return { keys: [key, shard], list: ownerKey(prefix, record), args, line: lineOf(record.id, entry) }
  }

  const insert = Effect.fnUntraced(function* (
    record: NewRecord
  ): Effect.fn.Return<void, Conflict | StorageUnavailable> {
    const deadline = wire.deadline()
    const { args, keys, line, list } = insertion(record, yield* Clock.currentTimeMillis)
    if (gathering.several) {
      const done = yield* wire.run(insertScript, [...keys, list], [...args, line], deadline)
      return done === 1 ? undefined : yield* new Conflict()
    }
    // The list is in another hash slot, so it cannot change together with the record. Write the line first: a stale
    // line is struck later, but a record without a line would never be listed.
    yield* Effect.mapError(wire.ask("zadd", [list, 0, line], deadline), notDone)
    const done = yield* wire.run(insertScript, keys, args, deadline)
    if (done === 1) return
    yield* strike(wire, list, [line], deadline)
    return yield* new Conflict()
  })

  const insertAndReplace = Effect.fnUntraced(function* (
    added: ReadonlyArray<NewRecord>,
    expected: number,
    record: NewRecord
  ): Effect.fn.Return<void, Taken | Conflict | StorageUnavailable> {
    const now = yield* Clock.currentTimeMillis
    const insertions = added.map((one) => insertion(one, now))
    const place = placeOf(prefix, pathOf(record))
    const keys = [
      ...insertions.flatMap(({ keys }) => keys),
      place.record,
      place.shard,
      ...insertions.map(({ list }) => list)
    ]
    const args = [
      ...insertions.flatMap(({ args, line }) => [...args, line]),
      ...replacing({ expected, record, lifetime: lifetime(record.expiresAt, now) })
    ]
    const answer = yield* wire.run(insertAndReplaceScript, keys, args, wire.deadline())
    if (typeof answer !== "string") return yield* unreadable
    const taken = added[answer.indexOf("0")]
    if (taken !== undefined) return yield* new Taken({ id: taken.id })
    return yield* meaningOf(answer[added.length])
  })

  const gets = yield* batched(wire, gathering, {
    send: (wanted: ReadonlyArray<Wanted>, deadline) => fetchRecords(wire, wanted, deadline),
    same: { identity: ({ record }) => record, second: "share" }
  })

  const replaces = yield* batched(wire, gathering, {
    send: (replacements: ReadonlyArray<Replacement>, deadline) => replaceRecords(wire, prefix, replacements, deadline)
  })
  const replace = (expected: number, record: NewRecord): Effect.Effect<void, Conflict | StorageUnavailable> =>
    Effect.clockWith((clock) =>
      replaces({ expected, record, lifetime: lifetime(record.expiresAt, clock.currentTimeMillisUnsafe()) })
    )

  const remove = Effect.fnUntraced(function* (key: RecordKey): Effect.fn.Return<void, StorageUnavailable> {
    const deadline = wire.deadline()
    const { path, record, shard } = placeOf(prefix, pathOf(key))
    const line = yield* wire.run(removeScript, [record, shard], [path], deadline)
    if (typeof line !== "string") return
    const head = yield* Effect.fromResult(parseHead(line))
    yield* strike(wire, ownerKey(prefix, { ...key, owner: head.owner }), [lineOf(key.id, head.entry)], deadline)
  })

  return {
    get: (key) => {
      const { record } = placeOf(prefix, pathOf(key))
      return onceSettled(wire, record, Effect.map(gets({ key, record, cache: caches[key.kind] }), recordIn))
    },
    insert,
    replace,
    ...(gathering.several ? { insertAndReplace } : {}),
    remove,
    list: (listing) => listOwned(wire, keeping, listing),
    sweep: (before, limit) => sweepShards(wire, prefix, before, limit)
  } satisfies Storage["Service"]
})

// Redis adds it to its clock and refuses a sum beyond 63 bits. This is three thousand years.
const longestLifetime = 1e14
