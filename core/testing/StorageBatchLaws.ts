import { Effect } from "effect"
import { type Kind, type NewRecord, Storage, type StorageUnavailable } from "../ports/Storage.ts"
import type { Draw } from "./Draw.ts"
import {
  expect,
  expectGone,
  expectListed,
  expectStored,
  holds,
  listOf,
  range,
  recordAt,
  together
} from "./StorageLaw.ts"

interface Swap {
  readonly expected: number
  readonly next: NewRecord
}

/** A record, and what meets it in the batch. */
interface Meeting {
  readonly record: NewRecord
  readonly version: number
  readonly gone: "before" | "meanwhile" | "never"
  readonly swaps: ReadonlyArray<Swap>
}

/** What becomes of a record in a batch. Each takes the stored version and answers what the swaps expect. */
const fates: Readonly<
  Record<string, { readonly gone?: Meeting["gone"]; readonly expected: (version: number) => ReadonlyArray<number> }>
> = {
  swapped: { expected: (version) => [version] },
  behind: { expected: (version) => [version - 1] },
  ahead: { expected: (version) => [version + 1] },
  contested: { expected: (version) => [version, version, version] },
  "contested by some who are behind": { expected: (version) => [version - 1, version, version, version - 1] },
  "removed before": { gone: "before", expected: (version) => [version, version - 1] },
  "removed meanwhile": { gone: "meanwhile", expected: (version) => [version, version, version - 1] }
}
const [firstFate, ...otherFates] = Object.keys(fates)

type DrawnExpiry = () => number | null

const drawMeeting = (draw: Draw, record: NewRecord, expiry: DrawnExpiry): Meeting => {
  const { expected, gone = "never" } = fates[draw.oneOf([firstFate ?? "", ...otherFates])] ?? { expected: () => [] }
  const version = 1 + draw.below(3)
  const swaps = expected(version).map((at, index) => ({
    expected: at,
    next: { ...record, expiresAt: expiry(), body: { swap: index, of: draw.text(4) } }
  }))
  return { record, version, gone, swaps }
}

/** Fisher and Yates: every order is as likely. */
const shuffled = <A>(draw: Draw, items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const left = [...items]
  return range(items.length).flatMap(() => left.splice(draw.below(left.length), 1))
}

/** What is left of a record, and at which version. */
export interface Left {
  readonly record: NewRecord
  readonly version: number
}

/**
 * Lets swaps of `size` records meet, many of them at wrong versions or on one record, and checks each answer. The
 * records share their ids over two workspaces and two kinds. Answers what has to be stored afterwards.
 */
export const swapTogether = Effect.fnUntraced(function* (draw: Draw, size: number, expiry: DrawnExpiry) {
  const store = yield* Storage
  const places = [draw.workspace(), draw.workspace()].flatMap((workspace) =>
    (["grant", "session"] as const).map((kind: Kind) => ({ workspace, kind }))
  )
  const meetings = range(size).map((n) => {
    const place = places[n % places.length] ?? { workspace: "", kind: "grant" }
    const key = { ...place, id: `id-${Math.floor(n / places.length)}` }
    return drawMeeting(draw, recordAt(key, { n }, { owner: `owner-${draw.below(3)}`, expiresAt: expiry() }), expiry)
  })

  yield* Effect.forEach(
    meetings,
    ({ gone, record, version }) =>
      Effect.gen(function* () {
        yield* store.insert(record)
        for (let at = 1; at < version; at++) yield* store.replace(at, record)
        if (gone === "before") yield* store.remove(record)
      }),
    together
  )

  const taken = new Set<Swap>()
  const swapping = (swap: Swap): Effect.Effect<void, StorageUnavailable> =>
    store.replace(swap.expected, swap.next).pipe(
      Effect.andThen(Effect.sync(() => void taken.add(swap))),
      Effect.catchTag("Conflict", () => Effect.void)
    )
  const calls = meetings.flatMap(
    ({ gone, record, swaps }): ReadonlyArray<Effect.Effect<void, StorageUnavailable>> => [
      ...swaps.map(swapping),
      ...(gone === "meanwhile" ? [store.remove(record)] : [])
    ]
  )
  yield* Effect.forEach(shuffled(draw, calls), (call) => call, together)

  const left: Array<Left> = []
  for (const { gone, record, swaps, version } of meetings) {
    const won = swaps.filter((swap) => taken.has(swap))
    const mayWin = gone !== "before" && swaps.some(({ expected }) => expected === version) ? 1 : 0
    const mustWin = gone === "never" ? mayWin : 0
    yield* expect(
      won.length >= mustWin && won.length <= mayWin && won.every(({ expected }) => expected === version),
      () =>
        `of swaps that met at versions ${JSON.stringify(swaps.map(({ expected }) => expected))} of a record at ${version}` +
        `${gone === "never" ? "" : `, removed ${gone},`} those at ${JSON.stringify(won.map(({ expected }) => expected))} were taken`
    )
    const [winner] = won
    if (gone !== "never") yield* expectGone(record)
    else if (winner === undefined) left.push({ record, version })
    else left.push({ record: winner.next, version: version + 1 })
  }
  return { left, lists: meetings.map(({ record }) => listOf(record)) }
})

/** Fails unless the store holds exactly these, in `get` and in every list. */
export const expectLeft = Effect.fnUntraced(function* (
  left: ReadonlyArray<Left>,
  lists: ReadonlyArray<ReturnType<typeof listOf>>
) {
  yield* Effect.forEach(left, ({ record, version }) => expectStored(record, version), together)
  const byName = new Map(lists.map((list) => [JSON.stringify(list), list]))
  for (const [name, list] of byName) {
    const here = left.filter(({ record }) => JSON.stringify(listOf(record)) === name)
    yield* expectListed(list, here.map(({ record }) => record.id).sort())
  }
})

/** Around the sizes at which stores and drivers like to divide a batch. */
const sizes = [2, 3, 5, 16, 60, 150, 300]

/** Swaps that meet: an adapter that sends them as one batch still owes each its own answer. */
export const batchLaws = sizes.map((size) =>
  holds<Storage>(`of swaps of ${size} records at once each is judged by the version of its own record`, (draw) =>
    Effect.gen(function* () {
      const { left, lists } = yield* swapTogether(draw, size, () => draw.oneOf([null, 4e12 + draw.below(1000)]))
      yield* expectLeft(left, lists)
    })
  )
)
