import { type Redacted, Result } from "effect"
import type { ClientAuth } from "../oauth/clients/ClientAuth.ts"
import type { ClientId, GrantId } from "../rules/Id.ts"
import { type Instant, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { checkRedirectUri, type RedirectUri, type RedirectUriFault } from "../rules/RedirectUri.ts"
import { InvalidClientMetadata, InvalidRedirectUri } from "../rules/Refusal.ts"
import {
  allScopes,
  apiScopes,
  formatScopes,
  grantScopes,
  isWithin,
  namesIn,
  offersOpenId,
  type ScopeRegistry,
  type Scopes
} from "../rules/Scope.ts"
import { type Credential, credential, sameDigest } from "../rules/Secret.ts"
import {
  About,
  authMethodOf,
  type Client,
  type ClientInformation,
  type ClientMaker,
  identifierOf,
  mayUse
} from "./Client.ts"
import { type ClientMember, membersIn, membersTold } from "./ClientMember.ts"
import { secretDigest } from "./ClientSecret.ts"
import type { RegistrableGrantType } from "./RegistrableGrantType.ts"
import type { RegistrationRequest } from "./RegistrationRequest.ts"
import { type Asked, actsForWorkspace, asking, mayRegisterForWorkspace } from "./workspaceAccess.ts"

/** What of a server's tables decides what a client can register. */
export interface Tables {
  readonly clientAuths: ReadonlyMap<string, ClientAuth>
  readonly grantTypes: ReadonlyMap<string, RegistrableGrantType>
  readonly clientMembers: ReadonlyArray<ClientMember>
}

/** RFC 7591 §2: the method of a client that names none; where the server lacks it, the first that proves something. */
const usualMethod = (clientAuths: Tables["clientAuths"]): string => {
  const usual = "client_secret_basic"
  return clientAuths.has(usual) ? usual : ([...clientAuths.values()].find(({ proves }) => proves)?.name ?? usual)
}

const needs = ({ registers }: RegistrableGrantType, what: "secret" | "redirect"): boolean =>
  registers.needs.includes(what)

/** What a registration comes to, before it has an id. */
interface Terms {
  readonly about: About
  readonly method: ClientAuth
  readonly redirectUris: ReadonlyArray<RedirectUri>
  readonly grantTypes: ReadonlyArray<string>
  readonly scope: Scopes
  readonly members: Client["members"]
}

export type RegistrationFault = InvalidClientMetadata | InvalidRedirectUri

const faultInWords: Record<RedirectUriFault, string> = {
  unprintable: "has characters that an address cannot have, or is too long",
  backslash: "has a backslash",
  fragment: "has a fragment",
  not_absolute: "is not absolute",
  scheme: "is neither https, nor http on this device, nor a private-use scheme with a dot in it",
  http_beyond_loopback: "is http for a host that is not this device",
  userinfo: "has a user name in it",
  odd_host: "has a host that is not written as a browser reads it"
}

const readRedirectUris = (
  texts: ReadonlyArray<string>
): Result.Result<ReadonlyArray<RedirectUri>, InvalidRedirectUri> => {
  const uris = new Set<RedirectUri>()
  for (const [index, text] of texts.entries()) {
    const checked = checkRedirectUri(text)
    if (Result.isFailure(checked)) {
      const message = `Redirect URI number ${index + 1} ${faultInWords[checked.failure]}.`
      return Result.fail(new InvalidRedirectUri({ message }))
    }
    uris.add(checked.success)
  }
  return Result.succeed([...uris])
}

const metadataFault = (message: string) => Result.fail(new InvalidClientMetadata({ message }))

/** Of what was asked, what a refusal repeats: names of the shape of RFC 6749 §8.3 and §8.4, and few. */
const repeated = (asked: ReadonlyArray<string>): string =>
  asked
    .filter((name) => /^[A-Za-z0-9._:/ -]{1,64}$/.test(name))
    .slice(0, 5)
    .join(", ")

/** The grant types one of which a client has to name, if it names any. */
const nameable = (
  grantTypes: Iterable<RegistrableGrantType>,
  isAvailable: (row: RegistrableGrantType) => boolean
): ReadonlyArray<RegistrableGrantType> =>
  [...grantTypes].filter((row) => row.registers.onlyBrought !== true && isAvailable(row))

const isAvailableTo = (madeBy: ClientMaker, policy: Policy) => (row: RegistrableGrantType) =>
  row.registers.givenByOwner === true
    ? madeBy === "owner"
    : !actsForWorkspace(row) || mayRegisterForWorkspace(madeBy, policy)

/** For a client that registers itself. */
export const nameableGrantTypes = ({ grantTypes }: Pick<Tables, "grantTypes">, policy: Policy): ReadonlyArray<string> =>
  nameable(grantTypes.values(), isAvailableTo("itself", policy)).map(({ name }) => name)

/**
 * OpenID Connect Registration §2: where people sign in, a client is told of the flows that it names and cannot have, also
 * beside ones that it can: it would count on them.
 */
const flowFault = (
  { grant_types = [], response_types = [] }: RegistrationRequest,
  policy: Policy,
  grantTypes: Iterable<RegistrableGrantType>,
  hasFlow: boolean
): string | undefined => {
  if (!offersOpenId(policy.scopes)) return undefined
  const known = responseTypesOf([...grantTypes])
  const isImplicit = grant_types.includes("implicit")
  // For a client without a browser, the member says nothing.
  if (known.length === 0 || !(isImplicit || hasFlow)) return undefined
  // Some libraries name the grant type beside the response type `code` alone, by which they ask for no other flow.
  const named = isImplicit && response_types.length === 0 ? ["implicit"] : response_types
  const missing = named.filter((type) => !known.includes(type))
  if (missing.length === 0) return undefined
  const names = repeated(missing)
  const there = `The server has the flow of the response type ${known.join(", ")} only`
  return names === "" ? `${there}.` : `${there}, and none of these: ${names}.`
}

/** RFC 7591 §2: grant types that the server lacks are left out beside ones that it has. */
const readGrantTypes = (
  asked: ReadonlyArray<string> | undefined,
  grantTypes: ReadonlyArray<RegistrableGrantType>,
  isAvailable: (row: RegistrableGrantType) => boolean
): Result.Result<ReadonlyArray<RegistrableGrantType>, InvalidClientMetadata> => {
  const alone = nameable(grantTypes, isAvailable)
  const taken = alone.filter((row) => (asked === undefined ? row.registers.byDefault : asked.includes(row.name)))
  if (taken.length === 0) {
    const names = repeated(asked ?? [])
    const there = `The grant_types have to name one of these: ${alone.map(({ name }) => name).join(", ")}.`
    return metadataFault(names === "" ? there : `${there} What they name is none of them: ${names}.`)
  }
  const brought = new Set(taken.flatMap(({ registers: { brings = [] } }) => brings))
  return Result.succeed(grantTypes.filter((row) => taken.includes(row) || brought.has(row.name)))
}

const aboutMembers = Object.keys(About.fields)

const aboutOf = (request: RegistrationRequest): About =>
  // The members of `About` are those of the request with the same names and tighter checks.
  Object.fromEntries(Object.entries(request).filter(([name]) => aboutMembers.includes(name))) as About

/**
 * What an owner names is a limit, so a name that is wrong is no limit but a mistake. A client that registers itself may
 * name scopes of other servers only, and is not turned away for it.
 */
const readScope = (
  asked: string | undefined,
  { scopes }: Policy,
  madeBy: ClientMaker
): Result.Result<Scopes, InvalidClientMetadata> => {
  const all = allScopes(scopes)
  if (asked === undefined) return Result.succeed(all)
  const names = namesIn(asked)
  if (madeBy === "owner") {
    return names.length === 0 || !isWithin(names, all)
      ? metadataFault(`Not every scope of these is to be had; these are: ${all.join(", ")}.`)
      : grantedOr(scopes, all, asked)
  }
  // Many name no more than those of OpenID Connect, and go on to ask for what the API has.
  const limits = names.some((name) => apiScopes(scopes).some((scope) => scope === name))
  return limits ? grantedOr(scopes, all, asked) : Result.succeed(all)
}

const grantedOr = (registry: ScopeRegistry, all: Scopes, asked: string) =>
  Result.succeed(Result.getOrElse(grantScopes(registry, all, asked), () => all))

const responseTypesOf = (grantTypes: ReadonlyArray<RegistrableGrantType>): ReadonlyArray<string> =>
  grantTypes.flatMap(({ registers: { responseType } }) => (responseType === undefined ? [] : [responseType]))

const readTerms = (
  request: RegistrationRequest,
  policy: Policy,
  isAvailable: (row: RegistrableGrantType) => boolean,
  by: ClientMaker,
  before: Client | undefined,
  { clientAuths, clientMembers, grantTypes }: Tables
): Result.Result<Terms, RegistrationFault> =>
  Result.gen(function* () {
    const types = yield* readGrantTypes(request.grant_types, [...grantTypes.values()], isAvailable)
    const responses = responseTypesOf(types)
    const flows = flowFault(request, policy, grantTypes.values(), responses.length > 0)
    if (flows !== undefined) return yield* metadataFault(flows)
    const method = clientAuths.get(request.token_endpoint_auth_method ?? usualMethod(clientAuths))
    if (method === undefined) {
      const names = [...clientAuths.keys()].join(", ")
      return yield* metadataFault(`The token_endpoint_auth_method has to be one of these: ${names}.`)
    }
    const secretive = types.find((row) => needs(row, "secret"))
    if (secretive !== undefined && !method.proves) {
      return yield* metadataFault(`The grant type ${secretive.name} takes a client with a secret.`)
    }
    const { response_types: asked = [] } = request
    if (responses.length > 0 && asked.length > 0 && !asked.some((type) => responses.includes(type))) {
      const names = repeated(asked)
      const there = `The server has the response type ${responses.join(", ")} only`
      return yield* metadataFault(names === "" ? `${there}.` : `${there}, and none of these: ${names}.`)
    }
    const redirectUris = yield* readRedirectUris(request.redirect_uris ?? [])
    const redirected = types.find((row) => needs(row, "redirect"))
    if (redirected !== undefined && redirectUris.length === 0) {
      const message = `The grant type ${redirected.name} takes a client with redirect_uris.`
      return yield* Result.fail(new InvalidRedirectUri({ message }))
    }
    const scope = yield* readScope(request.scope, policy, by)
    const names = types.map(({ name }) => name)
    // The members of the rows are read with the rest of the request.
    const sent: Readonly<Record<string, unknown>> = { ...request }
    const step = { request: sent, grantTypes: names, method: method.name, signs: method.signs === true, by, policy }
    for (const { fault } of clientMembers) {
      const message = fault(step, before)
      if (message !== undefined) return yield* metadataFault(message)
    }
    const members = membersIn(clientMembers, sent)
    return { about: aboutOf(request), method, redirectUris, grantTypes: names, scope, members }
  })

/** A secret that is given to no client. */
const noSecret: Credential = credential("", new Uint8Array())

/** What a client comes to that brings what it says of itself, and that has no secret. */
export const describeClient = (
  tables: Tables,
  request: RegistrationRequest,
  policy: Policy
): Result.Result<
  Pick<Client, "about" | "credential" | "redirectUris" | "grantTypes" | "scope" | "members">,
  RegistrationFault
> =>
  Result.gen(function* () {
    const isAvailable = (row: RegistrableGrantType) => !actsForWorkspace(row)
    const { members, method, ...terms } = yield* readTerms(request, policy, isAvailable, "itself", undefined, tables)
    const credential = yield* method.register(request, noSecret, undefined)
    return { ...terms, credential, ...(members && { members }) }
  })

/** What is drawn for a registration, used or not. */
export interface FreshClient {
  readonly id: ClientId
  readonly workspaceGrant: GrantId
  readonly secret: Uint8Array
  readonly registration: Uint8Array
}

export const clientSecretPrefix = "tsr_cs_"
export const registrationTokenPrefix = "tsr_rg_"
/** 240 bits: its text, prefix and checksum included, is hashed in one block. */
export const credentialLength = 30

/** A client, and what is shown to it this once. */
export interface Registered {
  readonly client: Client
  readonly secret: Redacted.Redacted<string> | undefined
}

/** What a client takes of a store, in bytes of JSON. */
const longestRecord = 8 * 1024
/**
 * Of it, for what comes to the record later: its version, the name of the write, times, and what an owner does:
 * an answer, another secret, a profile, how tokens are written. An address is no part of that.
 */
const besides = 384

const utf8 = new TextEncoder()

/** Of an address that an owner adds to a client, whose record has no room for it. */
export const addressTooLong = `is too long beside all that the client registered: a client may have ${longestRecord} bytes`

/** Whether a client leaves that much of its record. */
export const leavesRoom = (client: Client): boolean =>
  utf8.encode(JSON.stringify(client)).length <= longestRecord - besides

const fits = (client: Client): Result.Result<Client, InvalidClientMetadata> =>
  leavesRoom(client)
    ? Result.succeed(client)
    : metadataFault(`All of it together is too long: a client may have ${longestRecord} bytes.`)

/** RFC 7591 §3.1: a registration becomes a client. */
export const register = (
  tables: Tables,
  request: RegistrationRequest,
  policy: Policy,
  now: Instant,
  fresh: FreshClient,
  madeBy: ClientMaker,
  network: string | null = null
): Result.Result<Registered & { readonly registrationToken: Redacted.Redacted<string> }, RegistrationFault> => {
  return Result.gen(function* () {
    const terms = yield* readTerms(request, policy, isAvailableTo(madeBy, policy), madeBy, undefined, tables)
    const secret = drawnSecret(fresh.secret)
    const registration = credential(registrationTokenPrefix, fresh.registration)
    const client = yield* fits(
      asking(
        {
          id: fresh.id,
          about: terms.about,
          credential: yield* terms.method.register(request, secret, undefined),
          registration: registration.digest,
          redirectUris: terms.redirectUris,
          grantTypes: terms.grantTypes,
          scope: terms.scope,
          workspaceGrant: fresh.workspaceGrant,
          createdAt: now,
          madeBy,
          provenAt: null,
          expiresAt: madeBy === "owner" ? null : later(now, policy.unusedClientTtl),
          disabled: false,
          ...(terms.members && { members: terms.members })
        },
        tables.grantTypes.values(),
        { at: now, network }
      )
    )
    return {
      client,
      secret: issuedAs(client, secret),
      registrationToken: registration.text
    }
  })
}

/** The secret that was drawn, if it came to be the client's: another update may have got in first. */
export const issuedSecret = (client: Client, fresh: FreshClient): Redacted.Redacted<string> | undefined =>
  issuedAs(client, drawnSecret(fresh.secret))

/** Another secret for a client that has one. */
export const drawnSecret = (bytes: Uint8Array): Credential => credential(clientSecretPrefix, bytes)

const issuedAs = (client: Client, drawn: Credential): Redacted.Redacted<string> | undefined => {
  const digest = secretDigest(client)
  return digest !== undefined && sameDigest(digest, drawn.digest) ? drawn.text : undefined
}

/**
 * What an owner gave holds for the scopes that the owner saw, and not for more. `serves` goes with what it was given for.
 */
const keepGiven = (before: Client, after: Client, { grantTypes }: Tables): Client => {
  const isGiven = (name: string) => grantTypes.get(name)?.registers.givenByOwner === true
  const kept = isWithin(after.scope, before.scope)
    ? after.grantTypes
    : after.grantTypes.filter((name) => !isGiven(name))
  if (before.grantTypes.filter(isGiven).every((name) => kept.includes(name))) return after
  const { serves: _, ...rest } = after
  return { ...rest, grantTypes: kept }
}

/**
 * RFC 7592 §2.2: what was registered is replaced by what is sent. The secret stays what it was, unless the client had
 * none and needs one now. `isOpen`: any caller could register the same anew. Otherwise the update adds no grant type
 * that acts for the workspace.
 */
export const reregister = (
  tables: Tables,
  client: Client,
  request: RegistrationRequest,
  policy: Policy,
  asked: Asked,
  fresh: FreshClient,
  isOpen: boolean
): Result.Result<Registered, RegistrationFault> => {
  const isAvailable = (row: RegistrableGrantType) =>
    row.registers.givenByOwner === true
      ? mayUse(client, row.name)
      : !actsForWorkspace(row) || (mayRegisterForWorkspace("itself", policy) && (isOpen || mayUse(client, row.name)))
  return Result.gen(function* () {
    const terms = yield* readTerms(request, policy, isAvailable, "itself", client, tables)
    const drawn = drawnSecret(fresh.secret)
    const { members: _, ...kept } = client
    const changed: Client = {
      ...kept,
      ...(terms.members && { members: terms.members }),
      // What it says of itself from now on no owner has looked at.
      madeBy: "itself",
      about: terms.about,
      credential: yield* terms.method.register(request, drawn, client.credential),
      redirectUris: terms.redirectUris,
      grantTypes: terms.grantTypes,
      scope: terms.scope
    }
    const next = yield* fits(asking(keepGiven(client, changed, tables), tables.grantTypes.values(), asked, client))
    return { client: next, secret: issuedAs(next, drawn) }
  })
}

/** RFC 7591 §3.2.1: everything that was registered, as the server understood it. */
export const clientInformation = (
  { clientAuths, clientMembers, grantTypes }: Tables,
  client: Client
): ClientInformation => ({
  ...clientAuths.get(authMethodOf(client))?.told(client.credential),
  ...membersTold(clientMembers, client),
  client_id: identifierOf(client),
  client_id_issued_at: Math.floor(client.createdAt / 1000),
  ...client.about,
  redirect_uris: client.redirectUris,
  grant_types: client.grantTypes,
  response_types: responseTypesOf([...grantTypes.values()].filter(({ name }) => mayUse(client, name))),
  token_endpoint_auth_method: authMethodOf(client),
  scope: formatScopes(client.scope)
})
