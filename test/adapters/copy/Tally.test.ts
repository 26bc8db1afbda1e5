import { expect, test } from "bun:test"
import { sameContent, Tallying } from "../../../adapters/copy/copy.ts"
import type { Json, StoredRecord } from "../../../core/ports/Storage.ts"

const record: StoredRecord = {
  workspace: "w",
  kind: "grant",
  id: "a",
  owner: "o",
  version: 1,
  expiresAt: 5,
  body: { n: 1 }
}

const tallyOf = (...records: ReadonlyArray<StoredRecord>) => {
  const tallying = new Tallying()
  for (const each of records) tallying.add(each)
  return tallying.tally
}

test.each<[string, Partial<StoredRecord>]>([
  ["workspace", { workspace: "v" }],
  ["kind", { kind: "link" }],
  ["id", { id: "b" }],
  ["owner", { owner: "p" }],
  ["expiry", { expiresAt: 6 }],
  ["want of an expiry", { expiresAt: null }],
  ["body", { body: { n: 2 } }]
])("another %s makes another record, and another tally", (_, change) => {
  const other = { ...record, ...change }
  expect(sameContent(record, other)).toBe(false)
  expect(tallyOf(other).digest).not.toBe(tallyOf(record).digest)
})

test("a version is each store's own, and members of an object have no order, however deep they are", () => {
  const inOrder = (...names: ReadonlyArray<string>): Json => Object.fromEntries(names.map((name) => [name, [{ name }]]))
  const [one, other] = [
    { ...record, body: { in: inOrder("a", "b") } },
    { ...record, version: 7, body: { in: inOrder("b", "a") } }
  ]
  expect(sameContent(one, other)).toBe(true)
  expect(tallyOf(one)).toEqual(tallyOf(other))
  const list = (...items: ReadonlyArray<number>) => ({ ...record, body: items })
  expect(sameContent(list(1, 2), list(2, 1))).toBe(false)
})

test("records are tallied in any order, each as often as it came", () => {
  const other = { ...record, id: "b" }
  expect(tallyOf(record, other)).toEqual(tallyOf(other, record))
  expect(tallyOf()).toEqual({ count: 0, digest: "0".repeat(64) })
  expect(tallyOf(record, record)).toMatchObject({ count: 2 })
  // Nor do two of one kind make up for two of another.
  expect(tallyOf(record, record).digest).not.toBe(tallyOf(other, other).digest)
})
