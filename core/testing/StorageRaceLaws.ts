import { Effect, Option, Result } from "effect"
import { makeOpenings, moveWorkspace, neverMoves } from "../engine/Openings.ts"
import { Conflict, Storage, type StorageUnavailable } from "../ports/Storage.ts"
import { Issuer, WorkspaceId } from "../workspace/Workspace.ts"
import type { Draw } from "./Draw.ts"
import {
  expect,
  expectConflict,
  expectGone,
  expectListed,
  expectStored,
  freshKey,
  hesitating,
  holds,
  type LawBroken,
  listOf,
  range,
  recordAt,
  together
} from "./StorageLaw.ts"

const atOnce = { concurrency: "unbounded" } as const

const takenOrNot = (write: Effect.Effect<void, Conflict | StorageUnavailable>) =>
  Effect.as(write, true).pipe(Effect.catchTag("Conflict", () => Effect.succeed(false)))

/** Runs all at once and answers who won; anything but one success and conflicts breaks the law. */
const onlyWinner = Effect.fnUntraced(function* (
  rivals: ReadonlyArray<Effect.Effect<void, Conflict | StorageUnavailable>>
) {
  const taken = yield* Effect.forEach(rivals, takenOrNot, atOnce)
  const winners = taken.flatMap((won, index) => (won ? [index] : []))
  yield* expect(winners.length === 1, () => `${winners.length} of ${rivals.length} rivals won`)
  return winners[0] ?? -1
})

const insertsRace = (count: number) => (draw: Draw) =>
  Effect.gen(function* () {
    const store = yield* Storage
    const key = freshKey(draw)
    const rivals = range(count).map((n) => recordAt(key, { n }, { owner: `owner-${n}`, expiresAt: 4e12 + n }))
    const winner = yield* onlyWinner(rivals.map((record) => store.insert(record)))
    for (const [index, record] of rivals.entries()) {
      if (index === winner) yield* expectStored(record, 1)
      yield* expectListed(listOf(record), index === winner ? [key.id] : [])
    }
  })

const replacesRace = (count: number) => (draw: Draw) =>
  Effect.gen(function* () {
    const store = yield* Storage
    const first = recordAt(freshKey(draw))
    yield* store.insert(first)
    for (const version of range(3).map((n) => n + 1)) {
      const rivals = range(count).map((n) => ({ ...first, expiresAt: 4e12 + n, body: { version, n } }))
      const winner = yield* onlyWinner(rivals.map((record) => store.replace(version, record)))
      for (const [index, record] of rivals.entries()) {
        if (index === winner) yield* expectStored(record, version + 1)
      }
    }
  })

/** Adds one to the number in a record, trying again for as long as others win; each of those wins ends a rival. */
const increment = (key: ReturnType<typeof freshKey>, rivals: number, pause: () => boolean) =>
  Effect.gen(function* () {
    const store = yield* Storage
    for (let tries = 0; tries <= rivals; tries++) {
      const found = Option.getOrUndefined(yield* store.get(key))
      if (found === undefined || typeof found.body !== "number") break
      if (pause()) yield* Effect.yieldNow
      if (yield* takenOrNot(store.replace(found.version, { ...found, body: found.body + 1 }))) return
    }
    yield* expect(false, () => "an increment conflicted more often than others won, or found no number")
  })

