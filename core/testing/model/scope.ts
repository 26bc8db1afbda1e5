import type { Scope } from "./State.ts"

const registry: ReadonlyArray<Scope> = ["api", "profile"]

/** RFC 6749 §3.1: a parameter without a value was not sent. */
const wasSent = (asked: string | null): asked is string => asked !== null && asked !== ""

/** Omitted means `api`; unknown ones beside known ones are dropped; nothing left is `invalid_scope`. */
export const grantable = (asked: string | null): ReadonlyArray<Scope> => {
  if (!wasSent(asked)) return ["api"]
  const words = asked.split(" ")
  return registry.filter((scope) => words.includes(scope))
}

/** What a refresh asks for, beyond what it may have. */
export const asksBeyond = (asked: string | null, granted: ReadonlyArray<Scope>): boolean =>
  wasSent(asked) && registry.some((scope) => asked.split(" ").includes(scope) && !granted.includes(scope))

export const asksOnlyUnknown = (asked: string | null): boolean => wasSent(asked) && grantable(asked).length === 0

export const asksForUnknown = (asked: string | null): boolean =>
  wasSent(asked) && asked.split(" ").some((word) => word !== "api" && word !== "profile")

/** A refresh without a scope has the grant's. */
export const narrowed = (asked: string | null, granted: ReadonlyArray<Scope>): ReadonlyArray<Scope> =>
  wasSent(asked) ? granted.filter((scope) => asked.split(" ").includes(scope)) : granted
