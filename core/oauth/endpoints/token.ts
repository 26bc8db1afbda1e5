import { Effect, Result, Schema } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { mayUse } from "../../client/Client.ts"
import { isSealed } from "../../client/ClientIdentifier.ts"
import { needsProof } from "../../client/Profile.ts"
import { actsForWorkspace } from "../../client/workspaceAccess.ts"
import { roomForRecord } from "../../engine/ClientRoom.ts"
import type { Issued } from "../../engine/Grants.ts"
import { beside, type Spending } from "../../engine/Spending.ts"
import type { Sender } from "../../grant/Sender.ts"
import { secretJson, type Written } from "../../http/answer.ts"
import type { Fault, FaultClass } from "../../http/Fault.ts"
import { type Fields, type Read, readerOf, type Sent, sentForm, severalOf } from "../../http/form.ts"
import type { HttpResponse } from "../../http/Http.ts"
import {
  bound,
  type Call,
  type Contract,
  type Endpoint,
  type HandlerOf,
  type MetadataMembers,
  names,
  type Services
} from "../../http/Route.ts"
import type { AuditEvent } from "../../ports/Audit.ts"
import { networkOf } from "../../ports/Limiter.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { grantMark } from "../../rules/Id.ts"
import {
  Contended,
  InvalidClient,
  InvalidDpopProof,
  InvalidRequest,
  InvalidTarget,
  PortUnavailable,
  TooManyRequests,
  UnauthorizedClient,
  UnsupportedGrantType,
  UseDpopNonce
} from "../../rules/Refusal.ts"
import { type Resources, readResources, scopesTaken } from "../../rules/Resource.ts"
import { formatScopes, type ScopeName } from "../../rules/Scope.ts"
import { originOf, tokenPath, type Workspace } from "../../workspace/Workspace.ts"
import {
  authenticateUnspent,
  authMetadata,
  noClient,
  refuseUnproven,
  spendProofOn,
  takeUnproven,
  withClientFields
} from "../clients/authenticateClient.ts"
import { type GrantType, resource } from "../grants/GrantType.ts"
import { type Proof, tokenTypeOf } from "../presented/Presentation.ts"
import { presentationMetadata, proofReader, withProofFaults } from "../presented/proofs.ts"

/** RFC 6749 §5.1. */
const TokenAnswer = Schema.Struct({
  access_token: Schema.String,
  token_type: Schema.String.annotate({ description: "How it is shown (RFC 6749 §7.1)." }),
  expires_in: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description: "Seconds from now." }),
  refresh_token: Schema.optionalKey(Schema.String),
  scope: Schema.String.annotate({ description: "What was granted, which may be less than was asked for." }),
  issued_token_type: Schema.optionalKey(Schema.String.annotate({ description: "RFC 8693 §2.2.1: of an exchange." })),
  id_token: Schema.optionalKey(
    Schema.String.annotate({ description: "Who signed in (OpenID Connect), where the scope openid was granted." })
  )
}).annotate({ identifier: "Tokens" })
type TokenAnswer = typeof TokenAnswer.Type

/** What any request to the endpoint may be refused by, whatever its grant type. */
const commonFaults = [
  InvalidRequest,
  InvalidClient,
  InvalidTarget,
  UnauthorizedClient,
  UnsupportedGrantType,
  InvalidDpopProof,
  UseDpopNonce,
  TooManyRequests,
  PortUnavailable,
  Contended,
  StorageUnavailable
]

/** RFC 6749 §3.2: one form for each grant type. */
const formOf = ({ documents, form, name }: GrantType) =>
  Schema.Struct({ grant_type: Schema.Literal(name), ...form }).annotate(documents)

export const tokenContract = (services: Pick<Services, "grantTypes" | "policy" | "presentations">) => {
  const rows = [...services.grantTypes.values()]
  return withProofFaults(services, "auth", {
    id: "token",
    heading: "OAuth",
    summary: "Get an access token",
    description: "RFC 6749 §3.2: for a code, for a refresh token, or for the client itself.",
    form: Schema.Union(rows.map(formOf)),
    callers: [{ shows: "clientSecret" }, { shows: "nothing" }],
    answers: [{ description: "Tokens.", like: () => secretJson(200, {}), body: TokenAnswer }],
    faults: [...new Set<FaultClass>([...commonFaults, ...rows.flatMap(({ faults }) => faults)])]
  } as const satisfies Contract)
}

/** RFC 6749 §5.1: the scope is always told, whether or not it is what was asked for. */
const tokenAnswer = (
  { presentations }: Services,
  { answers }: GrantType,
  issued: Issued,
  scope: string,
  proof: Proof | undefined
): HttpResponse => {
  const answer = {
    access_token: issued.access,
    // The row that proves a key carries what is bound to it, and a server without a row for bare tokens issues none.
    token_type: tokenTypeOf(presentations, proof === undefined ? null : proof.binding) ?? "",
    expires_in: issued.expiresInSeconds,
    refresh_token: issued.refresh,
    scope,
    id_token: issued.idToken,
    ...answers
  } satisfies Written<TokenAnswer>
  return proof === undefined || proof.tells.length === 0
    ? secretJson(200, answer)
    : secretJson(200, answer, proof.tells)
}

