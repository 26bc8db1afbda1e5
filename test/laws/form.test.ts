import { expect } from "bun:test"
import { Effect } from "effect"
import { readParameters } from "../../core/http/form.ts"
import { law } from "./law.ts"

const pieces = [
  "a",
  "b=",
  "=",
  "&",
  "&&",
  "+",
  "%",
  "%4",
  "%41",
  "%e4%bd%a0",
  "%ff",
  "%EF%BB%BF",
  "é",
  "\ud800",
  " ",
  "\n"
] as const

law("a form says what the platform's own reader finds in it, the first value of each name", (dice) =>
  Effect.sync(() => {
    const text = Array.from({ length: dice.under(12) }, () => dice.pick(pieces)).join("")
    const expected = new Map<string, string>()
    for (const [name, value] of new URLSearchParams(text)) {
      if (!expected.has(name) && value !== "") expected.set(name, value)
    }
    expect([...readParameters(text).parameters]).toEqual([...expected])
  })
)
