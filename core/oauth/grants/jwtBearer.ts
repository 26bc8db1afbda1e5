import { Effect, Option, Result, Schema } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { type Client, hasGrant, identifierOf, isPublic, mayUse } from "../../client/Client.ts"
import type { Members } from "../../codec/Json.ts"
import { kidOf, mediaTypeIn, millisIn, readJws } from "../../codec/Jws.ts"
import { isBoundTo } from "../../grant/Binding.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../../grant/Decision.ts"
import type { Grant, Revoked, Standing } from "../../grant/Grant.ts"
import { accessToken, noAccessTokensYet, scopeFor, type Tokens } from "../../grant/issue.ts"
import type { Step } from "../../grant/Step.ts"
import type { Fault } from "../../http/Fault.ts"
import type { Read } from "../../http/form.ts"
import { keysFrom } from "../../ports/ClientKeys.ts"
import { adapterFault } from "../../ports/Signatures.ts"
import { type GrantId, grantIdOf, idLength, type UserId } from "../../rules/Id.ts"
import { hour, type Instant, later, leeway, type Millis } from "../../rules/Instant.ts"
import { algorithms, isAlgorithm } from "../../rules/Jwk.ts"
import { InvalidGrant, InvalidScope, InvalidTarget, PortUnavailable } from "../../rules/Refusal.ts"
import { narrowResources, type Resources, readResources, scopesTaken, withinResources } from "../../rules/Resource.ts"
import { commonScopes, grantScopes, isWithin, namesIn, noScopes, type Scopes, scopesNamed } from "../../rules/Scope.ts"
import { hashOf } from "../../rules/Secret.ts"
import { type Asserter, asserterOf, isSameAsserter, speaksFor, type TrustedIssuer } from "../../rules/TrustedIssuer.ts"
import { grantType, resource, type Sources } from "./GrantType.ts"

/** RFC 7523 §2.1. */
const form = {
  assertion: Schema.String.annotate({ description: "A JWT of an issuer that an owner trusts, such as an ID-JAG." }),
  scope: Schema.optionalKey(Schema.String.annotate({ description: "Scopes, with a space between them." })),
  resource
}

const name = "urn:ietf:params:oauth:grant-type:jwt-bearer"

/** draft-ietf-oauth-identity-assertion-authz-grant §4. */
const idJag = "oauth-id-jag+jwt"

/** From here to its end; so long after the end of its grant an assertion may still come. */
const longestLife: Millis = hour
const longestText = 512

/** An assertion that holds: who is meant, and the most that may come of it. */
interface Assertion {
  readonly asserted: Asserter
  readonly subject: string
  readonly user: UserId
  readonly issuedAt: Instant
  readonly within: Scopes | undefined
  readonly resources: Resources | null
  /** The scopes that these take; `null` where they take all. */
  readonly taken: ReturnType<typeof scopesTaken>
  readonly thumbprint: string | undefined
}

type Opened = Omit<Read<typeof form>, "assertion"> & { readonly assertion: Assertion; readonly grant: GrantId }

type Reason = InvalidGrant["reason"]
const refused = (reason: Reason) => Result.fail(new InvalidGrant({ reason }))

const textIn = (claims: Members, name: string): string | undefined => {
  const value = claims[name]
  return typeof value === "string" && value !== "" && value.length <= longestText ? value : undefined
}

/** RFC 7523 §3; an array would let another server that stands in it use the assertion here. */
const isFor = (audience: unknown, issuer: string): boolean =>
  audience === issuer || (Array.isArray(audience) && audience.length === 1 && audience[0] === issuer)

