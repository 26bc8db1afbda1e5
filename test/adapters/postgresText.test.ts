import { describe, expect, test } from "bun:test"
import { fromBodyText, textArray, toBodyText } from "../../adapters/postgres/rows.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { seed } from "./seed.ts"

const draw = drawFrom(`postgres text ${seed}`)
/** What stands at the borders of what is escaped, and what an escape is made of. */
const units = [
  0, 1, 2, 0x30, 0x31, 0x5c, 0x22, 0x61, 0x75, 0x7f, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff
]
const text = () =>
  String.fromCharCode(...Array.from({ length: draw.below(6) }, () => units[draw.below(units.length)] ?? 0))
const texts = Array.from({ length: 400 }, text)

describe(`text that PostgreSQL can hold (seed ${seed})`, () => {
  test("bodies come back the same, and what is held is JSON without what jsonb refuses", () => {
    for (const [i, value] of texts.entries()) {
      const body = { [value]: [value, { [`${value}${i}`]: `\\u0000${value}\\u0001` }] }
      const held = toBodyText(body)
      expect(fromBodyText(held)).toEqual(body)
      const inside = JSON.stringify(JSON.parse(held))
      expect(inside).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/)
      expect(fromBodyText(inside)).toEqual(body)
    }
  })

  test("an array keeps quotes, backslashes, braces and the word NULL apart", () => {
    expect(textArray(["a", `"`, "\\", "{,}", "NULL", ""])).toBe(`{"a","\\"","\\\\","{,}","NULL",""}`)
  })
})
