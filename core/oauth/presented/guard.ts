import { Effect, Result } from "effect"
import type { Grants } from "../../engine/Grants.ts"
import type { Principal } from "../../grant/Principal.ts"
import type { HeaderPairs, HttpRequest } from "../../http/Http.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import type { Instant } from "../../rules/Instant.ts"
import type { Policy } from "../../rules/Policy.ts"
import {
  InsufficientAuthentication,
  InsufficientScope,
  InvalidDpopProof,
  InvalidToken,
  PortUnavailable,
  TokenRequired,
  UseDpopNonce,
  WrongCaller
} from "../../rules/Refusal.ts"
import {
  covers,
  isResourceAddress,
  isResourcePath,
  meet,
  unnamedResources,
  withoutEndSlash
} from "../../rules/Resource.ts"
import { isScopeName, reaches, type ScopeRegistry } from "../../rules/Scope.ts"
import type { Place } from "../../token/KeyRing.ts"
import { type OpenWorkspace, originOf, scopesOf } from "../../workspace/Workspace.ts"
import {
  boundRows,
  type Presentation,
  type PresentationFault,
  type PresentationPorts,
  type Presented
} from "./Presentation.ts"

/** The kinds of caller: an application for a person, an application for the workspace itself, a script with an API key. */
export type CallerKind = Principal["_tag"]

export type PrincipalOf<Kind extends CallerKind> = Extract<Principal, { readonly _tag: Kind }>

/** What a protected resource asks of its callers. */
export interface Needs<Kind extends CallerKind = CallerKind> {
  readonly scopes: ReadonlyArray<string>
  /** The kinds of caller that are admitted: `["User"]` where a route is about the person who calls. Default: any. */
  readonly callers?: ReadonlyArray<Kind>
  /**
   * The address at which clients know this resource: a path below the issuer, `"/mcp"`, or a whole address. A refusal then
   * leads to the metadata of that very resource (RFC 9728 §3.1), since clients such as MCP's refuse any that name another
   * address than they called (§3.3). With a whole address the call is held to be one at that host. Default: the metadata
   * of all that is below the issuer.
   */
  readonly resource?: string
  /** RFC 9470: in seconds; who signed in longer ago is asked to sign in anew, and a caller without a person is refused. */
  readonly maxAge?: number
  /** RFC 9470: strengths of sign-in, one of which it takes. */
  readonly acr?: ReadonlyArray<string>
  /** RFC 9449: `"required"` admits no bearer token. Default: `"allowed"`. */
  readonly dpop?: "allowed" | "required"
}

interface NeedsFault {
  readonly option: keyof Needs
  readonly why: string
}

const badScopes: NeedsFault = { option: "scopes", why: 'has to be a list of scope names, such as ["api"]' }

const kinds: Readonly<Record<CallerKind, true>> = { User: true, Workspace: true, ApiKey: true }

const isKind = (given: unknown): boolean => typeof given === "string" && Object.hasOwn(kinds, given)

const badCallers: NeedsFault = {
  option: "callers",
  why: `has to be a list of at least one of ${Object.keys(kinds).join(", ")}`
}

const badResource: NeedsFault = {
  option: "resource",
  why: "has to be a path below the issuer, such as /mcp, or a whole https address, without dot segments, query or fragment"
}

const badDpop: NeedsFault = { option: "dpop", why: 'has to be "allowed" or "required"' }

const badMaxAge: NeedsFault = { option: "maxAge", why: "has to be a whole number of seconds" }

const badAcr: NeedsFault = { option: "acr", why: 'has to be a list of words, such as ["gold"]' }

const isMaxAge = (given: unknown): boolean => typeof given === "number" && Number.isSafeInteger(given) && given >= 0

/** They go into a header, and are told apart by spaces there. */
const isAcr = (given: unknown): boolean =>
  Array.isArray(given) && given.length > 0 && given.every((one) => typeof one === "string" && acrWord.test(one))

