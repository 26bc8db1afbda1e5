import { createHash } from "node:crypto"
import { Effect, Option, Schedule, Schema } from "effect"
import {
  Conflict,
  type Json,
  type Kind,
  kinds,
  type Storage,
  type StorageScan,
  StorageUnavailable,
  type StoredRecord
} from "../../core/ports/Storage.ts"
import { sameDigest } from "../../core/rules/Secret.ts"

/** Every step is idempotent, so it is retried when a store is away. */
const again = {
  while: (error: unknown) => Schema.is(StorageUnavailable)(error),
  schedule: Schedule.jittered(Schedule.exponential("100 millis")).pipe(Schedule.upTo({ times: 8 }))
}

const pageSize = 500

const everyRecord = <E>(
  scan: StorageScan["Service"]["scan"],
  kind: Kind,
  look: (records: ReadonlyArray<StoredRecord>) => Effect.Effect<void, E>
): Effect.Effect<void, E | StorageUnavailable> =>
  Effect.gen(function* () {
    let after: string | undefined
    do {
      const from = after
      const page = yield* Effect.suspend(() => scan(kind, from, pageSize)).pipe(Effect.retry(again))
      yield* look(page.records)
      after = page.next
    } while (after !== undefined)
  })

const isList = (value: Json): value is ReadonlyArray<Json> => Array.isArray(value)

