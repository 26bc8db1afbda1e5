import { describe, expect, test } from "bun:test"
import { LruMap } from "../../core/cache/LruMap.ts"

const entry = (name: number) => ({ name })
const filled = (most: number, names: number) => {
  const used = new LruMap<number, { readonly name: number }>(most)
  for (let name = 0; name < names; name++) used.set(name, entry(name))
  return used
}
/** A look keeps what it finds, so each has all of them to itself. */
const kept = (most: number, names: number) =>
  Array.from({ length: names }, (_, name) => name).filter((name) => filled(most, names).get(name) !== undefined)

describe("what was used lately", () => {
  test("is at hand, each under its own key", () => {
    const used = filled(10, 5)
    for (let name = 0; name < 5; name++) expect(used.get(name)).toEqual({ name })
    expect(used.get(5)).toBeUndefined()
  })

  test("is the last half at least, and never more than all, however many came", () => {
    for (let names = 1; names < 40; names++) {
      const left = kept(10, names)
      expect(left.length).toBeLessThanOrEqual(10)
      const half = Math.min(5, names)
      expect(left.slice(-half)).toEqual(Array.from({ length: half }, (_, n) => names - half + n))
    }
  })

  test("stays for as long as it is looked at", () => {
    const used = filled(10, 5)
    for (let name = 5; name < 100; name++) {
      expect(used.get(0)).toEqual({ name: 0 })
      used.set(name, entry(name))
    }
    expect(used.get(1)).toBeUndefined()
  })

  test("is the newest of what was put there", () => {
    const used = filled(10, 7)
    used.set(0, entry(100))
    expect(used.get(0)).toEqual(entry(100))
    for (let name = 7; name < 11; name++) used.set(name, entry(name))
    expect(used.get(0)).toEqual(entry(100))
  })

  test("is gone when it was deleted, whichever half it was in", () => {
    for (const name of [0, 6]) {
      const used = filled(10, 7)
      used.get(name)
      used.delete(name)
      expect(used.get(name)).toBeUndefined()
    }
  })

  test("is all gone when it was cleared, and has its whole room again", () => {
    const used = filled(10, 7)
    used.clear()
    expect([...used]).toEqual([])
    for (let name = 0; name < 7; name++) expect(used.get(name)).toBeUndefined()
    for (let name = 0; name < 5; name++) used.set(name, entry(name))
    expect([...used]).toHaveLength(5)
  })

  test("can be gone through, each once, the last that was set last", () => {
    const used = filled(10, 7)
    used.set(1, entry(100))
    used.delete(3)
    used.delete(6)
    expect([...used]).toEqual([
      [0, entry(0)],
      [2, entry(2)],
      [4, entry(4)],
      [5, entry(5)],
      [1, entry(100)]
    ])
  })
})
