import type { Scope } from "./State.ts"
import type { World } from "./World.ts"

/** The scopes that there are, in the order in which they are told. */
export const known = ({ apis, openId }: World): ReadonlyArray<Scope> => [
  "api",
  "profile",
  ...(apis === true ? (["admin"] as const) : []),
  ...(openId === true ? (["openid"] as const) : [])
]

/** Whether scopes are enough: the one that is needed is there, or implied. */
export const reaches = (scope: ReadonlyArray<Scope>, needed: Scope): boolean =>
  scope.includes(needed) || (needed === "api" && scope.includes("admin"))

/** RFC 6749 §3.1: a parameter without a value was not sent. */
const wasSent = (asked: string | null): asked is string => asked !== null && asked !== ""

/** Omitted means `api`; unknown ones beside known ones are dropped; nothing left is `invalid_scope`. */
export const grantable = (asked: string | null, world: World): ReadonlyArray<Scope> => {
  if (!wasSent(asked)) return ["api"]
  const words = asked.split(" ")
  return known(world).filter((scope) => words.includes(scope))
}

/** What a refresh asks for, beyond what it may have. */
export const asksBeyond = (asked: string | null, granted: ReadonlyArray<Scope>, world: World): boolean =>
  wasSent(asked) && known(world).some((scope) => asked.split(" ").includes(scope) && !reaches(granted, scope))

export const asksOnlyUnknown = (asked: string | null, world: World): boolean =>
  wasSent(asked) && grantable(asked, world).length === 0

export const asksForUnknown = (asked: string | null, world: World): boolean =>
  wasSent(asked) && asked.split(" ").some((word) => known(world).every((scope) => scope !== word))

/** A refresh without a scope has the grant's; one may ask for what the grant's imply, in their place. */
export const narrowed = (asked: string | null, granted: ReadonlyArray<Scope>, world: World): ReadonlyArray<Scope> =>
  wasSent(asked) ? known(world).filter((scope) => asked.split(" ").includes(scope) && reaches(granted, scope)) : granted
