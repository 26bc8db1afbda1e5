import { Effect, Result, Schema } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { identifierOf, isPublic } from "../../client/Client.ts"
import type { ClientIdentifier } from "../../client/ClientIdentifier.ts"
import type { Examined } from "../../engine/Grants.ts"
import { beside, spendingOf } from "../../engine/Spending.ts"
import type { Binding } from "../../grant/Binding.ts"
import { signInOf } from "../../grant/check.ts"
import { placeOf } from "../../grant/Grant.ts"
import { actOf } from "../../grant/jwtAccessToken.ts"
import type { Principal } from "../../grant/Principal.ts"
import { secretJson, type Written } from "../../http/answer.ts"
import { refused } from "../../http/audit.ts"
import { readerOf, type Sent, sentForm } from "../../http/form.ts"
import {
  bound,
  type Call,
  type Contract,
  type Endpoint,
  type FaultOf,
  type HandlerOf,
  type Services
} from "../../http/Route.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { type GrantId, grantMark, type PlaceId } from "../../rules/Id.ts"
import { earlier, type Instant, secondsOf } from "../../rules/Instant.ts"
import { InvalidClient, InvalidRequest, InvalidToken, PortUnavailable, TooManyRequests } from "../../rules/Refusal.ts"
import { covers, type Resources, unnamedResources } from "../../rules/Resource.ts"
import { formatScopes, impliedBy, type Scopes } from "../../rules/Scope.ts"
import { scopesOf, type Workspace, type WorkspaceId } from "../../workspace/Workspace.ts"
import {
  authenticateAgain,
  authenticateUnspent,
  authMetadata,
  refuseUnproven,
  spendProof,
  withClientFields
} from "../clients/authenticateClient.ts"
import {
  isAboutProof,
  keySchemes,
  type Presentation,
  type PresentationFault,
  type Presented,
  tokenTypeOf
} from "../presented/Presentation.ts"

/** RFC 7662 §2.1. The kind of a token stands in its text, so the hint is taken and not needed. */
const IntrospectToken = Schema.Struct({
  token: Schema.String.annotate({ description: "An access token, a refresh token or an API key." }),
  token_type_hint: Schema.optionalKey(Schema.String.annotate({ description: "Not needed." }))
}).annotate({ identifier: "IntrospectToken" })

/** RFC 7662 §2.2. */
const LiveToken = Schema.Struct({
  active: Schema.Literal(true),
  iss: Schema.String,
  sub: Schema.String.annotate({ description: "The person; or the client, or the workspace, that acts for itself." }),
  client_id: Schema.optionalKey(Schema.String.annotate({ description: "An API key has none." })),
  scope: Schema.String,
  token_type: Schema.optionalKey(
    Schema.String.annotate({ description: "How it is shown (RFC 6749 §7.1). A refresh token has none." })
  ),
  exp: Schema.optionalKey(
    Schema.Int.annotate({ description: "In seconds since 1970; left out where it never expires." })
  ),
  aud: Schema.optionalKey(
    Schema.Union([Schema.String, Schema.Array(Schema.String)]).annotate({
      description: "The resource that it is for, or several (RFC 8707); left out where it is for all."
    })
  ),
  implied_scope: Schema.optionalKey(
    Schema.String.annotate({ description: "What its scopes imply beyond themselves, where they do." })
  ),
  cnf: Schema.optionalKey(
    Schema.Struct({ jkt: Schema.String }).annotate({
      description: "RFC 9449 §6.2: the thumbprint of the key that it is bound to, where it is."
    })
  ),
  principal: Schema.Literals(["User", "Workspace", "ApiKey"]).annotate({
    description: "Which of the three is calling."
  }),
  act: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown).annotate({
      description:
        "RFC 8693 §4.1: the client that acts, where the token came of an exchange; within it, those before it."
    })
  ),
  auth_time: Schema.optionalKey(
    Schema.Int.annotate({ description: "RFC 9470: when the person signed in, where that was asked." })
  ),
  acr: Schema.optionalKey(Schema.String.annotate({ description: "RFC 9470: how strongly, where that was asked." })),
  place: Schema.optionalKey(
    Schema.String.annotate({ description: "Where the person allowed it, where they have several places." })
  ),
  grant: Schema.String.annotate({ description: "What the audit stream calls that which the token came from." })
}).annotate({ identifier: "LiveToken" })

const DeadToken = Schema.Struct({ active: Schema.Literal(false) }).annotate({
  identifier: "DeadToken",
  description: "Not good, not there, or neither the asking client's own nor for the API that it is."
})

const Introspected = Schema.Union([LiveToken, DeadToken])
type Introspected = typeof Introspected.Type

export const introspectContract = {
  id: "introspect",
  heading: "OAuth",
  summary: "Ask what a token is worth",
  description:
    "RFC 7662: a client that proves itself learns about its own tokens, and where an owner said which API it is, about those that may be sent there; a resource server, by an API key of the workspace that may introspect, about all.",
  form: IntrospectToken,
  callers: [{ shows: "apiKey" }, { shows: "clientSecret" }],
  answers: [{ description: "What the token is worth now.", like: () => secretJson(200, {}), body: Introspected }],
  faults: [InvalidRequest, InvalidClient, InvalidToken, TooManyRequests, PortUnavailable, StorageUnavailable]
} as const satisfies Contract

