import { expect, test } from "bun:test"
import { LruMap } from "../../core/cache/LruMap.ts"
import { moveToEnd } from "../../core/limits/SharedLimiter.ts"

const tableOf = (...names: ReadonlyArray<string>) => {
  const table = new LruMap<string, { readonly name: string }>(10)
  for (const name of names) table.set(name, { name })
  return table
}
const order = (table: LruMap<string, object>) => [...table].map(([name]) => name)

test("what could not be written comes last the next time", () => {
  const table = tableOf("a", "b", "c")
  const a = table.get("a")
  if (a === undefined) throw new Error("no entry")
  moveToEnd(table, "a", a)
  expect(order(table)).toEqual(["b", "c", "a"])
})

test("what was replaced or dropped meanwhile does not come back", () => {
  const table = tableOf("a", "b", "c")
  moveToEnd(table, "a", { name: "of old" })
  moveToEnd(table, "gone", { name: "gone" })
  expect(order(table)).toEqual(["a", "b", "c"])
  expect(table.get("a")).toEqual({ name: "a" })
})