/** Sorted keys: stores keep an object's members in different orders. */
const canonical = (value: Json): string => {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if (isList(value)) return `[${value.map(canonical).join(",")}]`
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(",")}}`
}

/** A record without its version, which each store counts for itself. */
const textOf = ({ workspace, kind, id, owner, expiresAt, body }: StoredRecord): string =>
  canonical([workspace, kind, id, owner, expiresAt, body])

export const sameContent = (a: StoredRecord, b: StoredRecord): boolean => textOf(a) === textOf(b)

/** A count, and a digest that does not depend on the records' order. */
interface Tally {
  readonly count: number
  readonly digest: string
}

const digestBits = 256

/** Adds up the SHA-256 of every record, because each store has its own order. */
export class Tallying {
  #count = 0
  #sum = 0n

  add(record: StoredRecord): void {
    this.#count += 1
    const digest = createHash("sha256").update(textOf(record)).digest("hex")
    this.#sum = BigInt.asUintN(digestBits, this.#sum + BigInt(`0x${digest}`))
  }

  get tally(): Tally {
    return { count: this.#count, digest: this.#sum.toString(16).padStart(digestBits / 4, "0") }
  }
}

/** One of the two stores of a copy. */
export interface Side {
  readonly storage: Storage["Service"]
  readonly scan: StorageScan["Service"]["scan"]
}

/** Records of the target that the source lacks or has otherwise. Counts only: an id is half of a token. */
interface Difference {
  readonly kind: Kind
  readonly changed: number
  readonly unknown: number
}

/** The target holds other records, and `overwrite` is not set. Nothing was written. */
class TargetDiffers extends Schema.TaggedError<TargetDiffers>()("TargetDiffers", {
  differences: Schema.Array(
    Schema.Struct({ kind: Schema.Literals(kinds), changed: Schema.Number, unknown: Schema.Number })
  )
}) {
  override get message(): string {
    const told = this.differences.map(
      ({ changed, kind, unknown }) => `of ${kind} ${changed} that are different and ${unknown} that the source lacks`
    )
    return `The target holds other records already: ${told.join("; ")}. Nothing was written.`
  }
}

/** It is another store than was meant: a target that became like it would be empty. Nothing was written. */
class SourceEmpty extends Schema.TaggedError<SourceEmpty>()("SourceEmpty", {}) {
  override get message(): string {
    return "The source holds no records."
  }
}

/** The stores differ after the copy: a server wrote to one of them meanwhile, or a store is faulty. */
class CopyDiffers extends Schema.TaggedError<CopyDiffers>()("CopyDiffers", {
  kinds: Schema.Array(Schema.Literals(kinds))
}) {
  override get message(): string {
    return `Source and target are not the same in: ${this.kinds.join(", ")}. Is a server still writing to one of them?`
  }
}

export interface Progress {
  readonly kind: Kind
  /** Records of this kind that were read … */
  readonly seen: number
  /** … and that were written. */
  readonly written: number
}

interface CopyOptions {
  /** Replaces what differs, and removes what the source lacks. */
  readonly overwrite: boolean
  readonly onProgress: (progress: Progress) => Effect.Effect<void>
}

export interface Copied {
  readonly kind: Kind
  readonly written: number
  readonly tally: Tally
}

const bounded = { concurrency: 64 } as const

/** Writes a missing record and answers whether it had to. A write whose answer was lost is found on the retry. */
const bring = (to: Side, record: StoredRecord, overwrite: boolean) =>
  Effect.gen(function* () {
    const inserted = yield* Effect.result(to.storage.insert(record))
    if (inserted._tag === "Success") return true
    if (inserted.failure._tag === "StorageUnavailable") return yield* inserted.failure
    const found = yield* to.storage.get(record)
    if (Option.isSome(found) && sameContent(found.value, record)) return false
    if (Option.isNone(found) || !overwrite) return yield* new CopyDiffers({ kinds: [record.kind] })
    // `replace` keeps the owner, so a record with another owner is removed first.
    if (found.value.owner === record.owner) yield* to.storage.replace(found.value.version, record)
    else {
      yield* to.storage.remove(record)
      yield* to.storage.insert(record)
    }
    return true
  }).pipe(
    Effect.catchIf(Schema.is(Conflict), () => Effect.fail(new CopyDiffers({ kinds: [record.kind] }))),
    Effect.retry(again)
  )

const isEmpty = ({ scan }: Side) =>
  Effect.gen(function* () {
    for (const kind of kinds) {
      const page = yield* Effect.suspend(() => scan(kind, undefined, 1)).pipe(Effect.retry(again))
      if (page.records.length > 0) return false
    }
    return true
  })

/** Counts what differs; `extra` are the records that the source lacks. */
const compare = (
  from: Side,
  to: Side,
  kind: Kind,
  onExtra: (record: StoredRecord) => Effect.Effect<void, StorageUnavailable>
) =>
  Effect.gen(function* () {
    let changed = 0
    let unknown = 0
    const look = Effect.fnUntraced(function* (record: StoredRecord) {
      // Suspended, so that each retry asks the store again.
      const found = yield* Effect.suspend(() => from.storage.get(record)).pipe(Effect.retry(again))
      if (Option.isNone(found)) {
        unknown += 1
        yield* onExtra(record).pipe(Effect.retry(again))
      } else if (!sameContent(found.value, record)) changed += 1
    })
    yield* everyRecord(to.scan, kind, (records) => Effect.forEach(records, look, { ...bounded, discard: true }))
    return { kind, changed, unknown }
  })

const transfer = (from: Side, to: Side, kind: Kind, { onProgress, overwrite }: CopyOptions) =>
  Effect.gen(function* () {
    let seen = 0
    let written = 0
    yield* everyRecord(from.scan, kind, (records) =>
      Effect.gen(function* () {
        const news = yield* Effect.forEach(records, (record) => bring(to, record, overwrite), bounded)
        seen += records.length
        written += news.filter(Boolean).length
        if (records.length > 0) yield* onProgress({ kind, seen, written })
      })
    )
    return written
  })

const tallyOf = (side: Side, kind: Kind) =>
  Effect.gen(function* () {
    const tallying = new Tallying()
    yield* everyRecord(side.scan, kind, (records) =>
      Effect.sync(() => {
        for (const record of records) tallying.add(record)
      })
    )
    return tallying.tally
  })

/**
 * Makes the target equal to the source, and proves it by counts and digests. Equal records are left alone, so a copy
 * that was killed can run again. Versions begin at 1 in the target, because they only tell apart states of a record
 * in one store.
 */
export const copy = Effect.fnUntraced(function* (from: Side, to: Side, options: CopyOptions) {
  // Before anything is compared: the comparison removes, where it may.
  if (yield* isEmpty(from)) return yield* new SourceEmpty()
  const differences: Array<Difference> = []
  for (const kind of kinds) {
    const onExtra = (record: StoredRecord) => (options.overwrite ? to.storage.remove(record) : Effect.void)
    const difference = yield* compare(from, to, kind, onExtra)
    if (difference.changed + difference.unknown > 0) differences.push(difference)
  }
  if (differences.length > 0 && !options.overwrite) return yield* new TargetDiffers({ differences })

  const copied: Array<Copied> = []
  const wrong: Array<Kind> = []
  for (const kind of kinds) {
    const written = yield* transfer(from, to, kind, options)
    const tally = yield* tallyOf(from, kind)
    const reached = yield* tallyOf(to, kind)
    if (tally.count !== reached.count || !sameDigest(tally.digest, reached.digest)) wrong.push(kind)
    copied.push({ kind, written, tally })
  }
  if (wrong.length > 0) return yield* new CopyDiffers({ kinds: wrong })
  return copied
})
