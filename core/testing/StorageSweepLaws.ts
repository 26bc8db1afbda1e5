import { Effect } from "effect"
import { Storage } from "../ports/Storage.ts"
import { expectLeft, swapTogether } from "./StorageBatchLaws.ts"
import {
  expect,
  expectConflict,
  expectGone,
  expectListed,
  expectStored,
  freshKey,
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
      for (let n = 0; n < 7; n++) {
        yield* store.insert(recordAt({ ...key, id: `id-${n}` }, { n }, { expiresAt: 1000 + draw.below(1000) }))
      }
      yield* sweeps(2000, 3, 3)
      yield* sweeps(2000, 3, 3)
      yield* sweeps(2000, 3, 1)
      yield* sweeps(2000, 3, 0)
      yield* expectListed(listOf(recordAt(key)), [])
    })
  ),

  holds("sweep reaches all workspaces, kinds and owners", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      yield* sweptUntil(2000)
      const records = (["grant", "session", "login"] as const).flatMap((kind) =>
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