const read = readerOf(introspectContract.form.fields)

/** The asker: a client, about its own tokens and those for the API that it is; or a resource server, about all of them. */
type Asker = { readonly _tag: "Client"; readonly by: AuthenticatedClient } | { readonly _tag: "ResourceServer" }

/** The rows that read a header in which an API key may stand. */
const keyRows = ({ presentations }: Services): ReadonlyArray<Presentation> => {
  const schemes = keySchemes(presentations)
  return presentations.filter(({ scheme }) => schemes.includes(scheme))
}

const resourceServer = (
  services: Services,
  call: Call,
  presented: Presented
): Effect.Effect<Asker, PresentationFault> =>
  Effect.flatMapEager(
    services.grants.check(call.workspace, presented, call.now),
    (principal): Effect.Effect<Asker, InvalidToken> =>
      // A key of a few scopes opens those, and is told of no tokens.
      principal._tag === "ApiKey" && principal.use !== "scopes"
        ? Effect.succeed({ _tag: "ResourceServer" })
        : Effect.fail(noKey)
  )

/** What is shown beside a proof is a token. */
const noKey = new InvalidToken({ reason: "wrong_kind" })

/**
 * RFC 7662 §2.1: a client that only names itself proves nothing, and would be told what a text that it found is
 * worth.
 */
const provesNothing = ({ request }: Call): InvalidClient =>
  new InvalidClient({ reason: "wrong_method", triedHeader: (request.headers.get("authorization") ?? "") !== "" })

const askerOf = (
  services: Services,
  rows: ReadonlyArray<Presentation>,
  call: Call,
  sent: Sent
): Effect.Effect<Asker, FaultOf<typeof introspectContract>> => {
  for (const row of rows) {
    const presented = row.read(call.request, call.workspace.issuer, call.now, services)
    if (presented !== undefined) {
      const asker = Effect.flatMapEager(presented, (shown) => resourceServer(services, call, shown))
      return Effect.catchEager(asker, (fault) => Effect.fail(isAboutProof(fault) ? noKey : fault))
    }
  }
  return Effect.flatMapEager(authenticateUnspent(services, call, sent), (by) =>
    isPublic(by.client)
      ? refuseUnproven(services, call, by, provesNothing(call))
      : Effect.succeed({ _tag: "Client", by })
  )
}

/** What introspection tells, whatever kind of thing it was asked about. */
interface Facts {
  readonly principal: Principal["_tag"]
  readonly subject: string
  readonly grant: GrantId
  readonly place?: PlaceId
  readonly authenticatedAt?: Instant
  readonly acr?: string
  readonly client: ClientIdentifier | undefined
  readonly scope: Scopes
  readonly resources: Resources | null
  readonly expiresAt: Instant | null
  readonly actors?: ReadonlyArray<ClientIdentifier>
}

/** How that which was asked about is shown. */
interface Shown {
  readonly type: string | undefined
  readonly binding: Binding | null
}

/** A key has its own scheme, and a refresh token is not for showing. */
const formOf = (presentations: ReadonlyArray<Presentation>, known: Examined): Shown => {
  if (known.kind === "key") return { type: keySchemes(presentations)[0], binding: null }
  if (known.kind === "refresh") return { type: undefined, binding: null }
  const { binding } = known.token
  return { type: tokenTypeOf(presentations, binding), binding }
}

const factsOf = (workspace: WorkspaceId, known: Examined): Facts => {
  if (known.kind === "refresh") {
    const { id: grant, refresh, scope, resources, subject } = known.grant
    const { client } = known
    const expiresAt = earlier(known.token.expiresAt, refresh.expiresAt)
    return subject._tag === "User"
      ? {
          principal: "User",
          subject: subject.id,
          grant,
          ...placeOf(known.grant),
          ...signInOf(known.grant),
          client,
          scope,
          resources,
          expiresAt
        }
      : { principal: "Workspace", subject: client, grant, client, scope, resources, expiresAt }
  }
  const by = known.principal
  const { grant, scope, resources, expiresAt } = by
  switch (by._tag) {
    case "User":
      return {
        principal: "User",
        subject: by.user,
        grant,
        ...placeOf(by),
        ...(by.authenticatedAt !== undefined && { authenticatedAt: by.authenticatedAt }),
        ...(by.acr !== undefined && { acr: by.acr }),
        client: by.client,
        scope,
        resources,
        expiresAt,
        ...(by.actors && { actors: by.actors })
      }
    case "Workspace":
      return {
        principal: "Workspace",
        subject: by.client,
        grant,
        client: by.client,
        scope,
        resources,
        expiresAt
      }
    case "ApiKey":
      return {
        principal: "ApiKey",
        subject: workspace,
        grant,
        client: undefined,
        scope,
        resources,
        expiresAt
      }
  }
}

/**
 * RFC 7662 §2.2; and for guards in other processes `principal`, which of the three is calling, and `grant`, by which
 * they know it again in the audit stream.
 */
