const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** Appends the checksum of `core/token/FORMAT.md`, by the platform's own CRC-32. */
export const withChecksum = (text: string): string => {
  let rest = Bun.hash.crc32(text)
  let digits = ""
  for (let i = 0; i < 6; i++) {
    digits = base62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return text + digits
}
