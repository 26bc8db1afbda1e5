import { describe, expect, test } from "bun:test"
import { failuresIn } from "./failuresIn.ts"

describe("the failures in what bun test printed", () => {
  test("are told whole, and without what others said", () => {
    const output = [
      "bun test v1",
      "",
      "test/a.test.ts:",
      "(pass) one [1.00ms]",
      "9 | expect(1).toBe(2)",
      "\u001b[31merror\u001b[0m: expect(received).toBe(expected)",
      "(fail) two [2.00ms]",
      "a word of the third",
      "(pass) three",
      "",
      "test/b.test.ts:",
      "error: no",
      "(fail) four",
      "",
      "test/c.test.ts:",
      "✗ test/c.test.ts (worker crashed: exit code 0)",
      "",
      "2 tests failed:",
      "(fail) two [2.00ms]",
      "(fail) four",
      "",
      " 2 pass"
    ].join("\n")
    expect(failuresIn(output)).toEqual([
      "9 | expect(1).toBe(2)\nerror: expect(received).toBe(expected)\n(fail) two [2.00ms]",
      "error: no\n(fail) four",
      "✗ test/c.test.ts (worker crashed: exit code 0)"
    ])
  })

  test("are none where all passed", () => {
    expect(failuresIn("test/a.test.ts:\nerror: told by a test that passes\n(pass) one\n\n 1 pass\n")).toEqual([])
  })

  test("are cut where one has no end", () => {
    const [only = ""] = failuresIn(`${"x".repeat(100_000)}\n(fail) long`)
    expect(only.length).toBeLessThan(9_000)
    expect(only).toEndWith("\n(fail) long")
  })
})
