import { expect, test } from "bun:test"
import { fromKeyText, toKeyText } from "../../adapters/records/KeyText.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { seed } from "./seed.ts"

const draw = drawFrom(`KeyText/${seed}`)
const units = [
  0, 1, 2, 3, 0x1f, 0x20, 0x41, 0xe9, 0xd7ff, 0xd800, 0xd83d, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff
] as const
const text = () => String.fromCharCode(...Array.from({ length: draw.below(6) }, () => draw.oneOf(units)))
const texts = Array.from({ length: 3000 }, text)

test("a key comes back from its text as it was, lone surrogates and NUL too", () => {
  for (const key of texts) expect(fromKeyText(toKeyText(key)), `seed ${seed}`).toBe(key)
})

test("key text holds no NUL and no lone surrogate", () => {
  for (const key of texts) {
    const made = toKeyText(key)
    expect(made, `seed ${seed}`).not.toContain("\0")
    expect(Buffer.from(made).toString(), `seed ${seed}`).toBe(made)
  }
})

test("the UTF-8 bytes of key text are in the order of the keys", () => {
  for (const key of texts) {
    const other = texts[draw.below(texts.length)] ?? ""
    const order = Buffer.compare(Buffer.from(toKeyText(key)), Buffer.from(toKeyText(other)))
    expect(order, `seed ${seed}`).toBe(key < other ? -1 : key > other ? 1 : 0)
  }
})

test("printable characters of the common scripts stay as they are", () => {
  expect(toKeyText("someone+tag@exämple.org 中文 Ω")).toBe("someone+tag@exämple.org 中文 Ω")
})
