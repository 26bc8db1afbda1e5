import { Effect, Result } from "effect"
import type { Grants } from "../../engine/Grants.ts"
import type { Principal } from "../../grant/Principal.ts"
import type { HttpRequest } from "../../http/Http.ts"
import type { StorageUnavailable } from "../../ports/Storage.ts"
import type { Instant } from "../../rules/Instant.ts"
import { InsufficientScope, InvalidToken, TokenRequired } from "../../rules/Refusal.ts"
import { covers, isResourcePath } from "../../rules/Resource.ts"
import { isScopeName, isWithin } from "../../rules/Scope.ts"
import { isBearerToken } from "../../rules/Secret.ts"
import type { Workspace } from "../../workspace/Workspace.ts"

/** What a protected resource asks of whoever calls it. */
export interface Needs {
  readonly scopes: ReadonlyArray<string>
  /**
   * The path below the issuer at which clients know this resource: `"/mcp"`. A refusal then leads to the metadata of that
   * very resource (RFC 9728 §3.1), since clients such as MCP's refuse any that name another address than they called
   * (§3.3). It changes nothing about who is admitted. Default: the metadata of all that is below the issuer.
   */
  readonly resource?: string
}

export interface NeedsFault {
  readonly option: keyof Needs
  readonly why: string
}

const badScopes: NeedsFault = { option: "scopes", why: 'has to be a list of scope names, such as ["api"]' }

const badResource: NeedsFault = {
  option: "resource",
  why: "has to be a path below the issuer, such as /mcp, without dot segments, query or fragment"
}

/** Why no guard can be made of these; `undefined` where one can. Both get into a header, where not every text can be. */
export const faultOfNeeds = (needs: Needs | null | undefined): NeedsFault | undefined => {
  const { resource, scopes } = needs ?? {}
  if (!Array.isArray(scopes) || !scopes.every(isScopeName)) return badScopes
  return resource === undefined || isResourcePath(resource) ? undefined : badResource
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x09

/** Most have none, and `trim` looks for every kind of space that there is. */
const withoutSpaces = (text: string): string =>
  isSpace(text.charCodeAt(0)) || isSpace(text.charCodeAt(text.length - 1)) ? text.trim() : text

/** RFC 9110 §11.1: the scheme's name is the same in whatever case. */
export const isBearer = (authorization: string): boolean =>
  authorization.startsWith("Bearer ") || authorization.slice(0, 7).toLowerCase() === "bearer "

/** RFC 6750 §2.1: the token comes in the header, and nowhere else. */
export const readBearer = (
  authorization: string | null | undefined
): Result.Result<string, TokenRequired | InvalidToken> => {
  if (authorization === null || authorization === undefined || authorization === "") {
    return Result.fail(new TokenRequired())
  }
  if (!isBearer(authorization)) return Result.fail(new TokenRequired())
  const text = withoutSpaces(authorization.slice(7))
  return isBearerToken(text) ? Result.succeed(text) : Result.fail(new InvalidToken({ reason: "malformed" }))
}

/** The path is put behind the origin, never resolved against it: two slashes at its start are no other host. */
const isFor = (resource: string | null, path: string, base: string): boolean =>
  resource === null || covers(resource, new URL(new URL(base).origin + path).href)

/** `base`: an address on the host where the path is. */
export const admit = <P extends { readonly resource: string | null; readonly scope: ReadonlyArray<string> }>(
  base: string,
  path: string,
  needs: Needs,
  principal: P
): Result.Result<P, InvalidToken | InsufficientScope> => {
  if (!isFor(principal.resource, path, base)) {
    return Result.fail(new InvalidToken({ reason: "other_resource" }))
  }
  return isWithin(needs.scopes, principal.scope)
    ? Result.succeed(principal)
    : Result.fail(new InsufficientScope({ needed: needs.scopes }))
}

/** RFC 6750: whoever calls, if what they bear is good for this place and these scopes. */
export const guard = (
  grants: Grants,
  workspace: Workspace,
  request: HttpRequest,
  needs: Needs,
  now?: Instant
): Effect.Effect<Principal, TokenRequired | InvalidToken | InsufficientScope | StorageUnavailable> => {
  const text = readBearer(request.headers.get("authorization"))
  return Result.isFailure(text)
    ? Effect.fail(text.failure)
    : Effect.flatMapEager(grants.check(workspace.id, text.success, now), (principal) => {
        const admitted = admit(workspace.issuer, request.path, needs, principal)
        return Result.isSuccess(admitted) ? Effect.succeed(admitted.success) : Effect.fail(admitted.failure)
      })
}
