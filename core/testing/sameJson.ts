import type { Json } from "../ports/Storage.ts"

/** Equal as JSON: the order of keys does not count, and 0 is -0. */
export const sameJson = (a: Json, b: Json): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    return a.every((item, index) => sameJson(item, b[index]))
  }
  const [left, right] = [new Map(Object.entries(a)), new Map(Object.entries(b))]
  if (left.size !== right.size) return false
  return [...left].every(([key, value]) => {
    const other = right.get(key)
    return other !== undefined && sameJson(value, other)
  })
}