const acrWord = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/

/** Why no guard can be made of these; `undefined` where one can. Both get into a header, where not every text can be. */
export const faultOfNeeds = (needs: Needs | null | undefined): NeedsFault | undefined => {
  const { acr, callers, dpop, maxAge, resource, scopes } = needs ?? {}
  if (!Array.isArray(scopes) || !scopes.every(isScopeName)) return badScopes
  if (callers !== undefined && !(Array.isArray(callers) && callers.length > 0 && callers.every(isKind))) {
    return badCallers
  }
  if (maxAge !== undefined && !isMaxAge(maxAge)) return badMaxAge
  if (acr !== undefined && !isAcr(acr)) return badAcr
  if (dpop !== undefined && dpop !== "allowed" && dpop !== "required") return badDpop
  return resource === undefined || isResourcePath(resource) || isResourceAddress(resource) ? undefined : badResource
}

/** The rows by which callers of a resource show what they have. */
export const rowsFor = (rows: ReadonlyArray<Presentation>, { dpop }: Needs): ReadonlyArray<Presentation> =>
  dpop === "required" ? boundRows(rows) : rows

/** RFC 6750 §2, RFC 9449 §7: what a request shows, by the first row that reads it. */
export const readPresented = (
  presentations: ReadonlyArray<Presentation>,
  request: HttpRequest,
  base: string,
  now: Instant,
  ports: PresentationPorts,
  place?: Place
): Effect.Effect<Presented, TokenRequired | PresentationFault> => {
  for (const row of presentations) {
    const presented = row.read(request, base, now, ports, place)
    if (presented !== undefined) return presented
  }
  return Effect.fail(new TokenRequired())
}

/**
 * The path is put behind the origin, never resolved against it: two slashes at its start are no other host. And a token
 * for a neighbour of what is guarded is none for it, whatever path is called.
 */
const isFor = (resources: ReadonlyArray<string> | null, path: string, base: string): boolean => {
  if (resources === null) return true
  const called = new URL(originOf(base) + path).href
  return resources.some((one) => covers([one], called) && meet(one, base))
}

interface Reaching {
  readonly _tag: CallerKind
  readonly scope: ReadonlyArray<string>
}

/** How far a token goes, as its checker knows. */
interface Reach {
  /** What it is for; `null` is everything. */
  readonly resources: ReadonlyArray<string> | null
  /** Whether its scopes are enough, with all that they imply. */
  readonly enough: boolean
}

const isOfKind = <P extends Reaching, Kind extends CallerKind>(
  principal: P,
  { callers }: Needs<Kind>
): principal is Extract<P, { readonly _tag: Kind }> =>
  callers === undefined || callers.some((kind) => kind === principal._tag)

/**
 * Whether a caller's token is for this place, of a kind that is admitted, and reaches as far as is needed. `base`: what
 * is guarded, written without a slash at the end, on the path's host.
 */
export const checkReach = <P extends Reaching, Kind extends CallerKind>(
  base: string,
  path: string,
  needs: Needs<Kind>,
  principal: P,
  { enough, resources }: Reach
): Result.Result<Extract<P, { readonly _tag: Kind }>, InvalidToken | InsufficientScope | WrongCaller> => {
  if (!isFor(resources, path, base)) {
    return Result.fail(new InvalidToken({ reason: "other_resource" }))
  }
  // A key without scopes is for introspection: it opens nothing, even where no scope is needed.
  const opensNothing = principal._tag === "ApiKey" && principal.scope.length === 0
  if (opensNothing || !enough) {
    return Result.fail(new InsufficientScope({ needed: needs.scopes }))
  }
  return isOfKind(principal, needs)
    ? Result.succeed(principal)
    : Result.fail(new WrongCaller({ needed: needs.callers ?? [] }))
}

/** A caller, as far as it tells of its person's sign-in. */
interface Authenticated {
  readonly authenticatedAt?: number
  readonly acr?: string
}

