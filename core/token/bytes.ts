import type { Instant } from "../rules/Instant.ts"

/** A moment as six bytes, the highest first. */
export const instantLength = 6

export const writeInstant = (view: DataView, at: number, instant: Instant): void => {
  view.setUint16(at, Math.floor(instant / 2 ** 32))
  view.setUint32(at + 2, instant % 2 ** 32)
}

export const readInstant = (view: DataView, at: number): Instant =>
  // 48 bits make a whole number that is exact: an Instant.
  (view.getUint16(at) * 2 ** 32 + view.getUint32(at + 2)) as Instant

/** In a time that says nothing about where two of them differ. */
export const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => {
  let difference = a.length ^ b.length
  for (let i = 0; i < a.length; i++) difference |= (a[i] ?? 0) ^ (b[i] ?? 0)
  return difference === 0
}
