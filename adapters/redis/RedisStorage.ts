import { Clock, Effect, Option } from "effect"
import {
  Conflict,
  type Kind,
  type NewRecord,
  type RecordKey,
  type Storage,
  type StorageUnavailable
} from "../../core/ports/Storage.ts"
import { LatelyRead, type Read, readOf } from "../LatelyRead.ts"
import { fetchRecords, notDone, type Wanted } from "./fetchRecord.ts"
import { listOwned, strike } from "./listOwned.ts"
import { lineOf } from "./OwnerEntry.ts"
import { ownerKey, pathOf, placeOf } from "./Place.ts"
import { type Replacement, replaceRecords } from "./replaceRecords.ts"
import { dueText, firstValue, parseHead, type StoredValue } from "./StoredValue.ts"
import { insertScript, removeScript } from "./scripts.ts"
import { sweepShards } from "./sweepShards.ts"
import { type Gathering, together } from "./together.ts"
import type { Wire } from "./Wire.ts"

export interface Keeping {
  /** What all keys begin with. */
  readonly prefix: string
  /** How long past its expiry Redis keeps a record that no sweep has removed. */
  readonly backstopMillis: number
  /** An insert that has not come this long after it announced itself never will. */
  readonly staleAfterMillis: number
  /** A new name for the line in an owner's list that stands for a record born now. */
  readonly entryAt: (now: number) => string
}

export const makeStorage = Effect.fnUntraced(function* (wire: Wire, keeping: Keeping, gathering: Gathering) {
  const { prefix } = keeping
  // Requests read grants over and over.
  const lately: Readonly<Partial<Record<Kind, LatelyRead<Read>>>> = { grant: new LatelyRead(readOf) }

  /** In ms from now, by the port's clock and not by the server's; "0" for no end. */
  const lifetime = (expiresAt: number | null, now: number): string => {
    if (expiresAt === null) return "0"
    const millis = Math.ceil(Math.max(0, expiresAt - now) + keeping.backstopMillis)
    return millis < longestLifetime ? `${millis}` : "0"
  }

  const recordIn = Option.map(({ record }: StoredValue) => record)

  const insert = Effect.fnUntraced(function* (
    record: NewRecord
  ): Effect.fn.Return<void, Conflict | StorageUnavailable> {
    const deadline = wire.deadline()
    const now = yield* Clock.currentTimeMillis
    const { path, record: key, shard } = placeOf(prefix, pathOf(record))
    const entry = keeping.entryAt(now)
    const list = ownerKey(prefix, record)
    const line = lineOf(record.id, entry)

    // The list is in another hash slot, so it cannot change in one step with the record. It goes first: a line without
    // a record is struck when somebody meets it, but a record without a line would never be found again.
    yield* Effect.mapError(wire.ask("zadd", [list, 0, line], deadline), notDone)
    const done = yield* wire.run(
      insertScript,
      [key, shard],
      [path, firstValue(record, entry), dueText(record.expiresAt), lifetime(record.expiresAt, now)],
      deadline
    )
    if (done === 1) return
    yield* strike(wire, list, [line], deadline)
    return yield* new Conflict()
  })

  const gets = yield* together(wire, gathering, {
    send: (wanted: ReadonlyArray<Wanted>, deadline) => fetchRecords(wire, wanted, deadline),
    identity: ({ record }) => record,
    sameIdentity: "share"
  })

  const replaces = yield* together(wire, gathering, {
    send: (replacements: ReadonlyArray<Replacement>, deadline) => replaceRecords(wire, prefix, replacements, deadline),
    identity: ({ record }) => record.id,
    // The server keeps to their order, so it does not matter which have one identity.
    sameIdentity: "together"
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
    get: (key) =>
      Effect.map(gets({ key, record: placeOf(prefix, pathOf(key)).record, lately: lately[key.kind] }), recordIn),
    insert,
    replace,
    remove,
    list: (listing) => listOwned(wire, keeping, listing),
    sweep: (before, limit) => sweepShards(wire, prefix, before, limit)
  } satisfies Storage["Service"]
})

// Redis adds it to its own clock and refuses what does not fit 63 bits; nobody waits for three thousand years.
const longestLifetime = 1e14