const describe = (
  services: Services,
  call: Call,
  facts: Facts,
  shown: Shown
): Written<Extract<Introspected, { readonly active: true }>> => ({
  active: true,
  iss: call.workspace.issuer,
  sub: facts.subject,
  client_id: facts.client,
  scope: formatScopes(facts.scope),
  token_type: shown.type,
  cnf: shown.binding === null ? undefined : { jkt: shown.binding.thumbprint },
  exp: facts.expiresAt === null ? undefined : secondsOf(facts.expiresAt),
  aud: audienceIn(audienceOf(services, call.workspace, facts)),
  implied_scope: impliedIn(services, call.workspace, facts.scope),
  principal: facts.principal,
  act: facts.actors && actOf(facts.actors),
  place: facts.place,
  auth_time: facts.authenticatedAt === undefined ? undefined : secondsOf(facts.authenticatedAt),
  acr: facts.acr,
  grant: grantMark(facts.grant)
})

/** RFC 7662 §2.2; `null` is all. A key names no resource, and opens all that are the workspace's. */
const audienceOf = (services: Services, workspace: Workspace, { principal, resources, scope }: Facts) =>
  resources ??
  (principal === "ApiKey" ? null : unnamedResources(workspace, scopesOf(services.policy, workspace), scope))

const audienceIn = (all: ReadonlyArray<string> | null) => (all === null ? undefined : all.length === 1 ? all[0] : all)

/** RFC 7662 §2.1: whether a caller may bear it at this API. A refresh token is borne nowhere, and some keys open nothing. */
const isBorneAt = (services: Services, workspace: Workspace, known: Examined, facts: Facts, at: string): boolean =>
  known.kind !== "refresh" &&
  !(known.kind === "key" && known.principal.use === "introspection") &&
  covers(audienceOf(services, workspace, facts), at)

/** Resource servers that know no hierarchy of scopes go by these too. */
const impliedIn = (services: Services, workspace: Workspace, scope: Scopes) => {
  const implied = impliedBy(scopesOf(services.policy, workspace), scope)
  return implied.length === 0 ? undefined : formatScopes(implied)
}

const inactiveAnswer = secretJson(200, { active: false })

/**
 * The asker may have been deleted or disabled after authenticating, and proves nothing then. With a client goes its own
 * grant, of which nothing is known afterwards, not even whose it was.
 */
const mayBeOfAsker = ({ reason }: InvalidToken): boolean =>
  reason === "client_gone" || reason === "client_disabled" || reason === "unknown"

/** RFC 7662 §2: what is not there, not live, or not the asker's looks the same. */
const introspectHandler = (services: Services): HandlerOf<typeof introspectContract> => {
  const rows = keyRows(services)
  const tell = (call: Call, who: Asker, sent: Sent): ReturnType<HandlerOf<typeof introspectContract>> => {
    const form = read(sent)
    if (Result.isFailure(form)) return Effect.fail(form.failure)
    const answered = Effect.mapEager(services.grants.examine(call.workspace, form.success.token, call.now), (known) => {
      const facts = factsOf(call.workspace.id, known)
      const isOwn = who._tag === "Client" && facts.client === identifierOf(who.by.client)
      const serves = who._tag === "Client" ? who.by.client.serves : undefined
      const isSentThere = serves !== undefined && isBorneAt(services, call.workspace, known, facts, serves)
      // A resource server asks because a caller bears it there.
      if (who._tag === "ResourceServer" ? known.kind !== "refresh" : isSentThere && !isOwn) {
        services.usage.saw("grant", call.workspace.id, facts.grant, call.now)
      }
      const shown = formOf(services.presentations, known)
      // Where no row shows it any more, it opens nothing.
      const isShown = shown.type !== undefined || known.kind === "refresh"
      return !isShown || (who._tag === "Client" && !isOwn && !isSentThere)
        ? inactiveAnswer
        : secretJson(200, describe(services, call, facts, shown))
    })
    return Effect.catchEager(answered, (fault) => {
      if (fault._tag === "StorageUnavailable") return Effect.fail(fault)
      const toldInactive = Effect.as(refused(services.audit, call, fault), inactiveAnswer)
      return who._tag === "Client" && mayBeOfAsker(fault)
        ? Effect.flatMapEager(authenticateAgain(services, call, sent), () => toldInactive)
        : toldInactive
    })
  }
  return (call) => {
    const sent = sentForm(call.request)
    if (Result.isFailure(sent)) return Effect.fail(sent.failure)
    return Effect.flatMapEager(askerOf(services, rows, call, sent.success), (who) =>
      beside(spendingOf(who._tag === "Client" ? spendProof(services, call, who.by) : undefined), () =>
        tell(call, who, sent.success)
      )
    )
  }
}

export const introspectEndpoint: Endpoint = {
  path: "/oauth/introspect",
  match: "exact",
  methods: { POST: bound((services) => withClientFields(services, introspectContract), introspectHandler) },
  errors: "oauth",
  cors: false,
  metadata: {
    name: "introspection_endpoint",
    members: (services) => authMetadata(services, introspectContract, "introspection_endpoint")
  }
}
