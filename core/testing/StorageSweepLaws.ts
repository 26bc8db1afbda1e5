import { Effect } from "effect"
import { kinds, type NewRecord, type RecordKey, Storage, writtenKept } from "../ports/Storage.ts"
import { expectLeft, swapTogether } from "./StorageBatchLaws.ts"
import {
  expect,
  expectConflict,
  expectGone,
  expectListed,
  expectStored,
  freshKey,
  hesitating,
  holds,
  listOf,
  recordAt
} from "./StorageLaw.ts"
import { stoppedAt } from "./stoppedClock.ts"

/** Takes away what earlier tenants of the store left to expire by then, so that counts are exact. */
const sweptUntil = Effect.fnUntraced(function* (before: number) {
  const store = yield* Storage
  for (let rounds = 0; rounds < 10_000; rounds++) if ((yield* store.sweep(before, 1000)) === 0) return
  yield* expect(false, () => "ten thousand sweeps left something to sweep")
})

const sweeps = Effect.fnUntraced(function* (before: number, limit: number, wanted: number) {
  const store = yield* Storage
  const swept = yield* store.sweep(before, limit)
  yield* expect(swept === wanted, () => `a sweep until ${before}, at most ${limit}, answered ${swept}, not ${wanted}`)
})

const together = { concurrency: "unbounded", discard: true } as const

const the1970s = 86_400_000
const theYear2100 = 4_102_444_800_000

