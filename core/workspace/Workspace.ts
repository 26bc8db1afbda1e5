import { type Result, Schema } from "effect"
import { DocumentHosts } from "../rules/DocumentHosts.ts"
import type { Policy } from "../rules/Policy.ts"
import { definitionAt, protectedResourcePath, ResourceRegistry, resourceOf } from "../rules/Resource.ts"
import { ScopeRegistry } from "../rules/Scope.ts"
import { type TrustedIssuer, TrustedIssuers } from "../rules/TrustedIssuer.ts"
import { Theme } from "./Theme.ts"

/** The key that separates one tenant's records from another's. */
export const WorkspaceId = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/)).pipe(
  Schema.brand("WorkspaceId")
)
export type WorkspaceId = typeof WorkspaceId.Type

const loopbackHosts = new Set(["127.0.0.1", "[::1]", "localhost"])

export const isLoopbackHost = (hostname: string): boolean => loopbackHosts.has(hostname)

export const isOnLoopback = (address: string): boolean => isLoopbackHost(new URL(address).hostname)

/** https, or http to this machine, where no other one can read along. */
export const isSecure = ({ hostname, protocol }: URL): boolean =>
  protocol === "https:" || (protocol === "http:" && isLoopbackHost(hostname))

const isIssuer = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  const bare = url.username === "" && url.password === ""
  const written = url.pathname === "/" ? url.origin : url.href
  return isSecure(url) && bare && written === text && !text.endsWith("/") && !text.includes("?") && !text.includes("#")
}

/** RFC 8414 §2: https (or http on this machine), no query, no fragment; here also without a slash at the end. */
export const Issuer = Schema.String.check(
  Schema.makeFilter(isIssuer, { expected: "an https URL without query, fragment or slash at the end" })
).pipe(Schema.brand("Issuer"))
export type Issuer = typeof Issuer.Type

/** A tenant: what owns clients, grants, accounts and keys, and the issuer that speaks for it. */
export const Workspace = Schema.Struct({
  id: WorkspaceId,
  issuer: Issuer,
  /** What people read on the pages. */
  name: Schema.NonEmptyString,
  /** The look of its pages, in place of the server's. */
  theme: Schema.optionalKey(Theme),
  /** Answers every request with 503, and ends nothing: it goes on where it was once it is enabled again. */
  disabled: Schema.optionalKey(Schema.Boolean),
  /** The APIs that its tokens are for. Without any there is one: the issuer and everything below it. */
  resources: Schema.optionalKey(ResourceRegistry),
  /** Whose assertions about people it takes (RFC 7523). */
  trustedIssuers: Schema.optionalKey(TrustedIssuers),
  /** From which hosts it takes documents of clients, of those that the server takes. */
  clientDocuments: Schema.optionalKey(DocumentHosts),
  /** The scopes that there are, instead of the policy's. */
  scopes: Schema.optionalKey(ScopeRegistry)
})
export type Workspace = typeof Workspace.Type

/**
 * The size of a cache (`LruMap`) that has an entry for each workspace: with half as many in use in turn, none is ever
 * missed. A smaller one would miss all of them.
 */
export const workspacesKept = 40_000

/** A workspace that was opened: its store has it under this issuer. */
export interface OpenWorkspace extends Workspace {
  /** Whether an earlier release may have sealed something here (see `Place` in `token/KeyRing.ts`). */
  readonly sealedBefore?: boolean
  /** Of a request that came in below a session's own path: that path, which its pages are below too. */
  readonly sessionPath?: string
  /** Those of its resources that an owner listed; the others are configuration. */
  readonly listed?: ResourceRegistry
  /** From which hosts its owners take documents of clients, of those that it may take. */
  readonly ownersDocuments?: DocumentHosts
  /** Whose clients' documents its owners will have none of. */
  readonly blockedHosts?: ReadonlyArray<string>
}

const noResources: ResourceRegistry = []
const noIssuers: TrustedIssuers = []

/** The same with the issuers that an owner trusts. */
const withTrusted = (workspace: Workspace, trusted: TrustedIssuers): Workspace => {
  if (trusted.length === 0) return workspace
  const { trustedIssuers = noIssuers } = workspace
  const isConfigured = ({ issuer }: TrustedIssuer) => trustedIssuers.some((one) => one.issuer === issuer)
  return { ...workspace, trustedIssuers: [...trustedIssuers, ...trusted.filter((one) => !isConfigured(one))] }
}

