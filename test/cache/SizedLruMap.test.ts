import { expect, test } from "bun:test"
import { SizedLruMap } from "../../core/cache/LruMap.ts"

interface Entry {
  readonly name: number
  readonly size: number
}

const empty = (most: number) => new SizedLruMap<number, Entry>(most, ({ size }) => size)

test("keeps no more than was said, whatever sizes come, and the last half of it at least", () => {
  const most = 100
  for (let seed = 1; seed < 50; seed++) {
    const used = empty(most)
    const sizes = Array.from({ length: 200 }, (_, at) => ((at * seed * 7919) % 31) + 1)
    sizes.forEach((size, name) => {
      used.set(name, { name, size })
    })
    const left = sizes.map((_, name) => name).filter((name) => Object.values(used).some((map) => map.has?.(name)))
    expect(left.reduce((sum, name) => sum + (sizes[name] ?? 0), 0)).toBeLessThanOrEqual(most)
    let newest = 0
    for (let name = sizes.length - 1; name >= 0; name--) {
      newest += sizes[name] ?? 0
      // What came last fills the young half, less the one that no longer fitted.
      if (newest > most / 2 - 31) break
      expect(left).toContain(name)
    }
  }
})

test("counts what is put in another's place, or taken out, once", () => {
  const used = empty(20)
  for (let time = 0; time < 50; time++) used.set(1, { name: time, size: 5 })
  used.set(2, { name: 2, size: 5 })
  expect([used.get(1)?.name, used.get(2)?.name]).toEqual([49, 2])
  for (let time = 0; time < 50; time++) {
    used.set(3, { name: time, size: 5 })
    used.delete(3)
  }
  expect([used.get(1)?.name, used.get(2)?.name, used.get(3)]).toEqual([49, 2, undefined])
})

test("keeps what is looked at, and nothing that is larger than half of all", () => {
  const used = empty(20)
  used.set(1, { name: 0, size: 10 })
  expect(used.get(1)?.name).toBe(0)
  used.set(1, { name: 1, size: 5 })
  for (let name = 2; name < 60; name++) {
    used.set(name, { name, size: 3 })
    expect(used.get(1)?.name).toBe(1)
  }
  used.set(1, { name: 1, size: 11 })
  expect(used.get(1)).toBeUndefined()
})