/** Expiry. These laws remove what expired by 1970; no other law keeps such records. */
export const sweepLaws = [
  holds("sweep removes what expired by then, and nothing else", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      yield* sweptUntil(2000)
      const key = freshKey(draw)
      const at = (id: string, expiresAt: number | null) => recordAt({ ...key, id }, { id }, { expiresAt })
      const [past, now, next, never] = [at("a", 999), at("b", 1000), at("c", 1001), at("d", null)]
      for (const record of [past, now, next, never]) yield* store.insert(record)
      yield* sweeps(998, 100, 0)
      yield* sweeps(1000, 100, 2)
      yield* sweeps(1000, 100, 0)
      for (const record of [past, now]) {
        yield* expectGone(record)
        yield* expectConflict(store.replace(1, record), "a replace of a swept record")
      }
      for (const record of [next, never]) yield* expectStored(record, 1)
      yield* expectListed(listOf(never), ["c", "d"])
      yield* store.insert(past)
      yield* expectStored(past, 1)
      yield* sweeps(2000, 100, 2)
    })
  ),

  holds("sweep keeps to its limit and goes on where it stopped", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      yield* sweptUntil(2000)
      const key = freshKey(draw)
      const several = ["grant", "grant", "grant", "grant", "session", "once", "limit"] as const
      const records = several.map((kind, n) =>
        recordAt({ ...key, kind, id: `id-${n}` }, { n }, { expiresAt: 1000 + draw.below(1000) })
      )
      for (const record of records) yield* store.insert(record)
      yield* sweeps(2000, 3, 3)
      yield* sweeps(2000, 3, 3)
      yield* sweeps(2000, 3, 1)
      yield* sweeps(2000, 3, 0)
      for (const record of records) yield* expectListed(listOf(record), [])
    })
  ),

  holds("sweep reaches all workspaces, kinds and owners", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      yield* sweptUntil(2000)
      const records = kinds.flatMap((kind) =>
        ["a", "b"].map((owner) => recordAt(freshKey(draw, kind), { kind }, { owner, expiresAt: 1500 }))
      )
      for (const record of records) yield* store.insert(record)
      yield* sweeps(2000, 100, records.length)
      for (const record of records) yield* expectGone(record)
    })
  ),

  holds("sweep goes by the expiry of the last write that was taken", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      yield* sweptUntil(2000)
      const made = (expiresAt: number | null) => recordAt(freshKey(draw), { expiresAt }, { expiresAt })
      const [later, never, sooner, refused] = [made(1000), made(1000), made(null), made(null)]
      for (const record of [later, never, sooner, refused]) yield* store.insert(record)
      yield* store.replace(1, { ...later, expiresAt: 1500 })
      yield* store.replace(1, { ...never, expiresAt: null })
      yield* store.replace(1, { ...sooner, expiresAt: 900 })
      yield* expectConflict(store.replace(7, { ...refused, expiresAt: 900 }), "a replace at a wrong version")
      yield* expectConflict(store.insert({ ...refused, expiresAt: 900 }), "an insert over a record")
      yield* sweeps(1000, 100, 1)
      yield* expectGone(sooner)
      yield* expectStored({ ...later, expiresAt: 1500 }, 2)
      yield* expectStored({ ...never, expiresAt: null }, 2)
      yield* expectStored(refused, 1)
      yield* sweeps(2000, 100, 1)
      yield* expectGone(later)
    })
  ),

  holds("sweep goes by the expiry of the swap that was taken, of many that met", (draw) =>
    Effect.gen(function* () {
      yield* sweptUntil(2000)
      const { left, lists } = yield* swapTogether(draw, 60, () => draw.oneOf([null, 900, 1000, 1001, 2000]))
      const leftAt = (now: number) => left.filter(({ record }) => record.expiresAt === null || record.expiresAt > now)
      yield* sweeps(1000, 1000, left.length - leftAt(1000).length)
      yield* expectLeft(leftAt(1000), lists)
      yield* sweeps(2000, 1000, leftAt(1000).length - leftAt(2000).length)
      yield* expectLeft(leftAt(2000), lists)
    })
  ),

  holds("a swap to a later expiry that was taken saves the record from a sweep that it meets", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      yield* sweptUntil(2000)
      for (let rounds = 0; rounds < 10; rounds++) {
        const key = freshKey(draw)
        const records = Array.from({ length: 20 }, (_, n) =>
          recordAt({ ...key, id: `id-${n}` }, { n }, { expiresAt: 1000 })
        )
        yield* Effect.forEach(records, (record) => store.insert(record), together)
        const next = (record: NewRecord) => ({ ...record, expiresAt: theYear2100 })
        const saved = new Set<NewRecord>()
        let swept = 0
        const saving = (record: NewRecord) =>
          hesitating(draw, () => store.replace(1, next(record))).pipe(
            Effect.andThen(Effect.sync(() => void saved.add(record))),
            Effect.catchTag("Conflict", () => Effect.void)
          )
        const sweeping = Effect.map(
          hesitating(draw, () => store.sweep(2000, 1000)),
          (count) => {
            swept = count
          }
        )
        yield* Effect.all([sweeping, ...records.map(saving)], together)
        yield* Effect.forEach(
          records,
          (record) => (saved.has(record) ? expectStored(next(record), 2) : expectGone(record)),
          together
        )
        const gone = records.length - saved.size
        yield* expect(swept === gone, () => `a sweep that removed ${gone} answered ${swept}`)
      }
    })
  ),

  holds("a record that was removed and made anew without an expiry is not swept for the old one's", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      yield* sweptUntil(2000)
      const record = recordAt(freshKey(draw), { n: 1 }, { expiresAt: 1000 })
      yield* store.insert(record)
      yield* store.remove(record)
      yield* store.insert({ ...record, expiresAt: null })
      yield* sweeps(2000, 100, 0)
      yield* expectStored({ ...record, expiresAt: null }, 1)
    })
  ),

  holds("a store that tells what was written tells of all that was replaced, removed or swept", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      for (const kind of kinds) {
        const written = store.written?.(kind)
        if (written === undefined) return
        const tells = Effect.fnUntraced(function* <E>(
          key: RecordKey,
          what: string,
          write: () => Effect.Effect<unknown, E, Storage>
        ) {
          const before = written.count
          yield* write()
          const told = written.count > before ? written.last.slice(before - written.count) : []
          const isTold = told.some(({ id, workspace }) => id === key.id && workspace === key.workspace)
          yield* expect(isTold, () => `it told nothing of a ${kind} that was ${what}`)
          const kept = written.last.length
          yield* expect(
            kept >= Math.min(written.count, writtenKept),
            () => `it told the last ${kept} of ${written.count}, and has to keep ${writtenKept}`
          )
        })
        const record = recordAt(freshKey(draw, kind))
        yield* store.insert(record)
        for (let version = 1; version < writtenKept + 9; version++) {
          yield* tells(record, "replaced", () => store.replace(version, record))
        }
        yield* tells(record, "removed", () => store.remove(record))
        const { insertAndReplace } = store
        if (insertAndReplace !== undefined) {
          yield* store.insert(record)
          const added = recordAt(freshKey(draw, "once"), {}, { expiresAt: theYear2100 })
          yield* tells(record, "replaced with an insert", () => Effect.orDie(insertAndReplace([added], 1, record)))
          yield* store.remove(record)
        }
        yield* store.insert({ ...record, expiresAt: 1 })
        yield* tells(record, "swept", () => sweptUntil(1))
      }
    })
  ),

  holds("no verb looks at a clock: what expired is given back, swapped and listed until a sweep", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      for (const now of [0, theYear2100 + the1970s]) {
        for (const expiresAt of [the1970s, theYear2100]) {
          const record = recordAt(freshKey(draw), { now }, { expiresAt })
          yield* Effect.gen(function* () {
            yield* store.insert(record)
            yield* expectStored(record, 1)
            yield* expectConflict(store.insert(record), "an insert over an expired record")
            yield* store.replace(1, record)
            yield* expectStored(record, 2)
            yield* expectListed(listOf(record), [record.id])
            // By the caller's word it is not yet time, whatever a clock says.
            yield* store.sweep(the1970s - 1, 1000)
            yield* expectStored(record, 2)
          }).pipe(stoppedAt(now))
        }
      }
      yield* sweptUntil(the1970s)
    })
  )
]