/** What a form asks for, read. */
interface Asked {
  readonly form: Read<Fields>
  readonly resources: Resources | null
  /** The scopes that these take; `null` where they take all. */
  readonly taken: ReadonlyArray<ScopeName> | null
}

/** A row at work, the reader of its form compiled. */
interface Served {
  readonly row: GrantType
  readonly read: (sent: Sent, workspace: Workspace) => Result.Result<Asked, InvalidRequest | InvalidTarget>
  /** Whether it may name resources, and whether this one does. */
  readonly takesTargets: boolean
  readonly names: (sent: Sent) => boolean
}

/** Fields are checked in the form's order; at their place in it, resources are held against the registry. */
const serve = (row: GrantType): Served => {
  const fields = Object.entries(row.form)
  const targets = fields.map(([name]) => name).filter((name) => (row.targets ?? [resourceName]).includes(name))
  const split = fields.findIndex(([name]) => name === targets.at(-1)) + 1 || fields.length
  const readFirst = readerOf(Object.fromEntries(fields.slice(0, split)))
  const readRest = split === fields.length ? undefined : readerOf(Object.fromEntries(fields.slice(split)))
  const readTargets = readerOf(Object.fromEntries(targets.map((name) => [name, resource])))
  const textsIn = (form: Read<Fields>): ReadonlyArray<string> => targets.flatMap((name) => textsOf(form[name]))
  return {
    row,
    takesTargets: targets.length > 0,
    names: (sent) => {
      const read = targets.length === 0 ? unasked : readTargets(sent)
      return Result.isSuccess(read) && read.success !== null && textsIn(read.success).length > 0
    },
    read: (sent, workspace) => {
      const first = readFirst(sent)
      if (Result.isFailure(first)) return Result.fail(first.failure)
      const texts = textsIn(first.success)
      const asked = texts.length > 0 ? readResources(workspace, texts) : unasked
      if (Result.isFailure(asked)) return Result.fail(asked.failure)
      const resources = asked.success
      const taken = resources === null ? null : scopesTaken(workspace, resources)
      if (readRest === undefined) return Result.succeed({ form: first.success, resources, taken })
      const rest = readRest(sent)
      if (Result.isFailure(rest)) return Result.fail(rest.failure)
      return Result.succeed({ form: { ...first.success, ...rest.success }, resources, taken })
    }
  }
}

const noTexts: ReadonlyArray<string> = []

const textsOf = (read: unknown): ReadonlyArray<string> => (Array.isArray(read) ? read : noTexts)

const unasked: Result.Result<null> = Result.succeed(null)

const senderOf = ({ request: { headers, peer } }: Call): Sender => ({
  network: peer === undefined ? undefined : networkOf(peer),
  userAgent: headers.get("user-agent") ?? ""
})

/** Browsers say in `Origin` whose page asks. Servers send none. */
const isOfWebPage = ({ request, workspace }: Call): boolean => {
  const origin = request.headers.get("origin") ?? undefined
  return origin !== undefined && origin !== originOf(workspace.issuer)
}

/** RFC 6749 §5.2: whether there is such a grant type is told only to a client that is known. */
const issue = (
  services: Services,
  call: Call,
  by: AuthenticatedClient,
  served: Served | undefined,
  sent: Sent,
  proof: Proof | undefined,
  spending: Spending | undefined
): Effect.Effect<HttpResponse, Fault> => {
  if (served === undefined) return refuseUnproven(services, call, by, new UnsupportedGrantType())
  const { row } = served
  const isRegistered = mayUse(by.client, row.name)
  if (!isRegistered && (row.givenIn === undefined || by.client.origin === undefined)) {
    return refuseUnproven(services, call, by, notRegistered)
  }
  if (isOfWebPage(call) && actsForWorkspace(row)) {
    return refuseUnproven(services, call, by, new UnauthorizedClient({ reason: "web_page" }))
  }
  if (proof === undefined && needsProof(by.client, services.policy)) {
    return refuseUnproven(services, call, by, new InvalidDpopProof({ reason: "proof_missing" }))
  }
  // Only where resources are named, or listed, or issuers are trusted, has a request to know what is listed now.
  const isListed = call.workspace.resources !== undefined || served.names(sent)
  return row.gather !== undefined || (served.takesTargets && isListed)
    ? Effect.flatMapEager(services.openings.current(call.workspace, call.now), (workspace) =>
        issueFor(services, { ...call, workspace }, by, served, sent, proof, spending)
      )
    : issueFor(services, call, by, served, sent, proof, spending)
}

const notRegistered = new UnauthorizedClient({ reason: "grant_type_not_registered" })