/** What an assertion has to say whose signature holds. */
const checkClaims = (
  header: Members,
  claims: Members,
  trusted: TrustedIssuer,
  by: AuthenticatedClient,
  { now, workspace }: Sources
): Result.Result<{ readonly subject: string; readonly issuedAt: Instant }, InvalidGrant> => {
  const type = mediaTypeIn(header)
  const isIdJag = type === idJag
  const isPlain = type === undefined || type === "jwt"
  if (!isIdJag && !(isPlain && trusted.takes === "any")) return refused("assertion_type")
  if (claims.iss !== trusted.issuer) return refused("assertion_issuer")
  if (!isFor(claims.aud, workspace.issuer)) return refused("assertion_audience")
  // ID-JAG §4.4.1: it is for the client that brings it.
  if (claims.client_id !== identifierOf(by.client) && (isIdJag || claims.client_id !== undefined))
    return refused("other_client")
  const expiresAt = millisIn(claims, "exp")
  if (expiresAt === undefined || expiresAt + leeway <= now) return refused("expired")
  if (expiresAt > now + longestLife + leeway) return refused("assertion_too_long_lived")
  const issuedAt = millisIn(claims, "iat")
  if (issuedAt === undefined || issuedAt > now + leeway) return refused("assertion_from_the_future")
  const notBefore = millisIn(claims, "nbf")
  if (claims.nbf !== undefined && (notBefore === undefined || notBefore > now + leeway)) {
    return refused("assertion_from_the_future")
  }
  if (isIdJag && textIn(claims, "jti") === undefined) return refused("assertion_without_id")
  const subject = textIn(claims, "sub")
  if (subject === undefined) return refused("assertion_subject")
  // Whole milliseconds, though an issuer may count in fractions of a second.
  return Result.succeed({ subject, issuedAt: Math.floor(issuedAt) as Instant })
}

/** RFC 8707: the resources that the assertion itself names, of those that its issuer can grant access to. */
const resourcesIn = (claims: Members, trusted: TrustedIssuer, { workspace }: Sources) => {
  const { resource: named } = claims
  const [first, ...more] = trusted.resources ?? []
  const most: Resources | null = first === undefined ? null : [first, ...more]
  if (named === undefined) return Result.succeed(most)
  const all: ReadonlyArray<unknown> = Array.isArray(named) ? named : [named]
  const texts = all.filter((one) => typeof one === "string")
  if (texts.length < all.length) return Result.fail(new InvalidTarget({ reason: "malformed" }))
  return Result.flatMap(readResources(workspace, texts), (read) =>
    withinResources(read, most)
      ? Result.succeed(read)
      : Result.fail(new InvalidTarget({ reason: "wider_than_granted" }))
  )
}

/** The most that issuer and assertion allow; `undefined`: neither says. What is no text of scopes limits nothing by itself. */
const scopesIn = (
  { scope }: Members,
  trusted: TrustedIssuer,
  { policy }: Sources
): Result.Result<Scopes | undefined, InvalidGrant> => {
  if (scope !== undefined && typeof scope !== "string") return refused("malformed")
  const named = scope === undefined ? undefined : namesIn(scope)
  const known = (names: ReadonlyArray<string>): Scopes =>
    scopesNamed(
      policy.scopes,
      policy.scopes.map(({ name }) => name).filter((name) => names.includes(name))
    ) ?? noScopes
  if (named === undefined) return Result.succeed(trusted.scopes && known(trusted.scopes))
  return Result.succeed(
    trusted.scopes === undefined ? known(named) : commonScopes(policy.scopes, known(named), trusted.scopes)
  )
}

const emailIn = (claims: Members, trusted: TrustedIssuer): Result.Result<string | undefined, InvalidGrant> => {
  // Some issuers write it as a text. Whatever says neither yes nor nothing says no.
  const verified = claims.email_verified ?? claims.email_verified === undefined
  const email = verified === true || verified === "true" ? textIn(claims, "email") : undefined
  const isTaken = email === undefined ? trusted.domains === undefined : speaksFor(trusted, email)
  return isTaken ? Result.succeed(email) : refused("person_unknown")
}

