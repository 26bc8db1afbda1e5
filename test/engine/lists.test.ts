import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import {
  behindMark,
  collectAll,
  collectPage,
  cursorOf,
  findMarked,
  forEachItem,
  type GrantList,
  isMark
} from "../../core/engine/lists.ts"
import type { Slice } from "../../core/ports/Storage.ts"
import { GrantId } from "../../core/rules/Id.ts"
import { active } from "../grant/given.ts"

interface Item {
  readonly id: string
  readonly at: number
}

const idAt = (at: number) => String(at).padStart(4, "0")
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at)

/** A list of so many, and the slices that were asked of it. */
const listOf = (count: number) => {
  const asked: Array<readonly [after: string | undefined, limit: number]> = []
  const items = numbers(0, count).map((at): Item => ({ id: idAt(at), at }))
  const list = ({ after, limit }: Slice) =>
    Effect.sync(() => {
      asked.push([after, limit])
      const rest = items.filter(({ id }) => after === undefined || id > after)
      return { values: rest.slice(0, limit), next: rest.length > limit ? rest[limit - 1]?.id : undefined }
    })
  return { asked, list }
}

describe("a page of what is picked out of a list", () => {
  const every = () => true
  interface Row {
    readonly what: string
    readonly count: number
    readonly start?: number
    readonly picks: (at: number) => boolean
    readonly values: ReadonlyArray<number>
    /** The last of them, where more may follow. */
    readonly last?: number
    readonly asked: ReadonlyArray<readonly [after: number | undefined, limit: number]>
  }
  const rows: ReadonlyArray<Row> = [
    { what: "nothing", count: 0, picks: every, values: [], asked: [[undefined, 26]] },
    { what: "one page, just full", count: 25, picks: every, values: numbers(0, 25), asked: [[undefined, 26]] },
    { what: "one more than that", count: 26, picks: every, values: numbers(0, 25), last: 24, asked: [[undefined, 26]] },
    { what: "many more", count: 900, picks: every, values: numbers(0, 25), last: 24, asked: [[undefined, 26]] },
    { what: "the last page", count: 30, start: 24, picks: every, values: numbers(25, 30), asked: [[24, 26]] },
    {
      what: "a few that are passed over: what is lacking is looked for, and two at least",
      count: 40,
      picks: (at) => at !== 3,
      values: numbers(0, 26).filter((at) => at !== 3),
      last: 25,
      asked: [
        [undefined, 26],
        [25, 2]
      ]
    },
    {
      what: "many that are passed over: more are looked at each time, up to a hundred",
      count: 400,
      picks: (at) => at % 100 === 0,
      values: [0, 100, 200, 300],
      asked: [
        [undefined, 26],
        [25, 25],
        [50, 50],
        [100, 100],
        [200, 100],
        [300, 100]
      ]
    },
    {
      what: "no end of such: a thousand are looked at, and the page says where the next begins",
      count: 1500,
      picks: (at) => at === 7 || at === 1200,
      values: [7],
      last: 999,
      asked: [
        [undefined, 26],
        [25, 25],
        [50, 50],
        ...numbers(1, 9).map((hundred) => [hundred * 100, 100] as const),
        [900, 99]
      ]
    }
  ]
  for (const { asked, count, last, picks, start, values, what } of rows) {
    test(what, () => {
      const given = listOf(count)
      const pick = (item: Item) => Effect.succeed(picks(item.at) ? item.at : undefined)
      const from = start === undefined ? undefined : idAt(start)
      expect(Effect.runSync(collectPage(given.list, from, pick))).toEqual({
        values,
        last: last === undefined ? undefined : idAt(last)
      })
      expect(given.asked).toEqual(
        asked.map(([after, limit]) => [after === undefined ? undefined : idAt(after), limit] as const)
      )
    })
  }
})

test("all of a list is read a hundred at a time, in its order, and no more is asked than there is", () => {
  for (const [count, ends] of [
    [0, []],
    [100, []],
    [101, [99]],
    [250, [99, 199]]
  ] as const) {
    const given = listOf(count)
    const seen: Array<number> = []
    Effect.runSync(forEachItem(given.list, ({ at }) => Effect.sync(() => seen.push(at))))
    expect(seen).toEqual(numbers(0, count))
    expect(given.asked).toEqual([[undefined, 100], ...ends.map((end) => [idAt(end), 100] as const)])
    expect(Effect.runSync(collectAll(given.list)).map(({ at }) => at)).toEqual(seen)
  }
})

describe("the mark of a grant", () => {
  const mark = "abcDEF-_"
  const marked = (text: string) => ({ ...active(), id: GrantId.make(text.padEnd(22, "0")) })

  test("is eight characters of an id; nothing else is looked for", () => {
    const asked: Array<Slice> = []
    const list: GrantList = (slice) => {
      asked.push(slice)
      return Effect.succeed({ values: [marked(mark)], next: undefined })
    }
    const others = [undefined, "", "abcDEF-", "abcDEF-_x", "abcDEF- ", " bcDEF-_", "abcDEF-\n", "abcD~F-_", "abcDÉF-_"]
    for (const text of others) {
      expect([text, isMark(text), behindMark(text)]).toEqual([text, false, undefined])
      expect(Effect.runSync(findMarked(list, text))).toBeUndefined()
    }
    expect(asked).toEqual([])
    expect(Effect.runSync(findMarked(list, mark))?.id).toBe(marked(mark).id)
    expect(asked).toEqual([{ after: mark, limit: 1 }])
    expect(Effect.runSync(findMarked(list, "abcDEF-0"))).toBeUndefined()
  })

  test("leads a page behind every id that begins with it", () => {
    expect([cursorOf(marked(mark).id), cursorOf(undefined)]).toEqual([mark, undefined])
    const behind = behindMark(mark) ?? ""
    expect(["0", "A", "_", "a", "z", "-"].every((next) => mark + next.repeat(14) < behind)).toBe(true)
    expect(behind < "abcDEF-a").toBe(true)
  })
})
