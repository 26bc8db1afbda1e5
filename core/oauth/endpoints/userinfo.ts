import { Effect, Option, Schema } from "effect"
import { secretJson } from "../../http/answer.ts"
import { bound, type Contract, type Endpoint, type HandlerOf, type Services } from "../../http/Route.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { InsufficientScope, InvalidToken, PortUnavailable, TokenRequired, WrongCaller } from "../../rules/Refusal.ts"
import { guard } from "../presented/guard.ts"

const profileScopes = ["profile"] as const

export const Person = Schema.Struct({
  sub: Schema.String,
  name: Schema.optionalKey(Schema.String),
  email: Schema.optionalKey(Schema.String),
  email_verified: Schema.optionalKey(Schema.Boolean),
  picture: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "Person" })
export type Person = typeof Person.Type

const userinfo = {
  heading: "Resources",
  summary: "Who the token speaks for",
  description: "The profile of the person; a token without one has none to show.",
  callers: [{ shows: "token", scopes: profileScopes }],
  answers: [{ description: "The person.", like: () => secretJson(200, {}), body: Person }],
  faults: [TokenRequired, InvalidToken, InsufficientScope, WrongCaller, PortUnavailable, StorageUnavailable]
} as const

const userinfoContract = { id: "userinfo", ...userinfo } as const satisfies Contract
const userinfoByPostContract = { id: "userinfoByPost", ...userinfo } as const satisfies Contract

const needs = { scopes: profileScopes, callers: ["User"] } as const

/** The profile of the person that a token speaks for; a token that speaks for nobody has none. */
const userinfoHandler = (services: Services): HandlerOf<typeof userinfoContract> =>
  Effect.fnUntracedEager(function* (call) {
    const principal = yield* guard(services, call.workspace, call.request, needs, call.now)
    const profile = yield* services.owner.profile(call.workspace, principal.user)
    if (Option.isNone(profile)) return yield* new InvalidToken({ reason: "revoked" })
    return secretJson(200, profile.value satisfies Person)
  })

export const userinfoEndpoint: Endpoint = {
  path: "/oauth/userinfo",
  match: "exact",
  methods: { GET: bound(userinfoContract, userinfoHandler), POST: bound(userinfoByPostContract, userinfoHandler) },
  errors: "bearer",
  cors: true,
  metadata: { name: "userinfo_endpoint" }
}
