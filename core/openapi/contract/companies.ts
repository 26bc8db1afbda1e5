import { Schema } from "effect"
import { json, noStore } from "../../http/answer.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { InsufficientScope, InvalidToken, TokenRequired } from "../../rules/Refusal.ts"
import type { Contract } from "./Contract.ts"

export const companyScopes = ["api"] as const

export const Companies = Schema.Struct({
  data: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String, domain: Schema.String })),
  as: Schema.Struct({
    kind: Schema.Literals(["user", "workspace", "api_key"]),
    user: Schema.optionalKey(Schema.String)
  })
}).annotate({ identifier: "Companies" })
export type Companies = typeof Companies.Type

export const companiesContract = {
  id: "companies",
  heading: "Resources",
  summary: "The example resource",
  description: "What a product's own API looks like behind the guard.",
  callers: [{ shows: "token", scopes: companyScopes }, { shows: "apiKey" }],
  answers: [{ description: "Some companies.", like: () => json(200, {}, noStore), body: Companies }],
  faults: [TokenRequired, InvalidToken, InsufficientScope, StorageUnavailable]
} as const satisfies Contract
