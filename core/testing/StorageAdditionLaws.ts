import { Effect } from "effect"
import {
  type Conflict,
  type InsertAndReplace,
  type NewRecord,
  Storage,
  type StorageUnavailable,
  type Taken
} from "../ports/Storage.ts"
import type { Draw } from "./Draw.ts"
import {
  type DrawnLaw,
  expect,
  expectConflict,
  expectGone,
  expectStored,
  freshKey,
  hesitating,
  holds,
  LawBroken,
  range,
  recordAt,
  together
} from "./StorageLaw.ts"

/** Of stores that have `insertAndReplace`; of any other it promises nothing. */
const ofBoth = (name: string, body: (both: InsertAndReplace, draw: Draw) => ReturnType<DrawnLaw["body"]>) =>
  holds<Storage>(name, (draw) =>
    Effect.flatMap(Storage, ({ insertAndReplace }) =>
      insertAndReplace === undefined ? Effect.void : body(insertAndReplace, draw)
    )
  )

const expectTaken = (
  write: Effect.Effect<void, Taken | Conflict | StorageUnavailable>,
  id: string
): Effect.Effect<void, LawBroken | StorageUnavailable> => {
  const broken = (what: string) => new LawBroken({ message: `with an id that was taken it ${what}` })
  return Effect.matchEffect(write, {
    onSuccess: () => Effect.fail(broken("was done")),
    onFailure: (error): Effect.Effect<void, LawBroken | StorageUnavailable> => {
      if (error._tag === "StorageUnavailable") return Effect.fail(error)
      if (error._tag === "Conflict") return Effect.fail(broken("was a Conflict"))
      return expect(error.id === id, () => `it told that ${error.id} was taken, and not ${id}`)
    }
  })
}

const untaken = (
  write: Effect.Effect<void, Taken | Conflict | StorageUnavailable>
): Effect.Effect<void, Conflict | StorageUnavailable | LawBroken> =>
  Effect.catchTag(write, "Taken", ({ id }) =>
    Effect.fail(new LawBroken({ message: `it told that ${id} was taken, which was new` }))
  )

const drawAdded = (draw: Draw): NewRecord => recordAt(freshKey(draw, "once"), { n: draw.below(9) }, { expiresAt: 4e12 })

/** Around the sizes at which stores and drivers like to divide a batch. */
const sizes = [2, 5, 40, 150]

/** What meets in a batch: its ids are new or taken, or another call's too, and its version is right or not. */
const fates = ["new", "taken", "shared", "behind"] as const

const manyAtOnce = (size: number) =>
  ofBoth(`of ${size} insertAndReplace at once each is judged by its own ids and its own version`, (both, draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const shared = drawAdded(draw)
      const calls = range(size).map(() => {
        const fate = draw.oneOf([...fates])
        const own = drawAdded(draw)
        const record = recordAt(freshKey(draw), { before: true })
        return { fate, own, record, next: { ...record, body: { after: draw.below(99) } } }
      })
      yield* Effect.forEach(
        calls,
        ({ fate, own, record }) =>
          Effect.andThen(store.insert(record), fate === "taken" ? store.insert(own) : Effect.void),
        together
      )
      let sharers = 0
      yield* Effect.forEach(
        calls,
        ({ fate, next, own }): Effect.Effect<void, LawBroken | Conflict | StorageUnavailable> => {
          const added = fate === "shared" ? [own, shared] : [own]
          const write = both(added, fate === "behind" ? 0 : 1, next)
          switch (fate) {
            case "new":
              return untaken(write)
            case "taken":
              return expectTaken(write, own.id)
            case "behind":
              return expectConflict(untaken(write), "a swap of a version that never was")
            case "shared":
              return Effect.matchEffect(write, {
                onSuccess: () => Effect.sync(() => void sharers++),
                onFailure: (error) => expectTaken(Effect.fail(error), shared.id)
              })
          }
        },
        together
      )
      const mayShare = calls.some(({ fate }) => fate === "shared") ? 1 : 0
      yield* expect(sharers === mayShare, () => `${sharers} calls inserted one id`)
      yield* Effect.forEach(
        calls.filter(({ fate }) => fate !== "shared"),
        ({ fate, next, own, record }) =>
          Effect.andThen(
            fate === "new" ? expectStored(next, 2) : expectStored(record, 1),
            fate === "taken" ? Effect.void : expectStored(own, 1)
          ),
        together
      )
    })
  )

