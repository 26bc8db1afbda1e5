import { Effect, Result, Schema } from "effect"
import { answer, answerAndKeep, refuse } from "../grant/Decision.ts"
import type { Audit } from "../ports/Audit.ts"
import { type DocumentHosts, documentHostTyped, isBanned, isDocumentHost, mostHosts } from "../rules/DocumentHosts.ts"
import type { ClientId } from "../rules/Id.ts"
import { currentInstant, type Millis } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import {
  type AccessTokenFormat,
  isResourceAddress,
  longestName,
  type ResourceDefinition,
  type ResourceRegistry,
  readResources,
  resourceOf,
  withoutEndSlash
} from "../rules/Resource.ts"
import { type ScopeRegistry, scopesNamed } from "../rules/Scope.ts"
import { sanitizeName } from "../rules/sanitizeName.ts"
import { type KeysTyped, readKeySource, TrustedIssuer } from "../rules/TrustedIssuer.ts"
import { type OpenWorkspace, scopesOf, type Workspace } from "../workspace/Workspace.ts"
import { note, type OwnerAuditContext } from "./AuditContext.ts"
import { deleteClient } from "./administerClients.ts"
import type { Clients } from "./Clients.ts"
import type { Grants } from "./Grants.ts"
import { forEachItem } from "./lists.ts"
import type { Openings } from "./Openings.ts"
import type { Signing, SigningFault } from "./Signing.ts"
import type { Retirement, SigningKeys } from "./signingKeys.ts"
import type { WriteFault } from "./transact.ts"

/** A text that is no host. */
export class BadHost extends Schema.TaggedError<BadHost>()("BadHost", {
  reason: Schema.Literals(["host", "full"])
}) {}

interface Blocking {
  readonly audit: Audit["Service"]
  readonly openings: Openings
  readonly clients: Clients
  readonly grants: Grants
}

/**
 * Takes no metadata document of a host any more (`*.example.com`: of all below it), and deletes the clients that came from
 * there, with all that they were granted. Tells how many. The ban first: no client comes in behind it.
 */
export const blockClientHost = Effect.fn("engine.blockClientHost")(function* (
  services: Blocking,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: string
): Effect.fn.Return<number, BadHost | WriteFault> {
  const host = documentHostTyped(typed)
  if (!isDocumentHost(host)) return yield* new BadHost({ reason: "host" })
  const isFull = (yield* services.openings.blockedHosts(workspace.id)).length >= mostHosts
  if (isFull) return yield* new BadHost({ reason: "full" })
  const changed = yield* services.openings.block(workspace, (blocked) =>
    blocked.includes(host) ? blocked : [...blocked, host]
  )
  if (changed) yield* note(services.audit, auditContext, { _tag: "ClientHostBlocked", host, by: auditContext.by })
  const found: Array<ClientId> = []
  yield* forEachItem(
    (slice) => services.clients.list(workspace.id, slice),
    ({ id, origin }) =>
      Effect.sync(() => {
        if (origin?.document !== undefined && isBanned([host], origin.document.host)) found.push(id)
      })
  )
  yield* Effect.forEach(found, (id) => deleteClient(services, auditContext, id), { concurrency: 16, discard: true })
  return found.length
})

/** Takes its documents again; what was granted before stays ended. `false`: it was not blocked. */
export const unblockClientHost = Effect.fn("engine.unblockClientHost")(function* (
  { audit, openings }: Blocking,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: string
): Effect.fn.Return<boolean, WriteFault> {
  const host = documentHostTyped(typed)
  // An earlier release kept some as they were typed.
  const isIt = (one: string) => documentHostTyped(one) === host
  const changed = yield* openings.block(workspace, (blocked) =>
    blocked.some(isIt) ? blocked.filter((one) => !isIt(one)) : blocked
  )
  if (changed) yield* note(audit, auditContext, { _tag: "ClientHostUnblocked", host, by: auditContext.by })
  return changed
})

