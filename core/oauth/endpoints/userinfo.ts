import { Effect, Option, Result, Schema } from "effect"
import { type ClientIdentifier, clientKey } from "../../client/ClientIdentifier.ts"
import { userinfoAlgorithmOf } from "../../client/openIdMembers.ts"
import { findAgain } from "../../engine/Clients.ts"
import type { SigningFault } from "../../engine/Signing.ts"
import { noStore, secretJson } from "../../http/answer.ts"
import { isForm, readerOf, sentForm } from "../../http/form.ts"
import type { HeaderPairs, HttpRequest, HttpResponse } from "../../http/Http.ts"
import {
  bound,
  type Call,
  type Caller,
  type Contract,
  type Endpoint,
  type HandlerOf,
  type Services
} from "../../http/Route.ts"
import { claimsWithin, standardClaims, toldClaims } from "../../rules/Claims.ts"
import { Contended, InsufficientScope, InvalidRequest, InvalidToken, WrongCaller } from "../../rules/Refusal.ts"
import { offersOpenId, openId, reaches } from "../../rules/Scope.ts"
import { scopesOf } from "../../workspace/Workspace.ts"
import { bearerScheme } from "../presented/bearer.ts"
import { guard, guardFaults } from "../presented/guard.ts"
import { withProofFaults } from "../presented/proofs.ts"

/** OpenID Connect Core §5.1, and what a host's own rows of claims name. */
const Person = Schema.StructWithRest(
  Schema.Struct({
    sub: Schema.String,
    ...Object.fromEntries(Object.entries(standardClaims).map(([name, schema]) => [name, Schema.optionalKey(schema)]))
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
).annotate({ identifier: "Person" })

/** RFC 6750 §2.2: a browser's form can set no header. */
const TokenInForm = Schema.Struct({
  access_token: Schema.optionalKey(
    Schema.String.annotate({ description: "RFC 6750 §2.2: the token, where it is not in the header." })
  )
}).annotate({ identifier: "TokenInForm" })

const faults = [...guardFaults, Contended]

const signedJson = (body: string, tells: HeaderPairs = []): HttpResponse => ({
  status: 200,
  headers: [["content-type", "application/jwt"], ...noStore, ...tells],
  body
})

const callersOf = ({ policy }: Services): ReadonlyArray<Caller> =>
  [...(offersOpenId(policy.scopes) ? [openId] : []), "profile"].map((scope) => ({ shows: "token", scopes: [scope] }))

const contractOf = (id: string) => (services: Services) => {
  const signed = offersOpenId(services.policy.scopes)
    ? [{ description: "The same, signed, for a client that registered for it.", like: () => signedJson("") }]
    : []
  return withProofFaults(services, "resource", {
    id,
    heading: "Resources",
    summary: "Who the token speaks for",
    description: "The profile of the person, as far as the token's scopes reach; a token without one has none to show.",
    callers: callersOf(services),
    answers: [{ description: "The person.", like: () => secretJson(200, {}), body: Person }, ...signed],
    faults
  } as const satisfies Contract)
}

const userinfoContract = contractOf("userinfo")
const byPostContract = (services: Services) => {
  const contract = contractOf("userinfoByPost")(services)
  return { ...contract, form: TokenInForm, faults: [InvalidRequest, ...contract.faults] } as const satisfies Contract
}

const readToken = readerOf(TokenInForm.fields)

const twoTokens = new InvalidRequest({
  reason: "two_client_credentials",
  message: "The token came in the header and in the form."
})

/** The request with its token where every other resource reads it. RFC 6750 §2: a token comes in one way alone. */
const withToken = (request: HttpRequest): Result.Result<HttpRequest, InvalidRequest> => {
  if (!isForm(request)) return Result.succeed(request)
  return Result.flatMap(Result.flatMap(sentForm(request), readToken), ({ access_token: token }) => {
    if (token === undefined) return Result.succeed(request)
    if ((request.headers.get("authorization") ?? "") !== "") return Result.fail(twoTokens)
    const { headers } = request
    const shown = `${bearerScheme} ${token}`
    return Result.succeed({
      ...request,
      headers: { get: (name: string) => (name === "authorization" ? shown : headers.get(name)) }
    })
  })
}

/** What a token reaches is told before whom it speaks for: the challenge names the scope to ask for (RFC 6750 §3.1). */
const needs = { scopes: [] } as const

/** OpenID Connect Core §5.3.2: signed, with who says it and to whom, where the client registered for it. */
const answered = (
  { clients, policy, signing }: Services,
  { now, workspace }: Call,
  identifier: ClientIdentifier,
  person: Readonly<Record<string, unknown>>,
  tells: HeaderPairs | undefined
) =>
  Effect.flatMapEager(
    // The guard has read it.
    findAgain(clients, workspace.id, clientKey(identifier), now),
    (client): Effect.Effect<HttpResponse, SigningFault> => {
      const algorithm = client === undefined ? undefined : userinfoAlgorithmOf(client, policy)
      if (algorithm === undefined) return Effect.succeed(secretJson(200, person, tells))
      return Effect.flatMapEager(signing.ready(workspace, { algorithm, life: policy.accessTtl }, now), (sign) =>
        Effect.map(sign({}, { ...person, iss: workspace.issuer, aud: identifier }), (body) => signedJson(body, tells))
      )
    }
  )

/** The person that a token speaks for, as far as its scopes reach; a token that speaks for no person has none. */
const userinfoHandler = (services: Services): HandlerOf<ReturnType<typeof userinfoContract>> => {
  const telling = [openId, ...services.claimScopes.map(({ scope }) => scope)]
  return (call) =>
    guard(
      services,
      call.workspace,
      call.request,
      needs,
      call.now,
      (
        principal,
        tells
      ): Effect.Effect<HttpResponse, InsufficientScope | WrongCaller | InvalidToken | SigningFault> => {
        const { workspace } = call
        const registry = scopesOf(services.policy, workspace)
        const reached = telling.filter((name) => reaches(registry, principal.scope, [name]))
        if (reached.length === 0) {
          return Effect.fail(new InsufficientScope({ needed: [offersOpenId(registry) ? openId : "profile"] }))
        }
        if (principal._tag !== "User") return Effect.fail(new WrongCaller({ needed: ["User"] }))
        return Effect.flatMapEager(
          services.owner.profile(workspace, principal.user),
          (profile): Effect.Effect<HttpResponse, InvalidToken | SigningFault> => {
            if (Option.isNone(profile)) return Effect.fail(new InvalidToken({ reason: "revoked" }))
            const claims = toldClaims(profile.value, claimsWithin(services.claimScopes, reached))
            return answered(services, call, principal.client, claims, tells)
          }
        )
      }
    )
}

const byPostHandler = (services: Services): HandlerOf<ReturnType<typeof byPostContract>> => {
  const handle = userinfoHandler(services)
  return (call) => {
    const request = withToken(call.request)
    return Result.isFailure(request) ? Effect.fail(request.failure) : handle({ ...call, request: request.success })
  }
}

export const userinfoEndpoint: Endpoint = {
  path: "/oauth/userinfo",
  match: "exact",
  methods: { GET: bound(userinfoContract, userinfoHandler), POST: bound(byPostContract, byPostHandler) },
  errors: "bearer",
  cors: true,
  metadata: { name: "userinfo_endpoint" }
}
