import { Schema } from "effect"
import { secretJson } from "../../http/answer.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { InsufficientScope, InvalidToken, TokenRequired } from "../../rules/Refusal.ts"
import type { Contract } from "./Contract.ts"

export const profileScopes = ["profile"] as const

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
  faults: [TokenRequired, InvalidToken, InsufficientScope, StorageUnavailable]
} as const

export const userinfoContract = { id: "userinfo", ...userinfo } as const satisfies Contract
export const userinfoByPostContract = { id: "userinfoByPost", ...userinfo } as const satisfies Contract