/**
 * From which hosts documents of clients are taken, of those that the server takes. What was granted before goes on until a
 * token is asked for; a ban ends it at once.
 */
export const takeClientDocuments = Effect.fn("engine.takeClientDocuments")(function* (
  { audit, openings }: Pick<Blocking, "audit" | "openings">,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: DocumentHosts
): Effect.fn.Return<void, BadHost | WriteFault> {
  const hosts = typed === "any" ? typed : [...new Set(typed.map(documentHostTyped))]
  if (hosts !== "any" && !hosts.every(isDocumentHost)) return yield* new BadHost({ reason: "host" })
  if (hosts !== "any" && hosts.length > mostHosts) return yield* new BadHost({ reason: "full" })
  if (yield* openings.takeDocuments(workspace, hosts)) {
    yield* note(audit, auditContext, { _tag: "ClientDocumentsChanged", hosts, by: auditContext.by })
  }
})

/** A resource that cannot be listed. */
export class BadResource extends Schema.TaggedError<BadResource>()("BadResource", {
  reason: Schema.Literals(["address", "name", "scopes", "life", "listed", "full"])
}) {}

/** What an owner types of a resource. */
export interface ResourceTyped {
  readonly at: string
  readonly name: string
  /** Without any it takes all. */
  readonly scopes: ReadonlyArray<string>
  /** Left out, opaque. */
  readonly accessTokenFormat?: AccessTokenFormat | undefined
  /** At least a second; left out, as long as any. */
  readonly accessTokenTtl?: Millis | undefined
}

/** What takes part in listing resources. */
interface Listing {
  readonly audit: Audit["Service"]
  readonly openings: Openings
  readonly policy: Policy
}

const readResource = (
  { accessTokenFormat, accessTokenTtl, at, name: typed, scopes }: ResourceTyped,
  registry: ScopeRegistry
): Result.Result<ResourceDefinition, BadResource> => {
  const refused = (reason: BadResource["reason"]) => Result.fail(new BadResource({ reason }))
  if (!isResourceAddress(at)) return refused("address")
  const name = sanitizeName(typed === "" ? new URL(at).host : typed, longestName)
  if (name === undefined) return refused("name")
  if (accessTokenTtl !== undefined && !(Number.isSafeInteger(accessTokenTtl) && accessTokenTtl >= 1000)) {
    return refused("life")
  }
  const asked = {
    at,
    name,
    ...(accessTokenFormat === undefined ? {} : { accessTokenFormat }),
    ...(accessTokenTtl === undefined ? {} : { accessTokenTtl })
  }
  const [first, ...others] = scopesNamed(registry, scopes) ?? []
  if (scopes.length === 0) return Result.succeed(asked)
  return first === undefined ? refused("scopes") : Result.succeed({ ...asked, scopes: [first, ...others] })
}

/** Lists a resource beside those that are configured. */
export const addResource = Effect.fn("engine.addResource")(function* (
  { audit, openings, policy }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: ResourceTyped
): Effect.fn.Return<ResourceDefinition, BadResource | WriteFault> {
  const definition = yield* Effect.fromResult(readResource(typed, scopesOf(policy, workspace)))
  const isThere = (all: ResourceRegistry) => all.some((one) => resourceOf(one) === resourceOf(definition))
  const configured = (workspace.resources ?? []).filter((one) => workspace.listed?.includes(one) !== true)
  yield* openings.list(workspace, (listed) => {
    if (isThere(listed) || isThere(configured)) return refuse(new BadResource({ reason: "listed" }))
    return listed.length >= mostListed
      ? refuse(new BadResource({ reason: "full" }))
      : answerAndKeep([...listed, definition], definition)
  })
  yield* note(audit, auditContext, { _tag: "ResourceAdded", resource: definition.at, by: auditContext.by })
  return definition
})

/** A record holds them all. */
const mostListed = 200