/** Refreshes that show one proof each meet like this: of one line, all but one have to be told so. */
const additionsRace = (count: number) =>
  ofBoth(`of ${count} insertAndReplace of one record at once exactly one wins`, (both, draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw))
      yield* store.insert(record)
      for (const version of [1, 2, 3]) {
        const rivals = range(count).map((n) => ({ own: drawAdded(draw), next: { ...record, body: { version, n } } }))
        const winners: Array<NewRecord> = []
        yield* Effect.forEach(
          rivals,
          ({ next, own }, n) => {
            // Some replace and add nothing: they are rivals like the others.
            const write = () => (n % 4 === 3 ? store.replace(version, next) : both([own], version, next))
            return untaken(hesitating(draw, write)).pipe(
              Effect.andThen(Effect.sync(() => void winners.push(next))),
              Effect.catchTag("Conflict", () => Effect.void)
            )
          },
          together
        )
        const [winner = record] = winners
        yield* expect(winners.length === 1, () => `${winners.length} of ${count} rivals won`)
        yield* expectStored(winner, version + 1)
        const added = rivals.filter((_, n) => n % 4 !== 3)
        yield* Effect.forEach(added, ({ own }) => expectStored(own, 1), together)
      }
    })
  )

export const additionLaws = [
  ofBoth("insertAndReplace inserts all that is added, and replaces", (both, draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw))
      yield* store.insert(record)
      for (const version of [1, 2, 3]) {
        const added = range(version).map(() => drawAdded(draw))
        const next = { ...record, expiresAt: 4e12 + version, body: { at: version } }
        yield* untaken(both(added, version, next))
        yield* expectStored(next, version + 1)
        yield* Effect.forEach(added, (one) => expectStored(one, 1))
      }
    })
  ),
  ofBoth("insertAndReplace replaces nothing where an id is taken, and tells which", (both, draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw))
      const taken = drawAdded(draw)
      yield* store.insert(record)
      yield* store.insert(taken)
      const next = { ...record, body: { at: 2 } }
      const again = { ...taken, body: { other: true } }
      yield* expectTaken(both([again], 1, next), taken.id)
      yield* expectTaken(both([drawAdded(draw), again], 1, next), taken.id)
      yield* expectTaken(both([again, drawAdded(draw)], 1, next), taken.id)
      yield* expectTaken(both([again], 7, next), taken.id)
      yield* expectStored(record, 1)
      yield* expectStored(taken, 1)
    })
  ),
  ofBoth("insertAndReplace inserts where the version is another, and is a Conflict", (both, draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw))
      yield* store.insert(record)
      const added = [drawAdded(draw), drawAdded(draw)]
      yield* expectConflict(untaken(both(added, 2, { ...record, body: { at: 3 } })), "a swap of another version")
      yield* expectStored(record, 1)
      yield* Effect.forEach(added, (one) => expectStored(one, 1))
      const nowhere = recordAt(freshKey(draw))
      const besides = drawAdded(draw)
      yield* expectConflict(untaken(both([besides], 1, nowhere)), "a swap of what is not there")
      yield* expectGone(nowhere)
      yield* expectStored(besides, 1)
    })
  ),
  ofBoth("what insertAndReplace inserts is listed, and swept", (both, draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw))
      yield* store.insert(record)
      const added = { ...drawAdded(draw), owner: draw.text(9), expiresAt: 1 }
      yield* untaken(both([added], 1, record))
      const { kind, owner, workspace } = added
      const page = yield* store.list({ workspace, kind, owner, after: undefined, limit: 9 })
      yield* expect(page.records.length === 1, () => `it was listed ${page.records.length} times`)
      yield* store.sweep(1, 1000)
      yield* expectGone(added)
      yield* untaken(both([added], 2, record))
      yield* store.remove(added)
    })
  ),
  ...[2, 50].map(additionsRace),
  ...sizes.map(manyAtOnce)
]
