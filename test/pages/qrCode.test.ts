import { expect, test } from "bun:test"
import jsQR from "jsqr"
import { type Modules, qrCode } from "../../core/pages/qrCode.ts"

const scale = 4
const quiet = 4

/** What a reader that we did not write finds in a picture of the modules. */
const readOf = (modules: Modules): string | undefined => {
  const size = (modules.length + 2 * quiet) * scale
  const pixels = new Uint8ClampedArray(size * size * 4).fill(255)
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      const dark = modules[Math.floor(y / scale) - quiet]?.[Math.floor(x / scale) - quiet]
      if (dark === true) pixels.fill(0, (y * size + x) * 4, (y * size + x) * 4 + 3)
    }
  }
  return jsQR.default(pixels, size, size)?.data
}

const address = "https://auth.example.com/t/one/device?user_code=WDJB-MJHT"

test.each([undefined, 0, 1, 2, 3, 4, 5, 6, 7])("a QR code is read as it was written, under mask %p", (mask) => {
  for (let length = 1; length <= 300; length += 23) {
    const text = address.repeat(6).slice(0, length)
    expect(readOf(qrCode(text, mask) ?? [])).toBe(text)
  }
})

test("a text that is too long for one is none", () => {
  expect(qrCode("x".repeat(5000))).toBeUndefined()
})
