import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer, Scope } from "effect"
import { copy, type Side } from "../../../adapters/copy/copy.ts"
import * as memory from "../../../adapters/memory/Memory.ts"
import { type NewRecord, Storage, StorageScan, StorageUnavailable } from "../../../core/ports/Storage.ts"

const recordOf = (id: string, own: Partial<NewRecord> = {}): NewRecord => ({
  workspace: "w",
  kind: "grant",
  id,
  owner: "o",
  expiresAt: 5,
  body: { of: id },
  ...own
})

const sideWith = async (...records: ReadonlyArray<NewRecord>): Promise<Side> => {
  const built = await Effect.runPromise(Layer.buildWithScope(Layer.fresh(memory.layer), Scope.makeUnsafe()))
  const storage = Context.get(built, Storage)
  for (const record of records) await Effect.runPromise(storage.insert(record))
  return { storage, scan: Context.get(built, StorageScan).scan }
}

const heldBy = async ({ scan }: Side) => {
  const { records } = await Effect.runPromise(scan("grant", undefined, 100))
  return records.map(({ version: _, ...record }) => record).toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

const copying = (from: Side, to: Side, overwrite = false) =>
  Effect.runPromise(
    Effect.map(Effect.result(copy(from, to, { overwrite, onProgress: () => Effect.void })), (done) =>
      done._tag === "Success" ? done.success.reduce((sum, { written }) => sum + written, 0) : done.failure._tag
    )
  )

describe("a copy", () => {
  test("writes what the target lacks, and nothing when it is run again", async () => {
    const [from, to] = [await sideWith(recordOf("a"), recordOf("b")), await sideWith(recordOf("a"))]
    expect(await copying(from, to)).toBe(1)
    expect(await heldBy(to)).toEqual(await heldBy(from))
    expect(await copying(from, to)).toBe(0)
  })

  const others: ReadonlyArray<readonly [what: string, other: NewRecord]> = [
    ["a record that the source lacks", recordOf("c")],
    ["another body", recordOf("a", { body: { of: "another" } })],
    ["another expiry", recordOf("a", { expiresAt: null })],
    ["another owner", recordOf("a", { owner: "p" })]
  ]
  for (const [what, other] of others) {
    test(`leaves a target as it was that holds ${what}, unless that may be lost`, async () => {
      const [from, to] = [await sideWith(recordOf("a"), recordOf("b")), await sideWith(other)]
      const before = await heldBy(to)
      expect(await copying(from, to)).toBe("TargetDiffers")
      expect(await heldBy(to)).toEqual(before)
      expect(await copying(from, to, true)).toBe(2)
      expect(await heldBy(to)).toEqual(await heldBy(from))
    })
  }

  test("takes nothing from a target for a source without records, though it may be lost: that is another source", async () => {
    const [from, to] = [await sideWith(), await sideWith(recordOf("a"))]
    for (const overwrite of [true, false]) {
      expect(await copying(from, to, overwrite)).toBe("SourceEmpty")
      expect(await heldBy(to)).toEqual([recordOf("a")])
    }
  })

  test("goes on where a store was away for a moment", async () => {
    const [from, to] = [await sideWith(recordOf("a")), await sideWith()]
    let away = 2
    const insert: Side["storage"]["insert"] = (record) =>
      Effect.suspend(() =>
        away-- > 0
          ? Effect.fail(new StorageUnavailable({ outcome: "unknown", message: "the test said so" }))
          : to.storage.insert(record)
      )
    expect(await copying(from, { ...to, storage: { ...to.storage, insert } })).toBe(1)
    expect(await heldBy(to)).toEqual(await heldBy(from))
  })

  test("is no success where the two are not the same in the end, as of a target that changes what it is given", async () => {
    const [from, to] = [await sideWith(recordOf("a")), await sideWith()]
    const insert: Side["storage"]["insert"] = (record) => to.storage.insert({ ...record, body: { of: "another" } })
    expect(await copying(from, { ...to, storage: { ...to.storage, insert } })).toBe("CopyDiffers")
  })

  test("writes over nothing that a server has written meanwhile", async () => {
    const [from, to] = [await sideWith(recordOf("a")), await sideWith()]
    const meanwhile = recordOf("a", { body: { of: "a server" } })
    const insert: Side["storage"]["insert"] = (record) =>
      Effect.andThen(Effect.ignore(to.storage.insert(meanwhile)), to.storage.insert(record))
    expect(await copying(from, { ...to, storage: { ...to.storage, insert } })).toBe("CopyDiffers")
    expect(await heldBy(to)).toEqual([meanwhile])
  })
})