/** Takes a resource off the list; what was issued for it goes on until it expires. `false`: no owner listed it. */
export const removeResource = Effect.fn("engine.removeResource")(function* (
  { audit, openings }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  at: string
): Effect.fn.Return<boolean, WriteFault> {
  const isIt = (one: ResourceDefinition) => String(resourceOf(one)) === withoutEndSlash(at)
  const removed = yield* openings.list<boolean, never>(workspace, (listed) =>
    listed.some(isIt)
      ? answerAndKeep(
          listed.filter((one) => !isIt(one)),
          true
        )
      : answer(false)
  )
  if (removed) yield* note(audit, auditContext, { _tag: "ResourceRemoved", resource: at, by: auditContext.by })
  return removed
})

/** What an owner types of an issuer. */
export interface IssuerTyped extends KeysTyped {
  readonly issuer: string
  /** Without any, all that an owner let use assertions. */
  readonly clients?: ReadonlyArray<string> | undefined
  readonly scopes?: ReadonlyArray<string> | undefined
  readonly resources?: ReadonlyArray<string> | undefined
  readonly domains?: ReadonlyArray<string> | undefined
  readonly people?: "known" | "made" | undefined
  readonly takes?: "id-jag" | "any" | undefined
}

/** An issuer that cannot be trusted: `field` has the name of what is wrong with it. */
export class BadIssuer extends Schema.TaggedError<BadIssuer>()("BadIssuer", {
  reason: Schema.Literals(["malformed", "keys", "scopes", "resources", "trusted", "full"])
}) {}

const decodeIssuer = Schema.decodeUnknownResult(TrustedIssuer)

const some = <K extends string>(name: K, list: ReadonlyArray<string> | undefined) =>
  list === undefined || list.length === 0 ? {} : { [name]: list }

/** Held to what the workspace has, from the settings, a command or a host. */
export const readIssuer = (
  { clients, domains, issuer, jwks, jwksUri, people = "known", resources, scopes, takes }: IssuerTyped,
  workspace: Workspace,
  registry: ScopeRegistry
): Result.Result<TrustedIssuer, BadIssuer> => {
  const refused = (reason: BadIssuer["reason"]) => Result.fail(new BadIssuer({ reason }))
  const keys = readKeySource({ jwks, jwksUri })
  if (Result.isFailure(keys)) return refused("keys")
  if (scopes !== undefined && scopes.length > 0 && scopesNamed(registry, scopes) === undefined) return refused("scopes")
  const places = resources === undefined || resources.length === 0 ? undefined : readResources(workspace, resources)
  if (places !== undefined && Result.isFailure(places)) return refused("resources")
  return Result.mapError(
    decodeIssuer({
      issuer,
      keys: keys.success,
      people,
      ...some("clients", clients),
      ...some("scopes", scopes),
      ...some("resources", places?.success),
      ...some(
        "domains",
        domains?.map((domain) => domain.toLowerCase())
      ),
      ...(takes === undefined ? {} : { takes })
    }),
    () => new BadIssuer({ reason: "malformed" })
  )
}

/** Trusts an issuer's assertions about people, beside those that are configured. */
export const trustIssuer = Effect.fn("engine.trustIssuer")(function* (
  { audit, openings, policy }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: IssuerTyped
): Effect.fn.Return<TrustedIssuer, BadIssuer | WriteFault> {
  const read = yield* Effect.fromResult(readIssuer(typed, workspace, scopesOf(policy, workspace)))
  const made = { ...read, since: yield* currentInstant }
  const { trustedIssuers = [] } = workspace
  yield* openings.trust(workspace, (trusted) => {
    if ([...trusted, ...trustedIssuers].some(({ issuer }) => issuer === made.issuer)) {
      return refuse(new BadIssuer({ reason: "trusted" }))
    }
    return trusted.length >= mostTrusted
      ? refuse(new BadIssuer({ reason: "full" }))
      : answerAndKeep([...trusted, made], made)
  })
  yield* note(audit, auditContext, { _tag: "IssuerTrusted", issuer: made.issuer, by: auditContext.by })
  return made
})

