import type { Instant } from "../rules/Instant.ts"

// Numbers are written byte by byte: a DataView over a small array costs more than everything that it would write.

export const writeNumber = (bytes: Uint8Array, at: number, length: number, value: number): void => {
  let rest = value
  for (let i = at + length - 1; i >= at; i--) {
    bytes[i] = rest % 256
    rest = Math.floor(rest / 256)
  }
}

export const readNumber = (bytes: Uint8Array, at: number, length: number): number => {
  let value = 0
  for (let i = at; i < at + length; i++) value = value * 256 + (bytes[i] ?? 0)
  return value
}

/** A moment as six bytes, the highest first. */
export const instantLength = 6

export const readInstant = (bytes: Uint8Array, at: number): Instant =>
  // 48 bits make a whole number that is exact: an Instant.
  readNumber(bytes, at, instantLength) as Instant
