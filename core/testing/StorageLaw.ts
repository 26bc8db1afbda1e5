import { Effect, Option, Schema } from "effect"
import {
  type Conflict,
  type Json,
  type Kind,
  type Listing,
  type NewRecord,
  type RecordKey,
  Storage,
  type StorageUnavailable,
  type StoredRecord
} from "../ports/Storage.ts"
import { type Draw, drawFrom } from "./Draw.ts"
import { sameJson } from "./sameJson.ts"

/** What a store did against the contract of the port. `message` names the law, and the seed that shows it again. */
export class LawBroken extends Schema.TaggedError<LawBroken>()("LawBroken", {
  message: Schema.String,
  /** What the store failed with, or threw. */
  cause: Schema.optionalKey(Schema.Defect())
}) {}

type Broken = LawBroken | Conflict | StorageUnavailable

/** One promise of the storage port. The law fails if the store breaks it; it never depends on what else the store holds. */
export interface Law<Needs = Storage> {
  readonly name: string
  readonly law: Effect.Effect<void, LawBroken, Needs>
}

/** A law that still wants its randomness. */
export interface DrawnLaw<Needs = Storage> {
  readonly name: string
  readonly body: (draw: Draw) => Effect.Effect<void, Broken, Needs>
}

export const holds = <Needs>(name: string, body: DrawnLaw<Needs>["body"]): DrawnLaw<Needs> => ({ name, body })

/** Each run of a law draws anew, so a second run on the same store finds none of the first one's records. */
export const withSeed =
  (seed: number) =>
  <Needs>({ name, body }: DrawnLaw<Needs>): Law<Needs> => {
    let runs = 0
    const broken = (what: string, cause?: unknown) =>
      new LawBroken({ message: `${name}: ${what} (seed ${seed})`, ...(cause === undefined ? {} : { cause }) })
    const law = Effect.suspend(() => body(drawFrom(`${seed}/${name}/${runs++}`))).pipe(
      Effect.mapError((error) =>
        error._tag === "LawBroken"
          ? broken(error.message)
          : broken(error._tag === "Conflict" ? "an unexpected Conflict" : `no answer: ${error.message}`, error)
      ),
      Effect.catchDefect((defect) => Effect.fail(broken(String(defect), defect)))
    )
    return { name, law }
  }

export const expect = (kept: boolean, broken: () => string): Effect.Effect<void, LawBroken> =>
  kept ? Effect.void : Effect.fail(new LawBroken({ message: broken() }))

export const range = (count: number) => Array.from({ length: count }, (_, index) => index)

/** All at once, for what they do. */
export const together = { concurrency: "unbounded", discard: true } as const

/** Calls after others went first, or not: so that what meets does so in every order. */
export const hesitating = <A, E, R>(draw: Draw, call: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
  const pauses = Array.from({ length: draw.below(5) }, () => Effect.yieldNow)
  return Effect.andThen(Effect.all(pauses, { discard: true }), Effect.suspend(call))
}

/** A key in a workspace where no other law writes. */
export const freshKey = (draw: Draw, kind: Kind = "grant"): RecordKey => ({
  workspace: draw.workspace(),
  kind,
  id: draw.text(22)
})

export const recordAt = (
  key: RecordKey,
  body: Json = { made: true },
  more: { readonly owner?: string; readonly expiresAt?: number | null } = {}
): NewRecord => ({ ...key, owner: more.owner ?? "owner", expiresAt: more.expiresAt ?? null, body })

export const sameRecord = (found: StoredRecord, wanted: NewRecord, version: number): boolean =>
  found.workspace === wanted.workspace &&
  found.kind === wanted.kind &&
  found.id === wanted.id &&
  found.owner === wanted.owner &&
  found.expiresAt === wanted.expiresAt &&
  found.version === version &&
  sameJson(found.body, wanted.body)

const shown = (value: unknown): string => (JSON.stringify(value) ?? "undefined").slice(0, 300)

/** Fails unless `get` gives exactly this back. */
export const expectStored = Effect.fnUntraced(function* (wanted: NewRecord, version: number) {
  const store = yield* Storage
  const found = Option.getOrUndefined(yield* store.get(wanted))
  yield* expect(
    found !== undefined && sameRecord(found, wanted, version),
    () => `get gave ${shown(found)} where ${shown({ ...wanted, version })} was expected`
  )
})

export const expectGone = Effect.fnUntraced(function* (key: RecordKey) {
  const store = yield* Storage
  const found = Option.getOrUndefined(yield* store.get(key))
  yield* expect(found === undefined, () => `get gave ${shown(found)} where nothing was expected`)
})

/** Fails unless the write is refused with Conflict. */
export const expectConflict = (
  write: Effect.Effect<void, Broken>,
  what: string
): Effect.Effect<void, LawBroken | StorageUnavailable> =>
  Effect.matchEffect(write, {
    onSuccess: () => Effect.fail(new LawBroken({ message: `${what} was taken` })),
    onFailure: (error) => (error._tag === "Conflict" ? Effect.void : Effect.fail(error))
  })

/** Every page of an owner's list, one after the other. */
export const allPages = Effect.fnUntraced(function* (listing: Omit<Listing, "after">) {
  const store = yield* Storage
  const records: Array<StoredRecord> = []
  let after: string | undefined
  do {
    const page = yield* store.list({ ...listing, after })
    yield* expect(
      page.records.length <= listing.limit,
      () => `a page of ${page.records.length} at limit ${listing.limit}`
    )
    const end = page.next
    yield* expect(
      end === undefined || after === undefined || end > after,
      () => `paging went back from ${shown(after)}`
    )
    records.push(...page.records)
    after = end
  } while (after !== undefined)
  return records
})

export const expectListed = Effect.fnUntraced(function* (listing: Omit<Listing, "after">, ids: ReadonlyArray<string>) {
  const found = (yield* allPages(listing)).map(({ id }) => id)
  yield* expect(
    found.length === ids.length && found.every((id, index) => id === ids[index]),
    () => `the list of ${shown(listing.owner)} was ${shown(found)} where ${shown(ids)} was expected`
  )
})

export const listOf = ({ workspace, kind, owner }: NewRecord): Omit<Listing, "after"> => ({
  workspace,
  kind,
  owner,
  limit: 100
})
