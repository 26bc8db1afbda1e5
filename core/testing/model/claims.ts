import type { ClaimsAsked } from "../script/Command.ts"
import type { Scope } from "./State.ts"

const isOneOf = (claims: ClaimsAsked | undefined, ...all: ReadonlyArray<ClaimsAsked>): boolean =>
  claims !== undefined && all.includes(claims)

/** OpenID Connect Core §5.5: in a sign-in request, a claim by its name brings the scope that covers it. */
export const widenedBy = (claims: ClaimsAsked | undefined, scope: ReadonlyArray<Scope>): ReadonlyArray<Scope> =>
  scope.includes("openid") &&
  !scope.includes("profile") &&
  isOneOf(claims, "name in the ID token", "name at userinfo", "name and time")
    ? [...scope, "profile"]
    : scope

export const asksForTime = (claims: ClaimsAsked | undefined): boolean =>
  isOneOf(claims, "time of sign-in", "name and time")

export const asksForName = (claims: ClaimsAsked | undefined): boolean =>
  isOneOf(claims, "name in the ID token", "name and time")

/** Whom alone the answer may name. */
export const onlyAbout = (claims: ClaimsAsked | undefined): string | undefined =>
  claims === "only ann" ? "ann" : claims === "only bob" ? "bob" : undefined
