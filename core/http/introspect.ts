import { Effect, Result } from "effect"
import type { Principal } from "../grant/Principal.ts"
import type { EndpointOf, Named, NameOf } from "../openapi/contract/Contract.ts"
import type { Introspected, introspectContract } from "../openapi/contract/introspect.ts"
import type { ClientId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import { InvalidToken } from "../rules/Refusal.ts"
import type { Resource } from "../rules/Resource.ts"
import { formatScopes, type Scopes } from "../rules/Scope.ts"
import type { Known } from "../server/Grants.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { secretJson } from "./answer.ts"
import type { Call } from "./Call.ts"
import { authenticateClient } from "./clientAuth.ts"
import { need, readForm } from "./form.ts"
import { readBearer } from "./guard.ts"
import type { Parts } from "./Parts.ts"
import { refused } from "./refused.ts"

type Parameters = Named<NameOf<typeof introspectContract>>

/** Whoever asks: a client, about its own tokens; or a resource server of the workspace, about all of them. */
type Asker = { readonly _tag: "Client"; readonly client: ClientId } | { readonly _tag: "ResourceServer" }

const asker = Effect.fnUntracedEager(function* (parts: Parts, call: Call, parameters: Parameters) {
  const authorization = call.request.headers.get("authorization")
  if (authorization?.slice(0, 7).toLowerCase() === "bearer ") {
    const text = yield* Effect.fromResult(readBearer(authorization))
    const principal = yield* parts.grants.check(call.workspace.id, text)
    if (principal._tag !== "ApiKey") return yield* new InvalidToken({ reason: "wrong_kind" })
    return { _tag: "ResourceServer" } satisfies Asker
  }
  const by = yield* authenticateClient(parts, call, parameters)
  return { _tag: "Client", client: by.client.id } satisfies Asker
})

const inactive = { active: false } as const satisfies Introspected

const seconds = (millis: number): number => Math.floor(millis / 1000)

/** What introspection tells, whatever kind of thing it was asked about. */
interface Facts {
  readonly principal: Principal["_tag"]
  readonly subject: string
  readonly client: ClientId | undefined
  readonly scope: Scopes
  readonly resource: Resource | null
  readonly expiresAt: Instant | null
  /** A refresh token is not for bearing. */
  readonly bearer: boolean
}

const factsOf = (workspace: WorkspaceId, known: Known): Facts => {
  if (known.kind === "refresh") {
    const { client, scope, resource, subject } = known.grant
    const facts = { client, scope, resource, expiresAt: known.token.expiresAt, bearer: false }
    return subject._tag === "User"
      ? { principal: "User", subject: subject.id, ...facts }
      : { principal: "Workspace", subject: client, ...facts }
  }
  const { scope, resource, expiresAt } = known.principal
  const facts = { scope, resource, expiresAt, bearer: true }
  switch (known.principal._tag) {
    case "User":
      return { principal: "User", subject: known.principal.user, client: known.principal.client, ...facts }
    case "Workspace":
      return { principal: "Workspace", subject: known.principal.client, client: known.principal.client, ...facts }
    case "ApiKey":
      return { principal: "ApiKey", subject: workspace, client: undefined, ...facts }
  }
}

/** RFC 7662 §2.2, and `principal`: which of the three is calling, for guards in other processes. */
const describe = (call: Call, facts: Facts): Introspected => ({
  active: true,
  iss: call.workspace.issuer,
  sub: facts.subject,
  ...(facts.client === undefined ? {} : { client_id: facts.client }),
  scope: formatScopes(facts.scope),
  ...(facts.bearer ? { token_type: "Bearer" } : {}),
  ...(facts.expiresAt === null ? {} : { exp: seconds(facts.expiresAt) }),
  ...(facts.resource === null ? {} : { aud: facts.resource }),
  principal: facts.principal
})

/** RFC 7662 §2: what is not there, not live, or not the asker's looks the same. */
export const introspectEndpoint = (parts: Parts): EndpointOf<typeof introspectContract> =>
  Effect.fnUntracedEager(function* (call) {
    const parameters: Parameters = yield* Effect.fromResult(readForm(call.request))
    const who: Asker = yield* asker(parts, call, parameters)
    const token = yield* Effect.fromResult(need(parameters, "token"))
    const found = yield* Effect.result(parts.grants.examine(call.workspace.id, token))
    if (Result.isFailure(found)) {
      if (found.failure._tag === "StorageUnavailable") return yield* found.failure
      yield* refused(parts.audit, call, found.failure)
      return secretJson(200, inactive)
    }
    const facts = factsOf(call.workspace.id, found.success)
    if (who._tag === "Client" && facts.client !== who.client) return secretJson(200, inactive)
    return secretJson(200, describe(call, facts))
  })
