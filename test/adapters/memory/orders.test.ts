import { expect, test } from "bun:test"
import { type Expiring, ExpiryHeap } from "../../../adapters/memory/ExpiryHeap.ts"
import { SortedList } from "../../../adapters/memory/SortedList.ts"
import { drawFrom } from "../../../core/testing/Draw.ts"
import { seed } from "../seed.ts"

interface Numbered {
  readonly n: number
}

test.each([false, true])(
  "a sorted list (lazily: %p) holds what was put in and not taken out, in order, over many chunks",
  (lazily) => {
    const draw = drawFrom(`SortedList/${seed}`)
    const list = new SortedList<Numbered>((a, b) => a.n - b.n, lazily)
    const held = new Map<number, Numbered>()
    const check = () => {
      const from = draw.below(20_000)
      const wanted = [...held.keys()].filter((n) => n >= from).sort((a, b) => a - b)
      const found = Array.from(list.from((item) => item.n < from)).map(({ n }) => n)
      expect(found, `seed ${seed}`).toEqual(wanted)
    }

    for (const removals of [1, 3, 30]) {
      for (let step = 0; step < 8000; step++) {
        const n = draw.below(20_000)
        const item = held.get(n)
        if (item !== undefined && draw.below(4) < removals) {
          list.delete(item)
          held.delete(n)
        } else if (item === undefined && draw.below(removals) === 0) {
          const made = { n }
          list.add(made)
          held.set(n, made)
        }
        // What is not in the list is no matter to take out, even where its equal is.
        if (step % 100 === 0) list.delete({ n })
        if (step % 1000 === 0) check()
      }
      check()
    }
    for (const item of held.values()) list.delete(item)
    held.clear()
    check()
  }
)

test("a sorted list keeps its order where long runs are taken out of its middle, and are put in again", () => {
  const list = new SortedList<Numbered>((a, b) => a.n - b.n)
  const items = Array.from({ length: 4000 }, (_, n) => ({ n }))
  const numbersFrom = (from: number) => Array.from(list.from((item) => item.n < from)).map(({ n }) => n)
  const numbers = items.map(({ n }) => n)
  for (const item of items) list.add(item)

  for (const length of [256, 257, 1000]) {
    for (let start = 0; start < items.length; start += 250) {
      const run = items.slice(start, start + length)
      for (const item of run) list.delete(item)
      for (const from of [0, start, start + length]) {
        expect(numbersFrom(from)).toEqual(numbers.filter((n) => n >= from && (n < start || n >= start + length)))
      }
      for (const item of run) list.add(item)
      expect(numbersFrom(0)).toEqual(numbers)
    }
  }
})

test("a heap always knows what expires the soonest", () => {
  const draw = drawFrom(`ExpiryHeap/${seed}`)
  const heap = new ExpiryHeap<Expiring>()
  const items: ReadonlyArray<Expiring> = Array.from({ length: 100 }, () => ({ expiresAt: null, due: 0, slot: -1 }))
  const [first, ...others] = items
  if (first === undefined) throw new Error("no items")

  for (let step = 0; step < 4000; step++) {
    const item = draw.oneOf([first, ...others])
    item.expiresAt = draw.below(5) === 0 ? null : draw.below(1000)
    heap.update(item)
    if (draw.below(7) === 0) {
      heap.delete(item)
      item.expiresAt = null
    }
    // Rarely asked, so that what moved back has gathered in front.
    if (draw.below(10) > 0) continue
    const soonest = Math.min(...items.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY))
    expect(heap.soonest()?.expiresAt ?? Number.POSITIVE_INFINITY, `seed ${seed}`).toBe(soonest)
  }
})

test("a heap gives up in order what was not taken out of it, and never what was", () => {
  const draw = drawFrom(`ExpiryHeap in order/${seed}`)
  for (let round = 0; round < 200; round++) {
    const heap = new ExpiryHeap<Expiring>()
    const items: Array<Expiring> = Array.from({ length: 1 + draw.below(30) }, () => ({
      expiresAt: draw.below(100),
      due: 0,
      slot: -1
    }))
    for (const item of items) heap.update(item)
    // Taken out as a removed record is: with the expiry that it had.
    for (const item of items.splice(0, draw.below(10))) heap.delete(item)
    const last = items.pop()
    if (last !== undefined) heap.delete(last)

    const wanted = items.map(({ expiresAt }) => expiresAt ?? -1).sort((a, b) => a - b)
    const found: Array<number> = []
    for (let first = heap.soonest(); first !== undefined; first = heap.soonest()) {
      found.push(first.expiresAt ?? -1)
      if (found.length > items.length) break
      heap.delete(first)
    }
    expect(found, `seed ${seed}`).toEqual(wanted)
  }
})
