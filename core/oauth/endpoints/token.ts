import { Effect, Result, Schema } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { mayUse } from "../../client/Client.ts"
import type { Issued } from "../../engine/Grants.ts"
import { secretJson, type Written } from "../../http/answer.ts"
import type { Fault, FaultClass } from "../../http/Fault.ts"
import { type Fields, type Read, readerOf, type Sent, sentForm } from "../../http/form.ts"
import type { HttpResponse } from "../../http/Http.ts"
import { bound, type Call, type Contract, type Endpoint, type HandlerOf, names, type Parts } from "../../http/Route.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { grantMark } from "../../rules/Id.ts"
import {
  Contended,
  InvalidClient,
  InvalidRequest,
  InvalidTarget,
  PortUnavailable,
  TooManyRequests,
  UnauthorizedClient,
  UnsupportedGrantType
} from "../../rules/Refusal.ts"
import { type Resource, readResource } from "../../rules/Resource.ts"
import { formatScopes } from "../../rules/Scope.ts"
import { authenticateClient, authMetadata, withClientFields } from "../clients/authenticateClient.ts"
import type { GrantType } from "../grants/GrantType.ts"
import { tokenTypeOf } from "../presented/Presentation.ts"

/** RFC 6749 §5.1. */
const TokenAnswer = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.String.annotate({ description: "How it is shown (RFC 6749 §7.1)." }),
  expires_in: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "Seconds from now." }),
  refresh_token: Schema.optionalKey(Schema.String),
  scope: Schema.String.annotate({ description: "What was granted, which may be less than was asked for." })
}).annotate({ identifier: "Tokens" })
type TokenAnswer = typeof TokenAnswer.Type

/** What any request to the endpoint may be refused by, whatever its grant type. */
const commonFaults = [
  InvalidRequest,
  InvalidClient,
  InvalidTarget,
  UnauthorizedClient,
  UnsupportedGrantType,
  TooManyRequests,
  PortUnavailable,
  Contended,
  StorageUnavailable
]

/** RFC 6749 §3.2: one form for each grant type. */
const formOf = ({ documents, form, name }: GrantType) =>
  Schema.Struct({ grant_type: Schema.Literal(name), ...form }).annotate(documents)

export const tokenContract = ({ grantTypes }: Pick<Parts, "grantTypes">) => {
  const rows = [...grantTypes.values()]
  return {
    id: "token",
    heading: "OAuth",
    summary: "Get an access token",
    description: "RFC 6749 §3.2: for a code, for a refresh token, or for the client itself.",
    form: Schema.Union(rows.map(formOf)),
    callers: [{ shows: "clientSecret" }, { shows: "nothing" }],
    answers: [{ description: "Tokens.", like: () => secretJson(200, {}), body: TokenAnswer }],
    faults: [...new Set<FaultClass>([...commonFaults, ...rows.flatMap(({ faults }) => faults)])]
  } as const satisfies Contract
}

/** RFC 6749 §5.1: the scope is always told, whether or not it is what was asked for. */
const tokenAnswer = (parts: Parts, issued: Issued): HttpResponse =>
  secretJson(200, {
    access_token: issued.access,
    token_type: tokenTypeOf(parts.presentations, null),
    expires_in: issued.expiresInSeconds,
    refresh_token: issued.refresh,
    scope: formatScopes(issued.scope)
  } satisfies Written<TokenAnswer>)

/** What a form asks for, read. */
interface Asked {
  readonly form: Read<Fields>
  readonly resource: Resource | null
}

/** A row at work, the reader of its form compiled. */
interface Served {
  readonly row: GrantType
  readonly read: (sent: Sent, issuer: string) => Result.Result<Asked, InvalidRequest | InvalidTarget>
}

/** Fields are checked in the form's order; at its place in it, a resource is held against the issuer. */
const serve = (row: GrantType): Served => {
  const fields = Object.entries(row.form)
  const split = fields.findIndex(([name]) => name === "resource") + 1 || fields.length
  const readFirst = readerOf(Object.fromEntries(fields.slice(0, split)))
  const readRest = split === fields.length ? undefined : readerOf(Object.fromEntries(fields.slice(split)))
  const named = Object.hasOwn(row.form, "resource")
  return {
    row,
    read: (sent, issuer) => {
      const first = readFirst(sent)
      if (Result.isFailure(first)) return Result.fail(first.failure)
      const text = named ? first.success.resource : undefined
      const resource = typeof text === "string" ? readResource(issuer, text) : unasked
      if (Result.isFailure(resource)) return Result.fail(resource.failure)
      if (readRest === undefined) return Result.succeed({ form: first.success, resource: resource.success })
      const rest = readRest(sent)
      if (Result.isFailure(rest)) return Result.fail(rest.failure)
      return Result.succeed({ form: { ...first.success, ...rest.success }, resource: resource.success })
    }
  }
}

const unasked = Result.succeed(null)

/** RFC 6749 §5.2: whether there is such a grant type is told only to a client that is known. */
const issue = (
  parts: Parts,
  call: Call,
  by: AuthenticatedClient,
  served: Served | undefined,
  sent: Sent
): Effect.Effect<HttpResponse, Fault> => {
  if (served === undefined) return Effect.fail(new UnsupportedGrantType())
  const { read, row } = served
  if (!mayUse(by.client, row.name)) return Effect.fail(new UnauthorizedClient({ reason: "grant_type_not_registered" }))
  const asked = read(sent, call.workspace.issuer)
  if (Result.isFailure(asked)) return Effect.fail(asked.failure)
  const { form, resource } = asked.success
  const issued = parts.grants.issue(call.workspace.id, row, { by, form, resource, binding: null })
  return Effect.flatMapEager(issued, (tokens) => {
    const event = {
      _tag: "TokensIssued",
      grantType: row.name,
      client: by.client.id,
      scope: formatScopes(tokens.scope),
      grant: grantMark(tokens.grant)
    } as const
    const entry = { at: call.now, workspace: call.workspace.id, requestId: call.requestId, event }
    return Effect.mapEager(parts.audit.record(entry), () => tokenAnswer(parts, tokens))
  })
}

const readGrantType = readerOf({ grant_type: Schema.String })

/** RFC 6749 §3.2. */
const tokenHandler = (parts: Parts): HandlerOf<ReturnType<typeof tokenContract>> => {
  const served = new Map([...parts.grantTypes].map(([name, row]) => [name, serve(row)]))
  return (call) => {
    const sent = sentForm(call.request)
    if (Result.isFailure(sent)) return Effect.fail(sent.failure)
    const asked = readGrantType(sent.success)
    if (Result.isFailure(asked)) return Effect.fail(asked.failure)
    return Effect.flatMapEager(authenticateClient(parts, call, sent.success), (by) =>
      issue(parts, call, by, served.get(asked.success.grant_type), sent.success)
    )
  }
}

export const tokenEndpoint: Endpoint = {
  path: "/oauth/token",
  match: "exact",
  methods: { POST: bound((parts) => withClientFields(parts, tokenContract(parts)), tokenHandler) },
  errors: "oauth",
  cors: true,
  metadata: {
    name: "token_endpoint",
    members: (parts) => ({
      grant_types_supported: names(({ grantTypes }) => [...grantTypes.keys()]),
      ...authMetadata(parts, tokenContract(parts), "token_endpoint")
    })
  }
}