/** A client that an owner let in by name, with its record. */
const admitted = ({ brought }: Services, { requestId, workspace }: Call, by: AuthenticatedClient) =>
  brought.keep(workspace, { workspace: workspace.id, requestId }, by.client).pipe(
    Effect.map((client): AuthenticatedClient => ({ ...by, client })),
    Effect.catchTag("NoSuchClient", noClient(false))
  )

/** A client whose identifier holds its registration, with the record that its first tokens take. */
const recorded = ({ brought, clientRoom }: Services, { requestId, workspace }: Call, by: AuthenticatedClient) => {
  const { origin } = by.client
  if (origin === undefined || !isSealed(origin.identifier)) return undefined
  const { identifier } = origin
  return () => {
    const room = roomForRecord(clientRoom, workspace.id)
    return brought.record(workspace, { workspace: workspace.id, requestId }, identifier, room).pipe(
      Effect.map((client): AuthenticatedClient => ({ ...by, client })),
      Effect.catchTag("NoSuchClient", noClient(false))
    )
  }
}

const resourceName = "resource"

const issueFor = (
  services: Services,
  call: Call,
  by: AuthenticatedClient,
  { read, row }: Served,
  sent: Sent,
  proof: Proof | undefined,
  spending: Spending | undefined
): Effect.Effect<HttpResponse, Fault> => {
  const isRegistered = mayUse(by.client, row.name)
  if (!isRegistered && row.givenIn?.(call.workspace, by.client) !== true) {
    return refuseUnproven(services, call, by, notRegistered)
  }
  const asked = read(sent, call.workspace)
  if (Result.isFailure(asked)) return refuseUnproven(services, call, by, asked.failure)
  const request = {
    ...asked.success,
    by,
    proof,
    sender: () => senderOf(call),
    unproven: () => takeUnproven(services, call, by),
    ...(isRegistered ? {} : { admit: () => admitted(services, call, by) }),
    record: recorded(services, call, by),
    spending
  }
  const issued = services.grants.issue(call.workspace, row, request)
  return Effect.flatMapEager(issued, (tokens) => {
    const { retry } = tokens
    const scope = formatScopes(tokens.scope)
    const of = { client: by.client.id, grant: grantMark(tokens.grant) }
    const record = (event: AuditEvent) =>
      services.audit.record({ at: call.now, workspace: call.workspace.id, requestId: call.requestId, event })
    // A sink may take an event at once, so this one is made first.
    const retried = retry === undefined ? undefined : record({ _tag: "RefreshRetried", ...of, ...retry })
    const issued = { _tag: "TokensIssued", grantType: row.name, scope, ...of } as const
    const told = record(by.shown === undefined ? issued : { ...issued, secret: by.shown })
    const all = retried === undefined ? told : Effect.andThen(retried, told)
    return Effect.mapEager(all, () => tokenAnswer(services, row, tokens, scope, proof))
  })
}

const readGrantType = readerOf({ grant_type: Schema.String })

/** RFC 6749 §3.2. */
const tokenHandler = (services: Services): HandlerOf<ReturnType<typeof tokenContract>> => {
  const served = new Map([...services.grantTypes].map(([name, row]) => [name, serve(row)]))
  const several = new Set([...services.grantTypes.values()].flatMap(({ form }) => [...severalOf(form)]))
  const readProof = proofReader(services)
  return (call) => {
    const sent = sentForm(call.request, several)
    if (Result.isFailure(sent)) return Effect.fail(sent.failure)
    const asked = readGrantType(sent.success)
    if (Result.isFailure(asked)) return Effect.fail(asked.failure)
    const proof = readProof(call)
    if (Result.isFailure(proof)) return Effect.fail(proof.failure)
    return Effect.flatMapEager(authenticateUnspent(services, call, sent.success), (by) =>
      beside(spendProofOn(services, call, by), (spending) =>
        issue(services, call, by, served.get(asked.success.grant_type), sent.success, proof.success, spending)
      )
    )
  }
}

/** draft-ietf-oauth-identity-assertion-authz-grant §7.2: the profiles of the grant types at work. */
const profileMetadata = ({ grantTypes }: Services): MetadataMembers => {
  const profiles = [...grantTypes.values()].flatMap(({ profiles = [] }) => profiles)
  return profiles.length === 0 ? {} : { authorization_grant_profiles_supported: names(() => profiles) }
}

export const tokenEndpoint: Endpoint = {
  path: tokenPath,
  match: "exact",
  methods: { POST: bound((services) => withClientFields(services, tokenContract(services)), tokenHandler) },
  errors: "oauth",
  cors: true,
  metadata: {
    name: "token_endpoint",
    members: (services) => ({
      grant_types_supported: names(({ grantTypes }) => [...grantTypes.keys()]),
      ...profileMetadata(services),
      ...authMetadata(services, tokenContract(services), "token_endpoint"),
      ...presentationMetadata(services)
    })
  }
}
