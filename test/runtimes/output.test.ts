import { expect, spyOn, test } from "bun:test"
import { Effect } from "effect"
import { facts, print, table } from "../../runtimes/command/output.ts"

/** What moves a terminal's cursor, turns its text round, or ends a line. */
const steering = ["\u001b[2J", "\u0007", "\u009b1A", "\u202e", "\u2028", "\r", "\n", "\ud800"]

test("what strangers wrote steers no terminal", () => {
  const said = spyOn(console, "log").mockImplementation(() => undefined)
  try {
    for (const text of steering) {
      const lines = [...table(["NAME", "ID"], [[`a${text}b`, "id"]]), ...facts([["name", `a${text}b`]]), `a${text}b`]
      Effect.runSync(print(false, undefined, lines))
      const printed = String(said.mock.lastCall?.[0])
      expect(printed.split("\n")).toHaveLength(4)
      expect(printed.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u)
    }
  } finally {
    said.mockRestore()
  }
})

test("a column is as wide as what is read there", () => {
  expect(table(["NAME", "ID"], [["a\u202eb", "1"]])).toEqual(["NAME  ID", "a\ufffdb   1"])
})