/** A record holds them all, with their keys. */
const mostTrusted = 20

/** A set of keys, or where it is. */
const keysText = ({ keys }: TrustedIssuer): string => JSON.stringify(keys)

/**
 * Other terms for an issuer that an owner trusts already. They count for assertions from now on; where its keys are others,
 * what it brought before ends. `undefined`: no owner trusted it.
 */
export const changeIssuer = Effect.fn("engine.changeIssuer")(function* (
  { audit, openings, policy }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  typed: IssuerTyped
): Effect.fn.Return<TrustedIssuer | undefined, BadIssuer | WriteFault> {
  const read = yield* Effect.fromResult(readIssuer(typed, workspace, scopesOf(policy, workspace)))
  const now = yield* currentInstant
  const changed = yield* openings.trust<TrustedIssuer | undefined, never>(workspace, (trusted) => {
    const before = trusted.find(({ issuer }) => issuer === read.issuer)
    if (before === undefined) return answer(undefined)
    const since = keysText(before) === keysText(read) ? before.since : now
    const after = since === undefined ? read : { ...read, since }
    return answerAndKeep(
      trusted.map((one) => (one === before ? after : one)),
      after
    )
  })
  if (changed !== undefined) {
    yield* note(audit, auditContext, { _tag: "IssuerChanged", issuer: read.issuer, by: auditContext.by })
  }
  return changed
})

/** Takes no more assertions of it, and ends what it brought. `false`: no owner trusted it. */
export const removeIssuer = Effect.fn("engine.removeIssuer")(function* (
  { audit, openings }: Listing,
  auditContext: OwnerAuditContext,
  workspace: OpenWorkspace,
  issuer: string
): Effect.fn.Return<boolean, WriteFault> {
  const removed = yield* openings.trust<boolean, never>(workspace, (trusted) => {
    const others = trusted.filter((one) => one.issuer !== issuer)
    return others.length === trusted.length ? answer(false) : answerAndKeep(others, true)
  })
  if (removed) yield* note(audit, auditContext, { _tag: "IssuerRemoved", issuer, by: auditContext.by })
  return removed
})

/** The next signing keys, where none waits. `undefined`: nothing was ever signed, so there is nothing to rotate. */
export const rotateSigningKeys = Effect.fn("engine.rotateSigningKeys")(function* (
  services: { readonly audit: Audit["Service"]; readonly signing: Signing },
  auditContext: OwnerAuditContext,
  workspace: Workspace
): Effect.fn.Return<SigningKeys | undefined, SigningFault> {
  const { by } = auditContext
  const now = yield* currentInstant
  const before = yield* services.signing.stored(workspace)
  const keys = yield* services.signing.rotate(workspace, now)
  for (const { kid } of keys?.keys ?? []) {
    if (before?.keys.some((one) => one.kid === kid) === true) continue
    yield* note(services.audit, auditContext, { _tag: "SigningKeysChanged", change: "rotated", key: kid, by })
  }
  return keys
})

/** `compromised`: at once, with all that it signed. */
export const retireSigningKey = Effect.fn("engine.retireSigningKey")(function* (
  services: { readonly audit: Audit["Service"]; readonly signing: Signing },
  auditContext: OwnerAuditContext,
  workspace: Workspace,
  kid: string,
  how: "expired" | "compromised"
): Effect.fn.Return<Retirement, SigningFault> {
  const { by } = auditContext
  const outcome = yield* services.signing.retire(workspace, kid, how, yield* currentInstant)
  if (outcome !== "retired") return outcome
  const change = how === "compromised" ? "withdrawn" : "retired"
  yield* note(services.audit, auditContext, { _tag: "SigningKeysChanged", change, key: kid, by })
  return outcome
})
