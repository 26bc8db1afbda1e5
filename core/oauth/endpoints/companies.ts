import { Effect, Schema } from "effect"
import { json, noStore } from "../../http/answer.ts"
import { bound, type Contract, type Endpoint, type HandlerOf, type Services } from "../../http/Route.ts"
import { guard, guardFaults } from "../presented/guard.ts"
import { withProofFaults } from "../presented/proofs.ts"

const companyScopes = ["api"] as const

const Companies = Schema.Struct({
  data: Schema.Array(Schema.Struct({ id: Schema.String, name: Schema.String, domain: Schema.String })),
  as: Schema.Struct({
    kind: Schema.Literals(["user", "workspace", "api_key"]),
    user: Schema.optionalKey(Schema.String),
    place: Schema.optionalKey(Schema.String)
  })
}).annotate({ identifier: "Companies" })
type Companies = typeof Companies.Type

const companiesContract = {
  id: "companies",
  heading: "Resources",
  summary: "The example resource",
  description: "What a product's own API looks like behind the guard.",
  callers: [{ shows: "token", scopes: companyScopes }, { shows: "apiKey" }],
  answers: [{ description: "Some companies.", like: () => json(200, {}, noStore), body: Companies }],
  faults: guardFaults
} as const satisfies Contract

const companies = [
  { id: "1", name: "Acme", domain: "acme.example" },
  { id: "2", name: "Globex", domain: "globex.example" }
] as const

const needed = { scopes: companyScopes }

/** The example resource: what a product's own API looks like behind the guard. */
const companiesHandler =
  (services: Services): HandlerOf<typeof companiesContract> =>
  (call) =>
    guard(services, call.workspace, call.request, needed, call.now, (principal, tells) => {
      const as: Companies["as"] =
        principal._tag === "User"
          ? {
              kind: "user",
              user: principal.user,
              ...(principal.place === undefined ? {} : { place: principal.place })
            }
          : { kind: principal._tag === "ApiKey" ? "api_key" : "workspace" }
      const headers = tells === undefined ? noStore : [...noStore, ...tells]
      return Effect.succeed(json(200, { data: companies, as } satisfies Companies, headers))
    })

export const companiesEndpoint: Endpoint = {
  path: "/rest/companies",
  match: "exact",
  methods: { GET: bound((services) => withProofFaults(services, "resource", companiesContract), companiesHandler) },
  errors: "bearer",
  cors: true
}
