import { type Duration, Layer, Redacted, Result, Schema } from "effect"
import {
  allowListExpected,
  certificatesIn,
  type FetchOptions,
  fetchesNothingPrivate,
  hasSockets,
  readAllowList
} from "../../adapters/documents/FetchOptions.ts"
import { isLimitFactor, limitFactorExpected } from "../../core/limits/SharedLimiter.ts"
import type { OwnPages } from "../../core/ports/Pages.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { type ClaimScope, isStandardClaim } from "../../core/rules/Claims.ts"
import { type DocumentHosts, documentHostExpected, isDocumentHost } from "../../core/rules/DocumentHosts.ts"
import { algorithms } from "../../core/rules/Jwk.ts"
import { Policy, ProfileName, standardPolicy } from "../../core/rules/Policy.ts"
import { type ScopeRegistry, signInScopes } from "../../core/rules/Scope.ts"
import { initialTokenExpected, isInitialToken } from "../../core/rules/Secret.ts"
import { type KeyRing, parseKeyRing } from "../../core/token/KeyRing.ts"
import { readTheme, type Theme } from "../../core/workspace/Theme.ts"
import { type Issuer, isSecure, parseIssuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { isObject, type NamesOf } from "../serve/options.ts"
import { givenAtOnce, type HostPeople } from "./hostOwner.ts"
import {
  badOption,
  type CreateOptions,
  type DpopOption,
  extras,
  type FetchOption,
  type HostingOptions,
  type LifetimeOptions,
  logLevels
} from "./Options.ts"
import { bad, type Checked, knownNames, lifeOf, readResources, readScopes, readTrusted } from "./workspaceOptions.ts"
import type { ReadWorkspace } from "./workspaces.ts"

/** The options, checked. */
export interface Read {
  /** The one workspace; `undefined` where there are several. */
  readonly one: ReadWorkspace | undefined
  readonly ring: KeyRing
  readonly storage: Layer.Layer<Storage, unknown>
  readonly policy: Policy
  /** The host's own rows of claims. */
  readonly claims: ReadonlyArray<ClaimScope>
  readonly fetch: FetchOptions
  readonly theme: Theme | undefined
  readonly ownPages: OwnPages
  readonly registration: "open" | "closed" | Redacted.Redacted<string>
  /** `undefined`: as the registration has it. */
  readonly clientDocuments: DocumentHosts | undefined
}

type OneOption = Pick<CreateOptions, "issuer" | "movedFrom" | "name">
type SharedOptions = Omit<CreateOptions, keyof OneOption | "workspaces">

const names: NamesOf<CreateOptions> = {
  workspaces: true,
  issuer: true,
  name: true,
  movedFrom: true,
  storage: true,
  keys: true,
  owner: true,
  scopes: true,
  claims: true,
  resources: true,
  trustedIssuers: true,
  lifetimes: true,
  registration: true,
  registrationRows: true,
  clientDocuments: true,
  requirePkce: true,
  dpop: true,
  par: true,
  profile: true,
  jwtAlgorithm: true,
  workspaceAccess: true,
  consent: true,
  devices: true,
  maxUnprovenClients: true,
  rateLimits: true,
  fetch: true,
  theme: true,
  consentPage: true,
  audit: true,
  extras: true,
  endpoints: true,
  housekeeping: true,
  log: true,
  clock: true
}

const dpopNames: NamesOf<DpopOption> = { required: true, nonces: true }

const lifetimeNames: NamesOf<LifetimeOptions> = {
  code: true,
  access: true,
  refreshIdle: true,
  refreshMax: true,
  refreshGrace: true,
  consent: true,
  device: true
}

const fetchNames: NamesOf<FetchOption> = { allow: true, ca: true }

const ownerNames: NamesOf<HostPeople> = {
  signedIn: true,
  signInAt: true,
  switchAt: true,
  signOut: true,
  places: true,
  asserted: true,
  profile: true
}

/** A host has one workspace: stores that several servers share tell them apart by schema, prefix or file. */
const homeId = WorkspaceId.make("main")

const workspaceOf = (options: OneOption): Checked<Workspace> =>
  Result.gen(function* () {
    const issuer = parseIssuer(options.issuer)
    if (Result.isFailure(issuer)) {
      return yield* bad(
        "issuer",
        "has to be an https URL (or http on this machine) without query, fragment or slash at the end"
      )
    }
    const name = options.name ?? new URL(issuer.success).host
    if (typeof name !== "string" || name.trim() === "")
      return yield* bad("name", "has to be a text that people can read")
    return { id: homeId, issuer: issuer.success, name }
  })

const ofOneOnly = ["issuer", "name", "movedFrom", "resources", "trustedIssuers"] as const

/** Whether a host has several workspaces. */
export const isHosting = (options: CreateOptions | HostingOptions): options is HostingOptions =>
  "workspaces" in options && options.workspaces !== undefined

const oneOf = (options: CreateOptions | HostingOptions): Checked<ReadWorkspace | undefined> =>
  Result.gen(function* () {
    if (!isHosting(options)) {
      return { workspace: yield* workspaceOf(options), movedFrom: yield* movedFromOf(options) }
    }
    const odd = ofOneOnly.find((name) => Reflect.get(options, name) !== undefined)
    if (odd !== undefined) return yield* bad(odd, "is each workspace's own: it stands among `workspaces`")
    return undefined
  })

const movedFromOf = ({ movedFrom }: OneOption): Checked<Issuer | undefined> =>
  movedFrom === undefined
    ? Result.succeed(undefined)
    : Result.mapError(parseIssuer(movedFrom), () => badOption("movedFrom", "has to be an issuer, as `issuer` is"))

const ringOf = (keys: CreateOptions["keys"] | undefined): Checked<KeyRing> => {
  const text = Redacted.isRedacted(keys) ? Redacted.value(keys) : Array.isArray(keys) ? keys.join(",") : keys
  if (typeof text !== "string" || text.trim() === "") {
    return bad("keys", "is empty: `npx tessera seal-keys new` makes a key")
  }
  return Result.mapError(parseKeyRing(Redacted.make(text)), ({ message }) =>
    badOption("keys", `is refused: ${message}`)
  )
}

const verbs = ["get", "insert", "replace", "remove", "list", "sweep"] as const

const isLayer = (storage: CreateOptions["storage"] | undefined): storage is Read["storage"] => Layer.isLayer(storage)

const storageOf = (storage: CreateOptions["storage"] | undefined): Checked<Read["storage"]> => {
  if (isLayer(storage)) return Result.succeed(storage)
  if (!isObject(storage)) {
    return bad("storage", "has to be a layer of tessera/storage/…, or an object with the verbs of Storage")
  }
  const missing = verbs.find((verb) => typeof storage[verb] !== "function")
  return missing === undefined
    ? Result.succeed(Layer.succeed(Storage, storage))
    : bad("storage", `lacks the verb ${missing}`)
}

const millisOf = (
  name: keyof LifetimeOptions,
  given: Duration.Input | undefined,
  otherwise: number,
  least = 1000
): Checked<number> => Result.map(lifeOf(`lifetimes.${name}`, given, least), (millis = otherwise) => millis)

/** What tokens say of themselves, and no host says instead. */
const reservedClaims = [
  ...["iss", "sub", "aud", "exp", "iat", "nbf", "jti", "nonce", "acr", "amr", "auth_time", "azp"],
  ...["at_hash", "c_hash", "sid", "events"]
]

const isClaimName = (name: unknown): name is string =>
  typeof name === "string" &&
  /^[\x21-\x7e]{1,128}$/.test(name) &&
  !reservedClaims.includes(name) &&
  !isStandardClaim(name)

const claimsOf = (claims: CreateOptions["claims"], registry: ScopeRegistry): Checked<ReadonlyArray<ClaimScope>> => {
  if (claims === undefined) return Result.succeed([])
  if (!isObject(claims)) return bad("claims", "has to be an object of lists, by the names of scopes")
  const rows: Array<ClaimScope> = []
  for (const [scope, names] of Object.entries(claims)) {
    if (registry.every(({ name }) => name !== scope)) return bad(`claims.${scope}`, "is none of the scopes")
    if (!Array.isArray(names) || names.length === 0 || !names.every(isClaimName)) {
      return bad(`claims.${scope}`, "has to be a list of names of claims that no specification has taken")
    }
    rows.push({ scope, claims: names })
  }
  return Result.succeed(rows)
}

/** The one workspace, with the APIs and the issuers that stand beside it among the options. */
const apisOf = (
  workspace: Workspace,
  { resources, trustedIssuers }: CreateOptions,
  registry: ScopeRegistry
): Checked<Workspace> =>
  Result.gen(function* () {
    const listed = resources === undefined ? [] : yield* readResources("resources", resources, registry)
    const found = listed.length === 0 ? workspace : { ...workspace, resources: listed }
    return trustedIssuers === undefined ? found : yield* readTrusted("trustedIssuers", trustedIssuers, found, registry)
  })

/** What of the policy an option of the same name says; the standard one's where none does. */
const policyField = <Name extends keyof CreateOptions & keyof Policy>(
  name: Name,
  given: Policy[Name] | undefined,
  expected: string
): Checked<Policy[Name]> => {
  const value = given === undefined ? standardPolicy[name] : given
  return Schema.is(Policy.fields[name])(value) ? Result.succeed(value) : bad(name, `has to be ${expected}`)
}

const dpopOf = (given: unknown = {}): Checked<Pick<Policy, "dpop" | "dpopNonce">> => {
  if (!isObject(given)) return bad("dpop", "has to be an object")
  const { nonces = standardPolicy.dpopNonce, required = false }: { nonces?: unknown; required?: unknown } = given
  if (typeof required !== "boolean") return bad("dpop.required", "has to be true or false")
  if (!Schema.is(Policy.fields.dpopNonce)(nonces)) return bad("dpop.nonces", 'has to be "off", "auth" or "all"')
  return Result.map(knownNames(given, dpopNames, "dpop."), () => ({
    dpop: required ? "required" : "optional",
    dpopNonce: nonces
  }))
}

const policyOf = (options: SharedOptions): Checked<Policy> =>
  Result.gen(function* () {
    const {
      consent,
      devices = standardPolicy.devices,
      jwtAlgorithm,
      lifetimes = {},
      maxUnprovenClients,
      par = "optional",
      profile,
      registrationRows,
      requirePkce = standardPolicy.requirePkce,
      workspaceAccess
    } = options
    if (par !== "optional" && par !== "required") return yield* bad("par", 'has to be "optional" or "required"')
    if (!isObject(lifetimes)) return yield* bad("lifetimes", "has to be an object")
    yield* knownNames(lifetimes, lifetimeNames, "lifetimes.")
    return {
      ...standardPolicy,
      codeTtl: yield* millisOf("code", lifetimes.code, standardPolicy.codeTtl),
      accessTtl: yield* millisOf("access", lifetimes.access, standardPolicy.accessTtl),
      refreshIdleTtl: yield* millisOf("refreshIdle", lifetimes.refreshIdle, standardPolicy.refreshIdleTtl),
      refreshMaxTtl: yield* millisOf("refreshMax", lifetimes.refreshMax, standardPolicy.refreshMaxTtl),
      refreshGrace: yield* millisOf("refreshGrace", lifetimes.refreshGrace, standardPolicy.refreshGrace, 0),
      consentTtl: yield* millisOf("consent", lifetimes.consent, standardPolicy.consentTtl),
      deviceTtl: yield* millisOf("device", lifetimes.device, standardPolicy.deviceTtl, 60_000),
      requirePkce,
      devices,
      ...(yield* dpopOf(options.dpop)),
      requirePush: par === "required",
      profile: yield* policyField("profile", profile, `one of ${ProfileName.literals.join(", ")}`),
      jwtAlgorithm: yield* policyField("jwtAlgorithm", jwtAlgorithm, `one of ${algorithms.join(", ")}`),
      maxUnprovenClients: yield* policyField("maxUnprovenClients", maxUnprovenClients, "a whole number from 1"),
      registrationRows: yield* policyField("registrationRows", registrationRows, '"at_once" or "at_consent"'),
      workspaceAccess: yield* policyField("workspaceAccess", workspaceAccess, '"owner", "approved" or "registered"'),
      consent: yield* policyField("consent", consent, '"ask" or "remember"'),
      scopes: options.scopes === undefined ? signInScopes : yield* readScopes("scopes", options.scopes)
    }
  })

const registrationOf = (registration: CreateOptions["registration"] = "open"): Checked<Read["registration"]> => {
  if (registration === "open" || registration === "closed") return Result.succeed(registration)
  const token: unknown = Object(registration).token
  const text = Redacted.isRedacted(token) ? Redacted.value(token) : token
  return typeof text === "string" && isInitialToken(text)
    ? Result.map(knownNames(registration, { token: true }, "registration."), () =>
        Redacted.make(text, { label: "registration token" })
      )
    : bad("registration", `has to be "open", "closed" or { token } with ${initialTokenExpected}`)
}

const isTextList = (given: unknown): given is ReadonlyArray<string> =>
  Array.isArray(given) && given.every((one) => typeof one === "string")

const clientDocumentsOf = (given: CreateOptions["clientDocuments"]): Checked<DocumentHosts | undefined> => {
  if (given === undefined) return Result.succeed(undefined)
  if (typeof given === "boolean") return Result.succeed(given ? "any" : [])
  return isTextList(given) && given.every(isDocumentHost)
    ? Result.succeed(given)
    : bad("clientDocuments", `has to be true, false, or a list of ${documentHostExpected}`)
}

const fetchOf = (fetch: CreateOptions["fetch"]): Checked<FetchOptions> =>
  Result.gen(function* () {
    if (fetch === undefined) return fetchesNothingPrivate
    if (!isObject(fetch)) return yield* bad("fetch", "has to be an object")
    yield* knownNames(fetch, fetchNames, "fetch.")
    const { allow: hosts = [], ca } = fetch
    const allow = isTextList(hosts) ? readAllowList(hosts) : Result.fail(undefined)
    if (Result.isFailure(allow)) return yield* bad("fetch.allow", `has to be a list of ${allowListExpected}`)
    if (ca === undefined) return { allow: allow.success, ca }
    const texts = typeof ca === "string" ? [ca] : ca
    if (!isTextList(texts) || texts.length === 0 || texts.some((text) => certificatesIn(text).length === 0)) {
      return yield* bad("fetch.ca", "has to be certificates as PEM")
    }
    if (allow.success.size === 0)
      return yield* bad("fetch.ca", "vouches for the hosts in fetch.allow, and there are none")
    if (!hasSockets()) return yield* bad("fetch.ca", "counts on Bun, and on Node from 20.16, alone")
    return { allow: allow.success, ca: texts.join("\n") }
  })

const themeOf = (theme: CreateOptions["theme"]): Checked<Theme | undefined> => {
  if (theme === undefined) return Result.succeed(undefined)
  if (!isObject(theme)) return bad("theme", "has to be an object")
  if (theme.dark !== undefined && !isObject(theme.dark)) return bad("theme.dark", "has to be an object")
  return Result.mapError(readTheme(theme), (why) => badOption("theme", `is refused: ${why}`))
}

const isPlace = (page: string, issuer: string): boolean => {
  if (/^\/(?![/\\])/.test(page)) return URL.canParse(page, issuer)
  return URL.canParse(page) && isSecure(new URL(page))
}

/** A function's HTML becomes an answer; what it throws is the server's own fault, and answered so. */
const consentPageOf = (page: CreateOptions["consentPage"], issuer: string): Checked<OwnPages> => {
  if (page === undefined) return Result.succeed({})
  if (typeof page === "function") {
    return Result.succeed({
      consent: ({ id }, model) => {
        const drawn = givenAtOnce("consentPage", page(model, id))
        return typeof drawn === "string"
          ? { status: 200, headers: [["content-type", "text/html; charset=utf-8"]], body: drawn }
          : drawn
      }
    })
  }
  return typeof page === "string" && !page.includes("#") && isPlace(page, issuer)
    ? Result.succeed({ consentAt: page })
    : bad("consentPage", "has to be a function, a path of the issuer's origin, or an https URL without a fragment")
}

const peopleOf = (owner: CreateOptions["owner"] | undefined): Checked<void> => {
  if (!isObject(owner)) return bad("owner", "has to say who your people are")
  if (typeof owner.signedIn !== "function") return bad("owner.signedIn", "has to be a function")
  if (typeof owner.signInAt !== "function") return bad("owner.signInAt", "has to be a function")
  for (const name of Object.keys(ownerNames)) {
    const given: unknown = Reflect.get(owner, name)
    if (given !== undefined && typeof given !== "function") return bad(`owner.${name}`, "has to be a function")
  }
  // Of a class, it has what it needs itself.
  return Object.getPrototypeOf(owner) === Object.prototype
    ? knownNames(owner, ownerNames, "owner.")
    : Result.succeed(undefined)
}

const switches = ["requirePkce", "devices", "housekeeping"] as const

const hasPath = (endpoint: unknown): boolean =>
  isObject(endpoint) && "path" in endpoint && typeof endpoint.path === "string"

const restOf = (options: SharedOptions): Checked<void> => {
  const { audit, clock, extras: wanted = [], endpoints, log = "problems", rateLimits } = options
  if (audit !== undefined && typeof audit !== "function") return bad("audit", "has to be a function")
  if (endpoints !== undefined && !(Array.isArray(endpoints) && endpoints.every(hasPath))) {
    return bad("endpoints", "has to be a list of endpoints, each at a path")
  }
  if (!Array.isArray(wanted) || !wanted.every((extra) => extras.includes(extra))) {
    return bad("extras", `has to be a list of ${extras.join(", ")}`)
  }
  // "false" out of the environment would be taken for true.
  const odd = switches.find((name) => options[name] !== undefined && typeof options[name] !== "boolean")
  if (odd !== undefined) return bad(odd, "has to be true or false")
  if (rateLimits !== undefined && typeof rateLimits !== "boolean" && !isLimitFactor(rateLimits?.factor)) {
    return bad("rateLimits", `has to be true, false or { factor }, ${limitFactorExpected}`)
  }
  if (clock !== undefined && typeof clock?.currentTimeMillisUnsafe !== "function") {
    return bad("clock", "has to be a Clock of effect")
  }
  return logLevels.includes(log) ? Result.succeed(undefined) : bad("log", `has to be one of ${logLevels.join(", ")}`)
}

/** What the types say, and what they cannot say: for callers without them, and for values from an environment. */
export const readOptions = (options: CreateOptions | HostingOptions): Checked<Read> =>
  Result.gen(function* () {
    if (!isObject(options)) return yield* bad("options", "have to be an object")
    yield* knownNames(options, names)
    const found = yield* oneOf(options)
    const ring = yield* ringOf(options.keys)
    const storage = yield* storageOf(options.storage)
    yield* peopleOf(options.owner)
    yield* restOf(options)
    const policy = yield* policyOf(options)
    const claims = yield* claimsOf(options.claims, policy.scopes)
    const one =
      found === undefined || isHosting(options)
        ? found
        : { ...found, workspace: yield* apisOf(found.workspace, options, policy.scopes) }
    const fetch = yield* fetchOf(options.fetch)
    const theme = yield* themeOf(options.theme)
    const ownPages = yield* consentPageOf(options.consentPage, one?.workspace.issuer ?? "https://any.example")
    const registration = yield* registrationOf(options.registration)
    const clientDocuments = yield* clientDocumentsOf(options.clientDocuments)
    return { one, ring, storage, policy, claims, fetch, theme, ownPages, registration, clientDocuments }
  })
