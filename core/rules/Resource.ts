import { Result, Schema } from "effect"
import type { Millis } from "./Instant.ts"
import { InvalidTarget } from "./Refusal.ts"
import { reaches, ScopeName, type ScopeRegistry } from "./Scope.ts"

/** The most characters of an address, and of all that a token is for. */
export const longestAddress = 2048
/** The most characters of a name. */
export const longestName = 200

/** RFC 8707 §2: a place of an API, written without a slash at the end. Covers everything below it. */
export const Resource = Schema.String.check(Schema.isMaxLength(longestAddress)).pipe(Schema.brand("Resource"))
export type Resource = typeof Resource.Type

/** What a grant or a token is for: each once, as it was asked for. No address has a space in it. */
export const Resources = Schema.NonEmptyArray(Resource).check(
  Schema.makeFilter(
    (all: ReadonlyArray<string>) => new Set(all).size === all.length && all.join(" ").length <= longestAddress
  )
)
export type Resources = typeof Resources.Type

const loopback = /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?(?:\/|$)/

/** Resources are compared so. */
export const withoutEndSlash = (text: string): string => (text.endsWith("/") ? text.slice(0, -1) : text)

/** The URL parser folds `..`, case and default ports away, so no comparison can be talked round. */
const normalOf = (text: string): Resource | undefined => {
  if (!/^[\x21-\x7e]{1,2048}$/.test(text) || !URL.canParse(text) || /[?#\\]/.test(text)) return undefined
  const resource = withoutEndSlash(new URL(text).href)
  // The parser escapes, so the address can be longer than its text: what is kept has to be what can be read back.
  // Checked just now, which is what the brand says.
  return resource.length > longestAddress ? undefined : (resource as Resource)
}

/** Segments of what a URL's path is made of, none of them dots, which a parser folds away; at most a slash at the end. */
const segments = /^(?:\/(?!(?:\.|%2e){1,2}(?:\/|$))(?:[a-z0-9\-._~!$&'()*+,;=:@]|%[0-9a-f]{2})+)+\/?$/i

/** Whether a resource of this path can stand below an issuer, under the very name that it is given. */
export const isResourcePath = (path: unknown): path is string => typeof path === "string" && segments.test(path)

/** RFC 9728 §1.2, written in the one way that a parser leaves as it is, but for the slash at the end. */
const isAddress = (text: string): boolean => {
  if (normalOf(text) !== withoutEndSlash(text)) return false
  const { password, pathname, protocol, username } = new URL(text)
  return (
    (protocol === "https:" || loopback.test(text)) &&
    username === "" &&
    password === "" &&
    (pathname === "/" || segments.test(pathname))
  )
}

export const ResourceAddress = Schema.String.check(
  Schema.makeFilter(isAddress, {
    expected: "an https URL (or http on this machine) as browsers write it, without query, fragment or user"
  })
).pipe(Schema.brand("ResourceAddress"))
export type ResourceAddress = typeof ResourceAddress.Type

export const isResourceAddress = (text: unknown): text is ResourceAddress => typeof text === "string" && isAddress(text)

/** How access tokens are written: as sealed references that this server reads, or as JWTs (RFC 9068) for any reader. */
export const AccessTokenFormat = Schema.Literals(["opaque", "jwt"])
export type AccessTokenFormat = typeof AccessTokenFormat.Type

/** An API that tokens are for (RFC 8707), wherever it is. */
export const ResourceDefinition = Schema.Struct({
  /** Its address, as clients name it. What is below is part of it. */
  at: ResourceAddress,
  /** What people read. */
  name: Schema.NonEmptyString.check(Schema.isMaxLength(longestName)),
  /** The scopes that it takes, and with each what that implies. Left out, it takes all. */
  scopes: Schema.optionalKey(Schema.NonEmptyArray(ScopeName)),
  /** Left out, opaque. */
  accessTokenFormat: Schema.optionalKey(AccessTokenFormat),
  /** The longest life of an access token for it, where that is shorter than the policy's. */
  accessTokenTtl: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1000)))
})
export type ResourceDefinition = typeof ResourceDefinition.Type

/** The address of a definition as tokens name it. */
export const resourceOf = ({ at }: Pick<ResourceDefinition, "at">): Resource =>
  // An address is written as the parser writes it.
  withoutEndSlash(at) as string as Resource

/** The most that a workspace lists: each token request looks through them. */
export const mostResources = 1000

/** The resources of a workspace; with none there is one, the issuer and everything below it. */
export const ResourceRegistry = Schema.Array(ResourceDefinition).check(
  Schema.isMaxLength(mostResources),
  Schema.makeFilter((all: ReadonlyArray<Pick<ResourceDefinition, "at">>) => {
    const twice = sameTwice(all)
    return twice === undefined ? true : `resources of which no two are ${twice}`
  })
)
export type ResourceRegistry = typeof ResourceRegistry.Type

const sameTwice = (all: ReadonlyArray<Pick<ResourceDefinition, "at">>): string | undefined => {
  const seen = new Set<string>()
  for (const one of all) {
    const resource = resourceOf(one)
    if (seen.has(resource)) return one.at
    seen.add(resource)
  }
  return undefined
}

const isBelow = (inner: string, outer: string): boolean =>
  inner.startsWith(outer) && (inner.length === outer.length || inner.charCodeAt(outer.length) === 0x2f)

export const protectedResourcePath = "/.well-known/oauth-protected-resource"

/** The RFC 9728 §3.1 address of a resource's own metadata. */
export const resourceMetadataUrl = (resource: string): string => {
  const { origin, pathname } = new URL(resource)
  return `${origin}${protectedResourcePath}${pathname === "/" ? "" : pathname}`
}

/** A scope that a resource is to take and that is not there; `undefined` where all are. */
export const strangeScope = (
  { scopes }: Pick<ResourceDefinition, "scopes">,
  registry: ScopeRegistry
): ScopeName | undefined => scopes?.find((name) => registry.every((scope) => scope.name !== name))

/** Whether two resources have anything in common. */
export const meet = (one: string, other: string): boolean => isBelow(one, other) || isBelow(other, one)

/** Where a workspace is, and what it lists. */
interface Owner {
  readonly issuer: string
  readonly resources?: ResourceRegistry
}

const none: ResourceRegistry = []

/** The registered resource of just this address, with a slash at the end or without. */
export const definitionAt = ({ resources = none }: Owner, text: string): ResourceDefinition | undefined =>
  resources.find((one) => resourceOf(one) === withoutEndSlash(text))

/** The registered resource that a place is part of: of several, the nearest. */
export const definitionOf = ({ resources = none }: Owner, place: string): ResourceDefinition | undefined => {
  let nearest: ResourceDefinition | undefined
  for (const one of resources) {
    if (isBelow(place, resourceOf(one)) && (nearest === undefined || isBelow(resourceOf(one), resourceOf(nearest))))
      nearest = one
  }
  return nearest
}

const isKnown = (owner: Owner, resource: Resource): boolean =>
  owner.resources === undefined || owner.resources.length === 0
    ? isBelow(resource, owner.issuer)
    : resource === owner.issuer || definitionOf(owner, resource) !== undefined

const refuse = (reason: InvalidTarget["reason"]) => Result.fail(new InvalidTarget({ reason }))

/** RFC 8707 §2: the resources that a request names; all of them have to be the workspace's. */
export const readResources = (owner: Owner, texts: ReadonlyArray<string>): Result.Result<Resources, InvalidTarget> => {
  const found = new Set<Resource>()
  for (const text of texts) {
    const resource = normalOf(text)
    if (resource === undefined) return refuse("malformed")
    if (!isKnown(owner, resource)) return refuse("not_ours")
    found.add(resource)
  }
  const [first, ...others] = found
  if (first === undefined) return refuse("malformed")
  const all: Resources = [first, ...others]
  return all.join(" ").length > longestAddress ? refuse("malformed") : Result.succeed(all)
}

/** Whether what is asked for is a part of what was bound; `null` is the whole workspace. */
export const withinResources = (asked: Resources | null, bound: Resources | null): boolean =>
  bound === null || asked?.every((one) => bound.some((outer) => isBelow(one, outer))) === true

/** RFC 8707 §2.2: what a grant is bound to, narrowed to what a token request asks for; `null` is the whole workspace. */
export const narrowResources = (
  bound: Resources | null,
  asked: Resources | null
): Result.Result<Resources | null, InvalidTarget> => {
  if (asked === null) return Result.succeed(bound)
  return withinResources(asked, bound) ? Result.succeed(asked) : refuse("wider_than_granted")
}

export const sameResources = (one: ReadonlyArray<string> | null, other: ReadonlyArray<string> | null): boolean =>
  one === other ||
  (one !== null &&
    other !== null &&
    one.length === other.length &&
    one.every((resource, index) => resource === other[index]))

/** Whether a token for these resources may be used at the URL `at` (without its query). `null` is any. */
export const covers = (resources: ReadonlyArray<string> | null, at: string): boolean =>
  resources === null || resources.some((resource) => isBelow(withoutEndSlash(at), resource))

/** The scopes that at least one of these resources takes; `null` where one takes all. */
export const scopesTaken = (owner: Owner, resources: ReadonlyArray<string>): ReadonlyArray<ScopeName> | null => {
  const taken = new Set<ScopeName>()
  for (const resource of resources) {
    const scopes = definitionOf(owner, resource)?.scopes
    if (scopes === undefined) return null
    for (const name of scopes) taken.add(name)
  }
  return [...taken]
}

/**
 * What a token that names no resource is for: the issuer with what is below it, and each listed resource that takes one of
 * its scopes. `null`: the workspace lists none, and it is for all.
 */
export const unnamedResources = (
  owner: Owner,
  registry: ScopeRegistry,
  scope: ReadonlyArray<string>
): ReadonlyArray<string> | null => {
  const { issuer, resources = none } = owner
  if (resources.length === 0) return null
  const takers = resources.filter(
    ({ scopes = scope }) =>
      scopes.some((name) => reaches(registry, scope, [name])) || scope.some((name) => reaches(registry, scopes, [name]))
  )
  return [...new Set([issuer, ...takers.map(resourceOf)])]
}

/** What resources ask of the access tokens that are for them. */
export interface TokenTerms {
  readonly format: AccessTokenFormat
  /** `undefined`: as the policy says. */
  readonly ttl: Millis | undefined
}

const noTerms: TokenTerms = { format: "opaque", ttl: undefined }

const hasTerms = ({ accessTokenFormat, accessTokenTtl }: ResourceDefinition): boolean =>
  accessTokenFormat === "jwt" || accessTokenTtl !== undefined

/** By registry, which is immutable. */
const asking = new WeakMap<ResourceRegistry, boolean>()

/** Whether any resource asks something of its tokens. Each token request looks, so each registry is looked through once. */
export const anyTerms = ({ resources = none }: Owner): boolean => {
  if (resources.length === 0) return false
  const before = asking.get(resources)
  if (before !== undefined) return before
  const found = resources.some(hasTerms)
  asking.set(resources, found)
  return found
}

/**
 * What a token for several places has to keep to. One resource that reads tokens by itself makes a JWT of it, since the
 * others, who ask, take either; the shortest life is that of all. A place that has resources below it opens those too.
 */
export const termsOf = (owner: Owner, places: ReadonlyArray<string>): TokenTerms => {
  if (!anyTerms(owner)) return noTerms
  const { resources = none } = owner
  const concerned = places.flatMap((place) => [
    ...resources.filter((one) => isBelow(resourceOf(one), place)),
    ...[definitionOf(owner, place) ?? []].flat()
  ])
  const lives = concerned.flatMap(({ accessTokenTtl = [] }) => accessTokenTtl)
  return {
    format: concerned.some(({ accessTokenFormat }) => accessTokenFormat === "jwt") ? "jwt" : "opaque",
    ttl: lives.length === 0 ? undefined : Math.min(...lives)
  }
}
