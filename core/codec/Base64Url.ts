/** Hex in lower case, without the allocations and checks that text from elsewhere would need: ours is short and right. */

const digits = new TextEncoder().encode("0123456789abcdef")
const hexReader = new TextDecoder()

/** Decoded and not strung together: a text made of pieces keeps each of them until it is read. */
export const hexOf = (bytes: Uint8Array, start = 0, end = bytes.length): string => {
  const text = new Uint8Array(2 * (end - start))
  for (let i = start, to = 0; i < end; i++) {
    const byte = bytes[i] ?? 0
    text[to++] = digits[byte >> 4] ?? 0
    text[to++] = digits[byte & 15] ?? 0
  }
  return hexReader.decode(text)
}

const nibble = (code: number): number => (code < 58 ? code - 48 : code - 87)

/** Writes what `hexOf` wrote back into bytes. */
export const writeHex = (text: string, bytes: Uint8Array, at: number): void => {
  for (let i = 0; i < text.length; i += 2) {
    bytes[at + i / 2] = (nibble(text.charCodeAt(i)) << 4) | nibble(text.charCodeAt(i + 1))
  }
}

/**
 * Base64url without padding (RFC 4648 §5), one text for each value. `effect/encoding` accepts several forms of one value
 * and finds out by regular expressions; a token has one form, and every request reads one. What proves it, in
 * `core/testing`, writes by `effect/encoding`, so as not to be made of what it proves.
 */

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
const codes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0))
const notALetter = 0xff
const values = new Uint8Array(256).fill(notALetter)
for (const [value, code] of codes.entries()) values[code] = value

const ascii = new TextDecoder()

export const textLength = (bytes: number): number => Math.ceil((bytes * 4) / 3)

/** Writes the text of the first `length` bytes into `text`, as the codes of its characters, and says where it ends. */
export const writeBase64Url = (bytes: Uint8Array, text: Uint8Array, start: number, length = bytes.length): number => {
  const whole = length - (length % 3)
  let at = start
  for (let i = 0; i < whole; i += 3) {
    const group = ((bytes[i] ?? 0) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0)
    text[at++] = codes[group >> 18] ?? 0
    text[at++] = codes[(group >> 12) & 63] ?? 0
    text[at++] = codes[(group >> 6) & 63] ?? 0
    text[at++] = codes[group & 63] ?? 0
  }
  if (whole === length) return at
  const first = bytes[whole] ?? 0
  const second = length - whole === 2 ? (bytes[whole + 1] ?? 0) : 0
  text[at++] = codes[first >> 2] ?? 0
  text[at++] = codes[((first << 4) | (second >> 4)) & 63] ?? 0
  if (length - whole === 2) text[at++] = codes[(second << 2) & 63] ?? 0
  return at
}

/** Of the first `length` bytes: a part of an array is an object that costs more than this. */
export const base64Url = (bytes: Uint8Array, length = bytes.length): string => {
  const text = new Uint8Array(textLength(length))
  writeBase64Url(bytes, text, 0, length)
  return ascii.decode(text)
}

/** Whether a text is that of `bytes`, found in a time that says nothing about where the two differ. */
export const isBase64UrlOf = (bytes: Uint8Array, text: string): boolean => {
  let difference = textLength(bytes.length) ^ text.length
  let held = 0
  let bits = 0
  let at = 0
  for (let i = 0; i < bytes.length; i++) {
    held = (held << 8) | (bytes[i] ?? 0)
    for (bits += 8; bits >= 6; bits -= 6) {
      difference |= (codes[(held >> (bits - 6)) & 63] ?? 0) ^ text.charCodeAt(at++)
    }
    held &= 0xff
  }
  if (bits > 0) difference |= (codes[(held << (6 - bits)) & 63] ?? 0) ^ text.charCodeAt(at)
  return difference === 0
}

const valueAt = (text: string, at: number): number => values[text.charCodeAt(at)] ?? notALetter

/** Reads a part of a text into `bytes`, and says whether it was the one text of what was read. */
export const readBase64UrlInto = (
  text: string,
  start: number,
  end: number,
  bytes: Uint8Array,
  into: number
): boolean => {
  const over = (end - start) % 4
  if (over === 1) return false
  const whole = end - over
  let seen = 0
  let at = into
  for (let i = start; i < whole; i += 4) {
    const a = valueAt(text, i)
    const b = valueAt(text, i + 1)
    const c = valueAt(text, i + 2)
    const d = valueAt(text, i + 3)
    seen |= a | b | c | d
    bytes[at++] = (a << 2) | (b >> 4)
    bytes[at++] = (b << 4) | (c >> 2)
    bytes[at++] = (c << 6) | d
  }
  if (over === 0) return seen < 64
  const a = valueAt(text, whole)
  const b = valueAt(text, whole + 1)
  const c = over === 3 ? valueAt(text, whole + 2) : 0
  bytes[at++] = (a << 2) | (b >> 4)
  if (over === 3) bytes[at] = (b << 4) | (c >> 2)
  // Bits left over at the end would make a second text for the same bytes.
  const left = over === 3 ? c & 3 : b & 15
  return (seen | a | b | c) < 64 && left === 0
}

/** The bytes of a text, or of a part of it; `undefined` where it is not base64url in its one form. */
export const readBase64Url = (text: string, start = 0, end = text.length): Uint8Array | undefined => {
  const bytes = new Uint8Array(Math.max(0, Math.floor(((end - start) * 3) / 4)))
  return readBase64UrlInto(text, start, end, bytes, 0) ? bytes : undefined
}
