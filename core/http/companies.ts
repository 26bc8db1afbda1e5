import { Effect } from "effect"
import type { EndpointOf } from "../openapi/contract/Contract.ts"
import { type Companies, type companiesContract, companyScopes } from "../openapi/contract/companies.ts"
import { json, noStore } from "./answer.ts"
import { guard } from "./guard.ts"
import type { Parts } from "./Parts.ts"

const companies = [
  { id: "1", name: "Acme", domain: "acme.example" },
  { id: "2", name: "Globex", domain: "globex.example" }
] as const

const needed = { scopes: companyScopes }

/** The example resource: what a product's own API looks like behind the guard. */
export const companiesEndpoint =
  (parts: Parts): EndpointOf<typeof companiesContract> =>
  (call) =>
    Effect.mapEager(guard(parts.grants, call.workspace, call.request, needed, call.now), (principal) => {
      const as: Companies["as"] =
        principal._tag === "User"
          ? { kind: "user", user: principal.user }
          : { kind: principal._tag === "ApiKey" ? "api_key" : "workspace" }
      return json(200, { data: companies, as } satisfies Companies, noStore)
    })
