import { describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { expected, slow, slowestOf } from "./timings.ts"

describe("the timings of test files", () => {
  test("list slow files that are there, each once", () => {
    expect(slow.filter((file) => !existsSync(join(import.meta.dir, "../..", file)))).toEqual([])
    expect(new Set(slow).size).toBe(slow.length)
  })

  test("have the slow files begin, in the order of the list", () => {
    const { files } = expected(["a.test.ts", ...slow.toReversed()])
    const order = Object.keys(files).toSorted((one, other) => (files[other] ?? 0) - (files[one] ?? 0))
    expect(order).toEqual([...slow, "a.test.ts"])
  })

  test("end a run with the files that took longest", () => {
    const lines = slowestOf({ version: 1, files: { "a.test.ts": 900, "b.test.ts": 61_500, "c.test.ts": 2000 } }, 2)
    expect(lines).toEqual(["  61.5 s  b.test.ts", "   2.0 s  c.test.ts"])
  })
})