/**
 * RFC 9470 §3: what is wanting of the sign-in behind a token; `undefined` where it does. What was not told is wanting.
 */
export const authenticationFault = (
  { acr, maxAge }: Needs,
  caller: Authenticated | object,
  now: number
): InsufficientAuthentication | undefined => {
  if (maxAge === undefined && acr === undefined) return undefined
  const { authenticatedAt, acr: is }: Authenticated = caller
  const isOld = maxAge !== undefined && (authenticatedAt === undefined || now > authenticatedAt + maxAge * 1000)
  const isWeak = acr !== undefined && !acr.some((one) => one === is)
  return isOld || isWeak ? new InsufficientAuthentication({ acr: acr ?? [], maxAge: maxAge ?? null }) : undefined
}

/** What a guard is made of. */
interface GuardServices extends PresentationPorts {
  readonly grants: Grants
  readonly presentations: ReadonlyArray<Presentation>
  readonly policy: Policy
}

/** What a caller of a resource elsewhere is for, where its token names nothing: a key opens all, a token what it may. */
const namedBy = (workspace: OpenWorkspace, registry: ScopeRegistry, { _tag, resources, scope }: Principal) =>
  resources === null && _tag !== "ApiKey" ? unnamedResources(workspace, registry, scope) : resources

/** What a guard stands before: all that is below the issuer, or a resource of its own address. */
const guardedAt = ({ issuer }: OpenWorkspace, { resource }: Needs): string =>
  resource === undefined || resource.startsWith("/") ? issuer : withoutEndSlash(resource)

/** What a caller of a guarded endpoint may be refused by. */
export const guardFaults = [
  TokenRequired,
  InvalidToken,
  InvalidDpopProof,
  UseDpopNonce,
  InsufficientScope,
  WrongCaller,
  PortUnavailable,
  StorageUnavailable
] as const

/** What an endpoint of ours needs: none asks for a sign-in of its own. */
type EndpointNeeds<Kind extends CallerKind> = Omit<Needs<Kind>, "acr" | "maxAge">

/** RFC 9449 §8.2: what the answer has to tell the caller; `undefined` for most. */
const toldBeside = ({ proof }: Presented): HeaderPairs | undefined =>
  proof === undefined || proof.tells.length === 0 ? undefined : proof.tells

/**
 * RFC 6750 §3: what `admit` makes of the caller, if what it shows is good for this place and these scopes, and of what
 * the answer has to tell it.
 */
export const guard = <const Kind extends CallerKind, A, E>(
  services: GuardServices,
  workspace: OpenWorkspace,
  request: HttpRequest,
  needs: EndpointNeeds<Kind>,
  now: Instant,
  admit: (principal: PrincipalOf<Kind>, tells: HeaderPairs | undefined) => Effect.Effect<A, E>
): Effect.Effect<A, E | TokenRequired | InsufficientScope | WrongCaller | PresentationFault> =>
  Effect.flatMapEager(
    readPresented(
      rowsFor(services.presentations, needs),
      request,
      guardedAt(workspace, needs),
      now,
      services,
      workspace
    ),
    (presented): Effect.Effect<A, E | InsufficientScope | WrongCaller | PresentationFault> =>
      Effect.flatMapEager(
        services.grants.check(workspace, presented, now),
        (principal): Effect.Effect<A, E | InvalidToken | InsufficientScope | WrongCaller> => {
          const registry = scopesOf(services.policy, workspace)
          const base = guardedAt(workspace, needs)
          const reached = checkReach<Principal, Kind>(base, request.path, needs, principal, {
            resources: base === workspace.issuer ? principal.resources : namedBy(workspace, registry, principal),
            enough: reaches(registry, principal.scope, needs.scopes)
          })
          return Result.isSuccess(reached)
            ? admit(reached.success, toldBeside(presented))
            : Effect.fail(reached.failure)
        }
      )
  )
