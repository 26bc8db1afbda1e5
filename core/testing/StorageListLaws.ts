import { Effect } from "effect"
import { Storage } from "../ports/Storage.ts"
import { allPages, expect, expectListed, freshKey, holds, listOf, range, recordAt, sameRecord } from "./StorageLaw.ts"

/** In the order that `<` gives strings: by code unit, so that 😀 (D83D DE00) stands before U+FF5E. */
const inOrder = [
  "",
  "!",
  "0",
  "00",
  "1",
  "A",
  "AA",
  "Z",
  "_",
  "a",
  "aa",
  "b",
  "ä",
  "Ω",
  "中",
  "\uD7FF",
  "😀",
  "\uE000",
  "～"
].filter((id) => id !== "")

/** Lists by owner. */
export const listLaws = [
  holds("an owner of nothing has an empty list", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const page = yield* store.list({ ...listOf(recordAt(freshKey(draw))), after: undefined })
      yield* expect(page.records.length === 0 && page.next === undefined, () => "an empty list had a page or a next")
    })
  ),

  holds("a list is in the code-unit order of the ids, whatever the order of writing", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const shuffled = [...inOrder].sort(() => draw.below(3) - 1)
      for (const id of shuffled) yield* store.insert(recordAt({ ...key, id }))
      for (const limit of [1, 2, 100]) yield* expectListed({ ...listOf(recordAt(key)), limit }, inOrder)
    })
  ),

  holds("pages hold at most their limit, without a gap or a repeat, and the last one says so", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const ids = range(23).map((n) => `id-${String(n).padStart(2, "0")}`)
      yield* Effect.forEach(ids, (id) => store.insert(recordAt({ ...key, id })), { concurrency: "unbounded" })
      for (const limit of [1, 2, 7, 22, 23, 24, 1000]) {
        yield* expectListed({ ...listOf(recordAt(key)), limit }, ids)
        const page = yield* store.list({ ...listOf(recordAt(key)), after: undefined, limit })
        yield* expect(page.records.length === Math.min(limit, 23), () => `a first page of ${page.records.length}`)
        yield* expect((page.next === undefined) === limit >= 23, () => `next was ${page.next} at limit ${limit} of 23`)
      }
    })
  ),

  holds("a page of a thousand is whole, and says that there is one more", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const ids = range(1001).map((n) => `id-${String(n).padStart(4, "0")}`)
      yield* Effect.forEach(ids, (id) => store.insert(recordAt({ ...key, id })), { concurrency: 50 })
      const list = { ...listOf(recordAt(key)), limit: 1000 }
      const page = yield* store.list({ ...list, after: undefined })
      yield* expect(page.records.length === 1000, () => `a first page of ${page.records.length}, not of 1000`)
      yield* expect(page.next === ids[999], () => `next was ${page.next} at limit 1000 of 1001`)
      yield* expectListed(list, ids)
    })
  ),

  holds("a page starts behind any id, also one that is not in the list", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      for (const id of ["b", "d", "f"]) yield* store.insert(recordAt({ ...key, id }))
      const behind = [
        ["a", "bdf"],
        ["b", "df"],
        ["c", "df"],
        ["e", "f"],
        ["f", ""],
        ["zzz", ""],
        ["", "bdf"]
      ] as const
      for (const [after, wanted] of behind) {
        const page = yield* store.list({ ...listOf(recordAt(key)), after })
        const found = page.records.map(({ id }) => id).join("")
        yield* expect(found === wanted, () => `behind "${after}" came "${found}", not "${wanted}"`)
      }
    })
  ),

  holds("a list gives whole records, as they are now", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const record = recordAt(freshKey(draw), { n: 1 }, { expiresAt: 4e12 })
      yield* store.insert(record)
      yield* store.replace(1, { ...record, expiresAt: 5e12, body: { n: 2 } })
      const [found] = yield* allPages(listOf(record))
      yield* expect(
        found !== undefined && sameRecord(found, { ...record, expiresAt: 5e12, body: { n: 2 } }, 2),
        () => `the list gave ${JSON.stringify(found)}`
      )
    })
  ),

  holds("lists of other workspaces, kinds and owners never mix", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const [one, two] = [draw.workspace(), draw.workspace()]
      // Pairs that a careless join of the parts would take for the same.
      const owners = ["a", "a:b", "a:", ":a", "A", "a ", "%", "a%", "_", "*", "{a}", "", "a\u0301", "\u00e1"]
      const records = [one, two].flatMap((workspace) =>
        (["grant", "session"] as const).flatMap((kind) =>
          owners.map((owner, n) => recordAt({ workspace, kind, id: `${key.id}-${n}` }, { workspace, kind }, { owner }))
        )
      )
      yield* Effect.forEach(records, (record) => store.insert(record), { concurrency: 10 })
      for (const record of records) yield* expectListed(listOf(record), [record.id])
    })
  ),

  holds("removed records leave the list, between two pages too", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const list = { ...listOf(recordAt(key)), limit: 2 }
      for (const id of ["a", "b", "c", "d", "e"]) yield* store.insert(recordAt({ ...key, id }))
      const first = yield* store.list({ ...list, after: undefined })
      yield* expect(first.next === "b", () => `next of the first page was ${first.next}`)
      for (const id of ["b", "c"]) yield* store.remove({ ...key, id })
      const second = yield* store.list({ ...list, after: first.next })
      const ids = second.records.map(({ id }) => id).join("")
      yield* expect(ids === "de" && second.next === undefined, () => `the second page was "${ids}"`)
    })
  ),

  holds("what stands in a list all the while comes exactly once, whatever is written meanwhile", (draw) =>
    Effect.gen(function* () {
      const store = yield* Storage
      const key = freshKey(draw)
      const list = { ...listOf(recordAt(key)), limit: 3 }
      const staying = range(20).map((n) => `id-${String(n).padStart(2, "0")}-stays`)
      for (const id of staying) yield* store.insert(recordAt({ ...key, id }))
      const writing = Effect.forEach(range(60), (n) => {
        const id = `id-${String(draw.below(20)).padStart(2, "0")}-${draw.text(6)}`
        return Effect.andThen(
          store.insert(recordAt({ ...key, id }, { n }, { owner: n % 2 === 0 ? "owner" : "another" })),
          n % 4 === 0 ? store.remove({ ...key, id }) : Effect.void
        )
      })
      const reading = Effect.forEach(range(5), () =>
        Effect.gen(function* () {
          const ids = (yield* allPages(list)).map(({ id }) => id)
          yield* expect(new Set(ids).size === ids.length, () => `an id came twice: ${ids.join(" ")}`)
          const stayed = ids.filter((id) => id.endsWith("-stays")).join()
          yield* expect(stayed === staying.join(), () => `of what stayed there came ${stayed}`)
        })
      )
      yield* Effect.all([writing, reading], { concurrency: "unbounded" })
    })
  )
]
