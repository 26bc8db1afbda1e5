import { describe, expect, test } from "bun:test"
import { base64Url, isBase64UrlOf, readBase64Url } from "../../core/codec/Base64Url.ts"

const bytesOf = (length: number) => Uint8Array.from({ length }, (_, at) => (at * 89 + length * 31) % 256)

const lengths = Array.from({ length: 70 }, (_, length) => length)

describe("base64url", () => {
  test("is written as the platform writes it, and read back", () => {
    for (const length of lengths) {
      const text = base64Url(bytesOf(length))
      expect(text).toBe(Buffer.from(bytesOf(length)).toString("base64url"))
      expect(readBase64Url(text)).toEqual(bytesOf(length))
    }
  })

  test("is the text of these bytes and of no others", () => {
    for (const length of lengths) {
      const text = base64Url(bytesOf(length))
      expect(isBase64UrlOf(bytesOf(length), text)).toBe(true)
      for (const other of [`${text}A`, `A${text}`, text.slice(1), text.slice(0, -1)]) {
        expect(isBase64UrlOf(bytesOf(length), other)).toBe(other === text)
      }
      for (let at = 0; at < text.length; at++) {
        const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)
        expect(isBase64UrlOf(bytesOf(length), changed)).toBe(false)
      }
    }
  })
})
