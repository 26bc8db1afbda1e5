import { describe, expect, test } from "bun:test"
import { readCounts } from "./Counts.ts"

describe("the summary of bun test", () => {
  test("is read whatever its colours", () => {
    const output =
      "\u001b[0m\u001b[32m 12 pass\u001b[0m\n\u001b[0m\u001b[2m 1 fail\u001b[0m\n 30 expect() calls\nRan 13 tests across 2 files. [3.00ms]\n"
    expect(readCounts(output)).toEqual({ pass: 12, fail: 1, skip: 0 })
  })

  test("counts what was left out", () => {
    const output =
      "\n 2 pass\n 2 skip\n 2 todo\n 3 fail\n 1 error\n 2 expect() calls\nRan 9 tests across 3 files. [5.00ms]"
    expect(readCounts(output)).toEqual({ pass: 2, fail: 3, skip: 4 })
  })

  test("is the last one, when a test has printed another", () => {
    const output =
      "\n 7 pass\nRan 7 tests across 1 file.\n(pass) a\n\n 0 pass\n 1 fail\nRan 1 test across 1 file. [1ms]"
    expect(readCounts(output)).toEqual({ pass: 0, fail: 1, skip: 0 })
  })

  test("is not made up when it is missing or does not add up", () => {
    expect(readCounts("panic: Segmentation fault")).toBeUndefined()
    expect(readCounts("\n 2 pass\n 0 fail\nRan 3 tests across 1 file. [1ms]")).toBeUndefined()
  })
})
