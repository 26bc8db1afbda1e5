import { Schema } from "effect"
import { placeOf } from "../../core/grant/Grant.ts"
import type { Principal } from "../../core/grant/Principal.ts"
import { shuttingDown } from "../../core/http/answer.ts"
import type { HeaderPairs, HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { type CallerKind, faultOfNeeds, type Needs } from "../../core/oauth/presented/guard.ts"
import { grantMark } from "../../core/rules/Id.ts"
import type { Guarded } from "../../core/Tessera.ts"
import type { Workspace } from "../../core/workspace/Workspace.ts"
import { toResponse } from "../fetch/handler.ts"
import { pathOf, webHeaders } from "../serve/request.ts"

/** What a guard was given and cannot be made of. `message` names the option, and never holds a secret's value. */
export class BadGuardOption extends Schema.TaggedError<BadGuardOption>()("BadGuardOption", {
  option: Schema.String,
  message: Schema.String
}) {}

/** Throws `BadGuardOption`: where a route's guard is made, so that a host hears of it before the first call. */
export const refuseBad = (needs: Needs): void => {
  const fault = faultOfNeeds(needs)
  if (fault === undefined) return
  const { option, why } = fault
  throw new BadGuardOption({ option, message: `guard: ${option} ${why}` })
}

interface Common {
  /** Who issued the token, and so whose API it is for. */
  readonly issuer: string
  /** The id of the workspace that it is for, where this process has several. */
  readonly workspace?: string
  /** What the audit stream calls that which the token came from: good for logs, and for nothing else. */
  readonly grant: string
  readonly scope: ReadonlyArray<string>
  /** What the token is for; `null`: all that is the issuer's. */
  readonly resources: ReadonlyArray<string> | null
}

/** An application acting for a person. */
export interface UserCaller extends Common {
  readonly _tag: "User"
  readonly user: string
  /** Where the person allowed it, where they have places (`owner.places`). */
  readonly place?: string
  /** Milliseconds since 1970: when the person signed in, where the application asked (RFC 9470). */
  readonly authenticatedAt?: number
  /** How strongly, where it asked. */
  readonly acr?: string
  readonly client: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** RFC 8693: of a token that was exchanged, the clients that did, the last of them first: it is the `client`. */
  readonly actors?: ReadonlyArray<string>
}

/** An application acting for itself. */
export interface WorkspaceCaller extends Common {
  readonly _tag: "Workspace"
  readonly client: string
  readonly expiresAt: number
}

/** A script with an API key. */
export interface ApiKeyCaller extends Common {
  readonly _tag: "ApiKey"
  /** `null`: never. */
  readonly expiresAt: number | null
}

/** Who calls, in the same words whether the authorization server is in this process or in another. */
export type Caller = UserCaller | WorkspaceCaller | ApiKeyCaller

/** The callers of some of the kinds: what a guard admits that names these. */
export type CallerOf<Kind extends CallerKind> = Extract<Caller, { readonly _tag: Kind }>

/** What a guard knows is asked again, and a host may do as it likes with what it was told. */
export const copyOf = <C extends Caller>(caller: C): C => ({
  ...caller,
  scope: [...caller.scope],
  resources: caller.resources === null ? null : [...caller.resources],
  ...("actors" in caller && caller.actors !== undefined ? { actors: [...caller.actors] } : {})
})

/**
 * What a guard tells of the core's principal: of the grant its mark alone, since its id is half of a token, and a list of
 * scopes that is the host's own, since the core keeps the grant's.
 */
const callerOf = ({ id, issuer }: Workspace, principal: Principal, isOneOfMany: boolean): Caller => {
  const resources = principal.resources === null ? null : [...principal.resources]
  const of = isOneOfMany ? { issuer, workspace: id } : { issuer }
  const common = { ...of, grant: grantMark(principal.grant), scope: [...principal.scope], resources }
  switch (principal._tag) {
    case "User":
      return {
        _tag: "User",
        user: principal.user,
        ...placeOf(principal),
        ...(principal.authenticatedAt === undefined ? {} : { authenticatedAt: principal.authenticatedAt }),
        ...(principal.acr === undefined ? {} : { acr: principal.acr }),
        client: principal.client,
        expiresAt: principal.expiresAt,
        ...(principal.actors === undefined ? {} : { actors: [...principal.actors] }),
        ...common
      }
    case "Workspace":
      return { _tag: "Workspace", client: principal.client, expiresAt: principal.expiresAt, ...common }
    case "ApiKey":
      return { _tag: "ApiKey", expiresAt: principal.expiresAt, ...common }
  }
}

const callers = new WeakMap<object, Caller>()

/**
 * Who calls, of a request that the guard of Node, Express or Fastify has admitted; `undefined` where none stands before
 * the route; of `ctx.state` in Koa. The other guards hand the caller over themselves.
 */
export function principalOf(request: object): Caller | undefined
/** Of these kinds only, as the guard before the route names them. */
export function principalOf<const Kind extends CallerKind>(
  request: object,
  kinds: ReadonlyArray<Kind>
): CallerOf<Kind> | undefined
export function principalOf(request: object, kinds?: ReadonlyArray<CallerKind>): Caller | undefined {
  const caller = callers.get(request)
  return caller === undefined || kinds === undefined || kinds.includes(caller._tag) ? caller : undefined
}

/** Beside the request, and on it by the name that its framework's users look for. */
export const setPrincipal = <R extends object>(request: R, principal: Caller): void => {
  callers.set(request, principal)
  Object.assign(request, { principal })
}

/** All that a guard looks at. */
export interface GuardedCall {
  readonly method: string
  /** Whole, as `URL` writes it, with what a router has stripped; without the query. */
  readonly path: string
  readonly headers: HttpRequest["headers"]
}

/** A caller, or the answer to give instead: 401 or 403 with its challenge, or 503 where the server could not say. */
export type Checked<Answer, Kind extends CallerKind = CallerKind> =
  | {
      readonly _tag: "Admitted"
      readonly principal: CallerOf<Kind>
      /** RFC 9449 §8.2: what the app's own answer has to carry. Left out where there is nothing to tell. */
      readonly headers?: HeaderPairs
    }
  | { readonly _tag: "Refused"; readonly response: Answer }

/**
 * Never rejects, but for needs that cannot be: with `BadGuardOption`. Of whom it admits the needs alone say the kind, never
 * what is made of the answer.
 */
export type Check = <const Kind extends CallerKind = CallerKind>(
  call: GuardedCall,
  needs: Needs<Kind>
) => Promise<Checked<HttpResponse, NoInfer<Kind>>>

/** Checks who calls a resource: in this process or over introspection, alike for a caller of either. */
export interface Guard {
  /** Who calls, or the answer to give instead, for what speaks `Request` and `Response`. */
  readonly guard: <const Kind extends CallerKind = CallerKind>(
    request: Request,
    needs: Needs<Kind>
  ) => Promise<Checked<Response, NoInfer<Kind>>>
  /** The same, for frameworks with requests and answers of their own. */
  readonly check: Check
}

/** A call as the web's platforms have it. */
export const webCall = (request: Request): GuardedCall => ({
  method: request.method,
  path: pathOf(request.url) ?? "/",
  headers: webHeaders(request)
})

/** `given` admits callers of the kinds that the needs name, by `checkReach`. */
export const guardOf = (given: (call: GuardedCall, needs: Needs) => Promise<Checked<HttpResponse>>): Guard => {
  const check: Check = async <const Kind extends CallerKind>(call: GuardedCall, needs: Needs<Kind>) => {
    refuseBad(needs)
    // The kinds are values in `given`, and types from here on.
    return given(call, needs) as Promise<Checked<HttpResponse, Kind>>
  }
  const guard: Guard["guard"] = async (request, needs) => {
    const checked = await check(webCall(request), needs)
    return checked._tag === "Admitted" ? checked : { _tag: "Refused", response: toResponse(checked.response) }
  }
  return { guard, check }
}

/**
 * A guard over the authorization server of this very process: `Tessera`'s own, as a promise. `several`: whether it tells
 * the workspace of a caller, because there is more than one.
 */
export const localGuard = (
  guard: (request: HttpRequest, needs: Needs) => Promise<Guarded>,
  { several = false }: { readonly several?: boolean } = {}
): Guard =>
  guardOf(async (call, needs) => {
    const { headers, method, path } = call
    try {
      const guarded = await guard({ method, path, query: "", headers, body: "" }, needs)
      if (guarded._tag === "Refused") return guarded
      const { headers: tells, principal, workspace } = guarded
      const admitted = { _tag: "Admitted", principal: callerOf(workspace, principal, several) } as const
      return tells === undefined ? admitted : { ...admitted, headers: tells }
    } catch {
      // It fails in one way only: the runtime that it ran on is gone. The host closed it.
      return { _tag: "Refused", response: shuttingDown }
    }
  })
