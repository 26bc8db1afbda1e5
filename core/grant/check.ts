import { Result } from "effect"
import { type Client, hasGrant, identifierOf, isKnown, mayUse } from "../client/Client.ts"
import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import { workspaceStanding } from "../client/workspaceAccess.ts"
import { hasPassed, type Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { InvalidToken } from "../rules/Refusal.ts"
import { reaches } from "../rules/Scope.ts"
import { isDigestOf } from "../rules/Secret.ts"
import { type Asserter, isSameAsserter, type TrustedIssuers } from "../rules/TrustedIssuer.ts"
import type { AccessToken, RefreshToken } from "../token/Token.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import { type Binding, isBoundTo } from "./Binding.ts"
import { type Active, type Grant, placeInLine, placeOf, type Standing } from "./Grant.ts"
import type { ApiKeyPrincipal, UserPrincipal, WorkspacePrincipal } from "./Principal.ts"
import { holderOf, isDead } from "./revoke.ts"

const refuse = (reason: InvalidToken["reason"]) => Result.fail(new InvalidToken({ reason }))

/** The grant behind a token, if it is alive and so is its client; for the workspace, while the client may act for it. */
const alive = (
  grant: Grant | undefined,
  client: Client | undefined,
  policy: Policy,
  now: Instant
): Result.Result<Active | Standing, InvalidToken> => {
  if (grant === undefined) return refuse("unknown")
  if (grant._tag === "Revoked") return refuse("revoked")
  if (grant._tag === "Pending") return refuse("not_redeemed")
  if (grant._tag === "Key") return refuse("wrong_kind")
  if (client === undefined || !hasGrant(client, grant) || !isKnown(client, now)) return refuse("client_gone")
  if (client.disabled) return refuse("client_disabled")
  return grant.subject._tag === "Workspace" && workspaceStanding(client, policy) !== "allowed"
    ? refuse("workspace_access_ended")
    : Result.succeed(grant)
}

/** Whether who asserted it is trusted as then; of a grant that no issuer asserted there is none to ask about. */
export const isVouchedFor = (asserted: Asserter, trusted: TrustedIssuers = []): boolean =>
  trusted.some((one) => isSameAsserter(one, asserted))

/** What an access token is worth now. The token says who it claims to be; the grant has the last word. */
export const checkAccess = (
  workspace: WorkspaceId,
  found: Grant | undefined,
  client: Client | undefined,
  token: AccessToken,
  /** What its bearer proved to hold. Who asks about a token that another bears asks as if it was proved. */
  shown: Binding | null,
  policy: Policy,
  now: Instant
): Result.Result<UserPrincipal | WorkspacePrincipal, InvalidToken> => {
  if (hasPassed(token.expiresAt, now)) return refuse("expired")
  if (!isBoundTo(token.binding, shown)) return refuse("binding_differs")
  const known = alive(found, client, policy, now)
  if (Result.isFailure(known)) return Result.fail(known.failure)
  const live = known.success
  if (isDead(live.access, token)) return refuse("revoked")
  const scope = token.scope ?? live.scope
  if (scope !== live.scope && !reaches(policy.scopes, live.scope, scope)) return refuse("revoked")
  const { id: grant, subject } = live
  const by = client === undefined ? live.client : identifierOf(client)
  const resources = token.resources ?? live.resources
  // By their records' ids, until `checkActors` has found those.
  const { actors, expiresAt } = token
  if (subject._tag === "Workspace") {
    return Result.succeed({ _tag: "Workspace", workspace, scope, grant, client: by, resources, expiresAt })
  }
  const { id: user } = subject
  const common = {
    _tag: "User",
    user,
    workspace,
    scope,
    grant,
    client: actors === null ? by : holderOf(live, token),
    resources,
    expiresAt,
    ...("place" in live ? placeOf(live) : {}),
    ...("authentication" in live ? signInOf(live) : {})
  } as const
  return Result.succeed(actors === null ? common : { ...common, actors: actors.map(({ client }) => client) })
}

/** What a resource may know of the sign-in (RFC 9470 §6). */
export const signInOf = ({ authentication }: Pick<Active, "authentication">) => {
  const { acr, at } = authentication ?? {}
  return { ...(at === undefined ? {} : { authenticatedAt: at }), ...(acr === undefined ? {} : { acr }) }
}

/**
 * Who exchanged a token has to be there, and let exchange, for as long as the token is good. The token holds their records'
 * ids, and a record says what its client goes by.
 */
export const checkActors = (
  known: UserPrincipal | WorkspacePrincipal,
  found: ReadonlyArray<Client | undefined>,
  now: Instant
): Result.Result<UserPrincipal | WorkspacePrincipal, InvalidToken> => {
  const actors: Array<ClientIdentifier> = []
  for (const client of found) {
    if (client === undefined || !isKnown(client, now)) return refuse("client_gone")
    if (client.disabled) return refuse("client_disabled")
    if (client.serves === undefined) return refuse("exchange_ended")
    actors.push(identifierOf(client))
  }
  const [client = known.client] = actors
  return Result.succeed({ ...known, client, actors })
}

/**
 * What a refresh token is worth now: as much as at the token endpoint. Were one that was just spent called dead while a
 * retry still gets its successor, a thief would learn when its owner refreshes.
 */
export const checkRefresh = (
  grant: Grant | undefined,
  client: Client | undefined,
  token: RefreshToken,
  policy: Policy,
  now: Instant
): Result.Result<Active, InvalidToken> => {
  if (hasPassed(token.expiresAt, now)) return refuse("expired")
  const found = alive(grant, client, policy, now)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  const live = found.success
  if (live._tag !== "Active") return refuse("wrong_kind")
  if (client === undefined || !mayUse(client, "refresh_token")) return refuse("grant_type_not_registered")
  const place = placeInLine(token, live, policy, now)
  if (place !== "current" && place !== "retried") return refuse("revoked")
  return hasPassed(live.refresh.expiresAt, now) ? refuse("expired") : Result.succeed(live)
}

/** What an API key is worth now. */
export const checkKey = (
  workspace: WorkspaceId,
  grant: Grant | undefined,
  presented: Uint8Array,
  now: Instant
): Result.Result<ApiKeyPrincipal, InvalidToken> => {
  if (grant === undefined) return refuse("unknown")
  if (grant._tag === "Revoked") return refuse("revoked")
  if (grant._tag !== "Key") return refuse("wrong_kind")
  if (!isDigestOf(presented, grant.digest)) return refuse("bad_secret")
  if (grant.expiresAt !== null && hasPassed(grant.expiresAt, now)) return refuse("expired")
  return Result.succeed({
    _tag: "ApiKey",
    workspace,
    scope: grant.scope,
    grant: grant.id,
    resources: grant.resources,
    name: grant.name,
    use: grant.use,
    expiresAt: grant.expiresAt
  })
}