const thumbprintIn = ({ cnf }: Members): string | undefined => {
  if (cnf === undefined) return undefined
  const jkt: unknown = typeof cnf === "object" && cnf !== null ? Reflect.get(cnf, "jkt") : undefined
  return typeof jkt === "string" ? jkt : ""
}

/** The clients of an issuer, by what each goes by; where it names none, those that an owner gave the grant type. */
const mayBring = ({ clients }: TrustedIssuer, client: Client): boolean =>
  clients === undefined ? mayUse(client, name) : clients.includes(identifierOf(client))

/** Everything that takes a key, the network or the people of the workspace; a signature is checked before all of it. */
const gather = Effect.fnUntraced(function* (
  { assertion }: Read<typeof form>,
  by: AuthenticatedClient,
  sources: Sources
): Effect.fn.Return<Assertion, InvalidGrant | InvalidTarget | Fault> {
  const { clientKeys, person, signatures, workspace } = sources
  const jws = readJws(assertion)
  if (jws === undefined) return yield* new InvalidGrant({ reason: "malformed" })
  const { claims, header } = jws
  const trusted = workspace.trustedIssuers?.find(({ issuer }) => issuer === claims.iss)
  if (trusted === undefined) return yield* new InvalidGrant({ reason: "assertion_issuer" })
  if (!mayBring(trusted, by.client)) return yield* new InvalidGrant({ reason: "other_client" })
  if (!isAlgorithm(header.alg)) return yield* new InvalidGrant({ reason: "assertion_algorithm" })
  const of = { workspace: workspace.id, client: by.client.id }
  const keys = yield* Effect.mapError(
    keysFrom(clientKeys, of, trusted.keys, kidOf(header), { vouchedBy: "owner" }),
    ({ reason }) => new PortUnavailable({ port: "client_keys", reason })
  )
  const verified = yield* Effect.mapError(
    signatures.verify(jws, keys, algorithms),
    (fault) => adapterFault(fault) ?? new InvalidGrant({ reason: "forged" })
  )
  const good = yield* Effect.fromResult(checkClaims(verified.header, verified.claims, trusted, by, sources))
  const email = yield* Effect.fromResult(emailIn(verified.claims, trusted))
  const within = yield* Effect.fromResult(scopesIn(verified.claims, trusted, sources))
  const resources = yield* Effect.fromResult(resourcesIn(verified.claims, trusted, sources))
  const { issuer, people } = trusted
  const asserted = { issuer, subject: good.subject, ...(email === undefined ? {} : { email }) }
  const user = yield* person(asserted, people === "made")
  if (Option.isNone(user)) return yield* new InvalidGrant({ reason: "person_unknown" })
  return {
    ...good,
    asserted: asserterOf(trusted),
    user: user.value,
    within,
    resources,
    taken: resources === null ? null : scopesTaken(workspace, resources),
    thumbprint: thumbprintIn(verified.claims)
  }
})

/** One grant for each issuer, subject and client: a function of these and of what is drawn for the client alone. */
const grantFor = ({ client }: AuthenticatedClient, { asserted, subject, user }: Assertion): GrantId => {
  const text = JSON.stringify(["assertion", client.workspaceGrant, asserted.issuer, subject, user])
  return grantIdOf(hashOf(text).subarray(0, idLength))
}

/** Goes on with what this very client brought before, unless its issuer was trusted anew since. */
const isOf = (found: Standing | Revoked | undefined, client: Client, asserted: Asserter): found is Standing =>
  found?._tag === "Standing" &&
  hasGrant(client, found) &&
  found.asserted !== undefined &&
  isSameAsserter(found.asserted, asserted)

/** Of a beginning behind this one: no token of before counts again. */
const epochAfter = (found: Standing | Revoked | undefined): number => {
  if (found === undefined) return 0
  return (found._tag === "Standing" ? found.access.epoch : (found.epoch ?? 0)) + 1
}

