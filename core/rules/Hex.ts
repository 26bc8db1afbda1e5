/** Hex in lower case, without the allocations and checks that text from elsewhere would need: ours is short and right. */

const digits = new TextEncoder().encode("0123456789abcdef")
const ascii = new TextDecoder()

/** Decoded and not strung together: a text made of pieces keeps each of them for as long as nobody reads it. */
export const hexOf = (bytes: Uint8Array, start = 0, end = bytes.length): string => {
  const text = new Uint8Array(2 * (end - start))
  for (let i = start, to = 0; i < end; i++) {
    const byte = bytes[i] ?? 0
    text[to++] = digits[byte >> 4] ?? 0
    text[to++] = digits[byte & 15] ?? 0
  }
  return ascii.decode(text)
}

const nibble = (code: number): number => (code < 58 ? code - 48 : code - 87)

/** Writes what `hexOf` wrote back into bytes. */
export const writeHex = (text: string, bytes: Uint8Array, at: number): void => {
  for (let i = 0; i < text.length; i += 2) {
    bytes[at + i / 2] = (nibble(text.charCodeAt(i)) << 4) | nibble(text.charCodeAt(i + 1))
  }
}