/** Many callers, one record: of those that meet exactly one wins, and the others changed nothing. */
export const raceLaws = [
  holds("of 2 inserts at once exactly one wins", insertsRace(2)),
  holds("of 50 inserts at once exactly one wins", insertsRace(50)),
  holds("of 2 replaces at once exactly one wins", replacesRace(2)),
  holds("of 50 replaces at once exactly one wins", replacesRace(50)),

  holds("no increment is lost among 20 who swap at random", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const counter = recordAt(freshKey(draw), 0)
      yield* store.insert(counter)
      yield* Effect.forEach(
        range(20),
        () => Effect.forEach(range(5), () => increment(counter, 100, () => draw.below(2) === 0)),
        atOnce
      )
      yield* expectStored({ ...counter, body: 100 }, 101)
    })
  ),

  holds("writes of many records at once each get their own answer", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const records = range(60).map((n) => recordAt({ ...key, id: `id-${n}` }, { n }, { owner: `owner-${n % 3}` }))
      yield* Effect.forEach(records, (record) => store.insert(record), atOnce)
      // A third is replaced at the right version, a third at a wrong one, a third removed, all at once.
      yield* Effect.forEach(
        records,
        (record, n): Effect.Effect<void, LawBroken | Conflict | StorageUnavailable> => {
          if (n % 3 === 0) return store.replace(1, { ...record, body: { n, replaced: true } })
          if (n % 3 === 1) return expectConflict(store.replace(2, record), "a replace at a wrong version")
          return store.remove(record)
        },
        atOnce
      )
      yield* Effect.forEach(
        records,
        (record, n) => {
          if (n % 3 === 0) return expectStored({ ...record, body: { n, replaced: true } }, 2)
          if (n % 3 === 1) return expectStored(record, 1)
          return expectGone(record)
        },
        atOnce
      )
    })
  ),

  holds(
    "of records that share an id with those of other workspaces and kinds, each caller at once has its own",
    (draw) =>
      Effect.gen(function* () {
        const store = yield* Storage
        const key = freshKey(draw)
        const keys = [key.workspace, draw.workspace()].flatMap((workspace) =>
          (["grant", "session"] as const).map((kind) => ({ ...key, workspace, kind }))
        )
        const records = keys.map((key, n) => recordAt(key, { n }, { owner: `owner-${n}` }))
        yield* Effect.forEach(records, (record) => store.insert(record), atOnce)
        yield* Effect.forEach(records, (record) => expectStored(record, 1), atOnce)
        const swapped = records.map((record, n) => ({ ...record, body: { swapped: n } }))
        yield* Effect.forEach(swapped, (record) => store.replace(1, record), atOnce)
        yield* Effect.forEach(swapped, (record) => expectStored(record, 2), atOnce)
      })
  ),

  holds("a remove that meets replaces leaves nothing behind", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw))
      yield* store.insert(record)
      yield* Effect.all(
        [
          takenOrNot(store.replace(1, { ...record, body: { n: 1 } })),
          store.remove(record),
          takenOrNot(store.replace(1, { ...record, body: { n: 2 } }))
        ],
        atOnce
      )
      yield* expectGone(record)
      yield* expectListed(listOf(record), [])
    })
  ),

  holds("what a write acknowledged is there for the next get and list, whoever read meanwhile", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const story = (n: number) => {
        const record = recordAt({ ...key, id: `${key.id}${n}` }, { n }, { owner: `owner-${n}` })
        const at = (version: number) => ({ ...record, body: { version } })
        const isThere = (version: number) =>
          Effect.andThen(expectStored(at(version), version), expectListed(listOf(record), [record.id]))
        const isGone = Effect.andThen(expectGone(record), expectListed(listOf(record), []))
        const reads = () =>
          Effect.all([store.get(record), store.list({ ...listOf(record), after: undefined })], together)
        const inserted = () => store.insert(at(1))
        const removed = () => store.remove(record)
        const replaced = (version: number) => () => store.replace(version - 1, at(version))
        // Two writes each, so that what a cache knew is forgotten by the first, and asked for between them.
        return [
          { writes: [inserted, replaced(2)], is: isThere(2) },
          { writes: [replaced(3), replaced(4)], is: isThere(4) },
          { writes: [replaced(5), removed], is: isGone },
          { writes: [inserted, removed], is: isGone },
          { writes: [inserted, replaced(2)], is: isThere(2) }
        ].map(({ is, writes }) => {
          const reading = range(3).map(() => hesitating(draw, reads))
          const writing = writes.map((write) => hesitating(draw, write))
          const atOnce = draw.below(2) === 0 ? is : Effect.void
          // And when all readers have ended: one may have kept what it read before the write.
          const meeting = Effect.all([...reading, Effect.andThen(Effect.all(writing), atOnce)], together)
          return Effect.andThen(meeting, is)
        })
      }
      yield* Effect.forEach(range(20), (n) => Effect.all(story(n), { discard: true }), together)
    })
  ),

  holds("of issuers that open one workspace at once, one has it, until it moves", (draw) =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const id = WorkspaceId.make(draw.workspace())
      const entropy = { bytes: (length: number) => Uint8Array.from({ length }, () => draw.below(256)) }
      const audit = { record: () => Effect.void }
      const open = (issuer: Issuer) =>
        Effect.result(
          makeOpenings({ storage, entropy, audit, staleness: 0 }, neverMoves).open({ id, issuer, name: "law" })
        )
      const issuers = range(6).map((n) => Issuer.make(`https://${n}.example`))
      const opened = yield* Effect.forEach(issuers, open, atOnce)
      const winner =
        issuers[yield* onlyWinner(opened.map((one) => (Result.isSuccess(one) ? Effect.void : new Conflict())))]
      const isRefused = (one: (typeof opened)[number], by: Issuer | undefined) =>
        Result.isFailure(one) && one.failure._tag === "OtherIssuer" && one.failure.recorded === by
      yield* expect(
        opened.every((one) => Result.isSuccess(one) || isRefused(one, winner)),
        () => "an issuer was turned away otherwise than because of the one that has the workspace"
      )
      const heir = issuers.find((issuer) => issuer !== winner) ?? Issuer.make("https://heir.example")
      const from = yield* Effect.orDie(moveWorkspace({ storage, entropy }, id, heir))
      yield* expect(from === winner, () => `the workspace moved from ${from} and was ${winner}'s`)
      for (const issuer of issuers) {
        const one = yield* open(issuer)
        yield* expect(
          issuer === heir ? Result.isSuccess(one) : isRefused(one, heir),
          () => `after the workspace moved to ${heir}, ${issuer} was not told so`
        )
      }
    })
  )
]
