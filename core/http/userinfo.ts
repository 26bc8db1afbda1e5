import { Effect, Option } from "effect"
import type { EndpointOf } from "../openapi/contract/Contract.ts"
import { type Person, profileScopes, type userinfoContract } from "../openapi/contract/userinfo.ts"
import { InsufficientScope, InvalidToken } from "../rules/Refusal.ts"
import { secretJson } from "./answer.ts"
import { guard } from "./guard.ts"
import type { Parts } from "./Parts.ts"

const needs = { scopes: profileScopes }

/** The profile of the person that a token speaks for; a token that speaks for nobody has none. */
export const userinfoEndpoint = (parts: Parts): EndpointOf<typeof userinfoContract> =>
  Effect.fnUntracedEager(function* (call) {
    const principal = yield* guard(parts.grants, call.workspace, call.request, needs, call.now)
    if (principal._tag !== "User") return yield* new InsufficientScope({ needed: needs.scopes })
    const profile = yield* parts.owner.profile(call.workspace, principal.user)
    if (Option.isNone(profile)) return yield* new InvalidToken({ reason: "revoked" })
    return secretJson(200, profile.value satisfies Person)
  })
