const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  return crc
})

const step = (crc: number, byte: number): number => (crc >>> 8) ^ (table[(crc ^ byte) & 0xff] ?? 0)

/** CRC-32 (IEEE 802.3) of an ASCII text, or of the codes of its characters. */
export type Crc32 = (text: string | Uint8Array<ArrayBuffer>) => number

/** As every platform can. */
export const crc32ByTable: Crc32 = (text) => {
  let crc = 0xffffffff
  if (typeof text === "string") for (let i = 0; i < text.length; i++) crc = step(crc, text.charCodeAt(i))
  else for (let i = 0; i < text.length; i++) crc = step(crc, text[i] ?? 0)
  return (crc ^ 0xffffffff) >>> 0
}

let crc32 = crc32ByTable

/** Puts a platform's own in its place, for the whole process. Both make the same of every ASCII text. */
export const crc32By = (platform: Crc32): void => {
  crc32 = platform
}

export const crc32Of: Crc32 = (text) => crc32(text)
