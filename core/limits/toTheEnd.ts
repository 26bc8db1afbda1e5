import type { LatelyUsed } from "../rules/LatelyUsed.ts"

/**
 * For tables that are written to the store in their own order, up to the first that fails: the next time that one comes
 * last, so a single record that cannot be had keeps no other one waiting.
 */
export const toTheEnd = <V extends object>(table: LatelyUsed<string, V>, name: string, value: V): void => {
  // What was replaced or dropped meanwhile is left as it is.
  if (table.get(name) !== value) return
  table.delete(name)
  table.set(name, value)
}