/** Kept for as long again, and written once in a thirtieth of it. */
const keptFor: Millis = 30 * 24 * hour

/**
 * RFC 7523 §3.1 and ID-JAG §4.4: a token without a refresh token, since the issuer decides each time anew. A person who
 * revokes the connection ends it for every assertion that was issued until then, and not for later ones.
 */
const redeem = (
  found: Grant | undefined,
  step: Step<Opened>
): Decision<Tokens, InvalidGrant | InvalidScope | InvalidTarget> => {
  const { binding, by, now, policy } = step
  const { assertion, grant: id } = step.form
  if (found !== undefined && found._tag !== "Standing" && found._tag !== "Revoked") {
    return refuse(new InvalidGrant({ reason: "wrong_kind" }))
  }
  if (found?._tag === "Revoked" && assertion.issuedAt <= found.revokedAt) {
    return refuse(new InvalidGrant({ reason: "revoked" }))
  }
  const { resources: named, thumbprint } = assertion
  if (thumbprint !== undefined && !isBoundTo({ thumbprint }, binding)) {
    return refuse(new InvalidGrant({ reason: "binding_differs" }))
  }
  const narrowed = narrowResources(named, step.resources)
  if (Result.isFailure(narrowed)) return refuse(narrowed.failure)
  const { within = by.client.scope } = assertion
  const available = commonScopes(policy.scopes, by.client.scope, within)
  const asked = step.form.scope ?? (assertion.within === undefined ? undefined : available.join(" "))
  const granted = grantScopes(policy.scopes, available, asked)
  if (Result.isFailure(granted)) return refuse(granted.failure)
  const taking = { policy, taken: step.taken ?? assertion.taken }
  const scope = scopeFor(granted.success, taking)
  if (Result.isFailure(scope)) return refuse(scope.failure)

  const until = later(now, keptFor)
  const before = isOf(found, by.client, assertion.asserted) ? found : undefined
  const all = before === undefined ? undefined : scopesNamed(policy.scopes, [...before.scope, ...scope.success])
  const grows = before === undefined || !isWithin(scope.success, before.scope)
  const isDue = before?.expiresAt === undefined || until - before.expiresAt >= keptFor / 30
  const next: Standing = {
    _tag: "Standing",
    id,
    client: by.client.id,
    subject: { _tag: "User", id: assertion.user },
    scope: grows ? (all ?? scope.success) : before.scope,
    // Each token names its own.
    resources: null,
    createdAt: before?.createdAt ?? now,
    access: before?.access ?? { ...noAccessTokensYet, epoch: epochAfter(found) },
    asserted: assertion.asserted,
    expiresAt: isDue ? until : before.expiresAt
  }
  const access = accessToken(next, scope.success, narrowed.success, step)
  const tokens: Tokens = { access, refresh: null, scope: scope.success }
  return grows || isDue ? answerAndKeep(next, tokens) : answer(tokens)
}

export const jwtBearer = grantType({
  name,
  documents: {
    identifier: "UseAssertion",
    description: "An assertion of an issuer that an owner trusts (RFC 7523 §2.1)."
  },
  form,
  faults: [InvalidGrant, InvalidScope, InvalidTarget],
  registers: { needs: ["secret"], givenByOwner: true },
  signs: true,
  profiles: ["urn:ietf:params:oauth:grant-profile:id-jag"],
  meetsNobody: true,
  // An owner who names a document's client beside an issuer gives it the grant type for that issuer.
  givenIn: ({ trustedIssuers = [] }, client) =>
    client.origin?.document !== undefined && !isPublic(client) && trustedIssuers.some((one) => mayBring(one, client)),
  gather,
  grantOf: ({ assertion: _, ...sent }, by, _opener, assertion) => {
    const grant = grantFor(by, assertion)
    return Result.succeed({ grant, from: "token", form: { ...sent, assertion, grant } })
  },
  decide: redeem
})
