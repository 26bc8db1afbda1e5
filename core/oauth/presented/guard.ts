import { Effect, Result } from "effect"
import type { Grants } from "../../engine/Grants.ts"
import type { Principal } from "../../grant/Principal.ts"
import type { HttpRequest } from "../../http/Http.ts"
import type { Instant } from "../../rules/Instant.ts"
import { InsufficientScope, InvalidToken, TokenRequired } from "../../rules/Refusal.ts"
import { covers, isResourcePath } from "../../rules/Resource.ts"
import { isScopeName, isWithin } from "../../rules/Scope.ts"
import type { Workspace } from "../../workspace/Workspace.ts"
import type { Presentation, PresentationFault, PresentationPorts, Presented } from "./Presentation.ts"

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

/** RFC 6750 §2, RFC 9449 §7: what a request shows, by the first row that reads it. */
export const readPresented = (
  presentations: ReadonlyArray<Presentation>,
  request: HttpRequest,
  base: string,
  now: Instant,
  ports: PresentationPorts
): Effect.Effect<Presented, TokenRequired | PresentationFault> => {
  for (const row of presentations) {
    const presented = row.read(request, base, now, ports)
    if (presented !== undefined) return presented
  }
  return Effect.fail(new TokenRequired())
}

/** The path is put behind the origin, never resolved against it: two slashes at its start are no other host. */
const isFor = (resource: string | null, path: string, base: string): boolean =>
  resource === null || covers(resource, new URL(new URL(base).origin + path).href)

/** Whether a caller's token is for this place and reaches as far as is needed. `base`: an address on the path's host. */
export const checkReach = <P extends { readonly resource: string | null; readonly scope: ReadonlyArray<string> }>(
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

/** What a guard is made of. */
export interface GuardParts extends PresentationPorts {
  readonly grants: Grants
  readonly presentations: ReadonlyArray<Presentation>
}

/** RFC 6750 §3: the caller, if what it shows is good for this place and these scopes. */
export const guard = (
  parts: GuardParts,
  workspace: Workspace,
  request: HttpRequest,
  needs: Needs,
  now: Instant
): Effect.Effect<Principal, TokenRequired | InsufficientScope | PresentationFault> =>
  Effect.flatMapEager(
    readPresented(parts.presentations, request, workspace.issuer, now, parts),
    (presented): Effect.Effect<Principal, InsufficientScope | PresentationFault> =>
      Effect.flatMapEager(parts.grants.check(workspace.id, presented, now), (principal) => {
        const reached = checkReach(workspace.issuer, request.path, needs, principal)
        return Result.isSuccess(reached) ? Effect.succeed(reached.success) : Effect.fail(reached.failure)
      })
  )