/** With what an owner listed: what is configured comes first, and stays. */
export const withListed = (
  given: Workspace,
  sealedBefore: boolean,
  listed: ResourceRegistry,
  trusted: TrustedIssuers = noIssuers
): OpenWorkspace => {
  const workspace = withTrusted(given, trusted)
  if (listed.length === 0) return { ...workspace, sealedBefore }
  const { resources = noResources } = workspace
  const configured = new Set(resources.map(resourceOf))
  const own = listed.filter((one) => !configured.has(resourceOf(one)))
  return { ...workspace, sealedBefore, listed: own, resources: [...resources, ...own] }
}

/** The registry of scopes at work in a workspace. */
export const scopesOf = ({ scopes }: Policy, workspace: Workspace): ScopeRegistry => workspace.scopes ?? scopes

/** What a server decides for itself, as it holds in a workspace. */
export const policyAt = (policy: Policy, { scopes }: Workspace): Policy => {
  if (scopes === undefined || scopes === policy.scopes) return policy
  const known = policies.get(scopes)
  if (known !== undefined && known.of === policy) return known.at
  const at = { ...policy, scopes }
  policies.set(scopes, { of: policy, at })
  return at
}

/** The same with whatever else has a policy beside it. */
export const servicesAt = <S extends { readonly policy: Policy }>(services: S, workspace: Workspace): S => {
  const policy = policyAt(services.policy, workspace)
  return policy === services.policy ? services : { ...services, policy }
}

/** Requests ask over and over. */
const policies = new WeakMap<ScopeRegistry, { readonly of: Policy; readonly at: Policy }>()

export const parseIssuer = (text: string): Result.Result<Issuer, Schema.SchemaError> =>
  Schema.decodeUnknownResult(Issuer)(text)

/** Where the path of an issuer or a resource begins. Both are kept as `URL` writes them, so neither is read again. */
const pathAt = (address: string): number => {
  const slash = address.indexOf("/", address.indexOf("://") + 3)
  return slash < 0 ? address.length : slash
}

/** The part of the issuer that every path of the workspace starts with: empty, or `/` and more. */
export const basePath = (issuer: Issuer): string => issuer.slice(pathAt(issuer))

/** The origin of an issuer, or of a resource's address. */
export const originOf = (address: string): string => address.slice(0, pathAt(address))

/**
 * The address of one of a workspace's endpoints. A well-known path goes between the host and the issuer's own path
 * (RFC 8414 §3.1, RFC 9728 §3.1); every other path goes behind it.
 */
export const endpointUrl = (workspace: Workspace, path: string): string => {
  if (!path.startsWith("/.well-known/")) return workspace.issuer + path
  return originOf(workspace.issuer) + path + basePath(workspace.issuer)
}

const wellKnown = /^(\/\.well-known\/[^/]+)(\/.*)?$/

const isUnder = (path: string, base: string): boolean => path === base || path.startsWith(`${base}/`)

/**
 * A request's path as the routes know it: without the issuer's own path, wherever that stands (RFC 8414 §3.1 puts it
 * behind the well-known one). `undefined` where the path is none of this workspace's.
 */
export const pathBelow = (workspace: Workspace, path: string): string | undefined => {
  const base = basePath(workspace.issuer)
  if (base === "") return path
  if (isUnder(path, base)) return path.slice(base.length) || "/"
  const [, document, suffix = ""] = wellKnown.exec(path) ?? []
  if (document === undefined) return undefined
  if (isUnder(suffix, base)) return document + suffix.slice(base.length)
  // RFC 9728 §3.1: a resource on the issuer's host, beside the issuer, has its document there too.
  const resource = originOf(workspace.issuer) + suffix
  return document === protectedResourcePath && definitionAt(workspace, resource) !== undefined ? path : undefined
}

export const consentPath = "/consent"
export const authorizePath = "/oauth/authorize"
export const logoutPath = "/oauth/logout"
export const parPath = "/oauth/par"
export const deviceAuthorizationPath = "/oauth/device_authorization"
/** Where people enter the code that a device shows. */
export const devicePath = "/device"
export const tokenPath = "/oauth/token"

/** Where browsers ask for this workspace's authorization. */
export const authorizeAt = (workspace: Workspace): string => basePath(workspace.issuer) + authorizePath
