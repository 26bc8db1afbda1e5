/** Hex in lower case, without the allocations and checks that text from elsewhere would need: ours is short and right. */

const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

export const hexOf = (bytes: Uint8Array, start = 0, end = bytes.length): string => {
  let text = ""
  for (let i = start; i < end; i++) text += digits[bytes[i] ?? 0] ?? ""
  return text
}

const nibble = (code: number): number => (code < 58 ? code - 48 : code - 87)

/** Writes what `hexOf` wrote back into bytes. */
export const writeHex = (text: string, bytes: Uint8Array, at: number): void => {
  for (let i = 0; i < text.length; i += 2) {
    bytes[at + i / 2] = (nibble(text.charCodeAt(i)) << 4) | nibble(text.charCodeAt(i + 1))
  }
}
