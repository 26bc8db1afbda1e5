import { Result } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { mayActForWorkspace } from "../../client/Client.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../../grant/Decision.ts"
import type { Grant, Standing } from "../../grant/Grant.ts"
import { accessToken, type Fresh, noAccessTokensYet, type Tokens } from "../../grant/issue.ts"
import type { Instant } from "../../rules/Instant.ts"
import type { Policy } from "../../rules/Policy.ts"
import { type InvalidScope, UnauthorizedClient } from "../../rules/Refusal.ts"
import type { Resource } from "../../rules/Resource.ts"
import { grantScopes, isWithin, type Scopes, scopesWithoutUser } from "../../rules/Scope.ts"

export interface ClientCredentials {
  readonly scope: string | undefined
  readonly resource: Resource | null
}

/** What a client may ever have without a person: its own scopes, less those that speak of one. */
const workspaceScopes = (by: AuthenticatedClient, policy: Policy): Scopes =>
  scopesWithoutUser(policy.scopes, by.client.scope)

const standing = (by: AuthenticatedClient, scope: Scopes, now: Instant): Standing => ({
  _tag: "Standing",
  id: by.client.workspaceGrant,
  client: by.client.id,
  subject: { _tag: "Workspace" },
  scope,
  resource: null,
  createdAt: now,
  access: noAccessTokensYet
})

/** RFC 6749 §4.4: the first request makes the client's workspace grant, later ones only read it. */
export const clientCredentials = (
  grant: Grant | undefined,
  by: AuthenticatedClient,
  command: ClientCredentials,
  policy: Policy,
  now: Instant,
  fresh: Fresh
): Decision<Tokens, InvalidScope | UnauthorizedClient> => {
  if (grant !== undefined && grant._tag !== "Standing") {
    return refuse(new UnauthorizedClient({ reason: "workspace_grant_revoked" }))
  }
  // It may have registered before that took an owner.
  if (!mayActForWorkspace(by.client.madeBy, policy)) {
    return refuse(new UnauthorizedClient({ reason: "no_owner_answers" }))
  }
  const available = workspaceScopes(by, policy)
  const scope = grantScopes(policy.scopes, available, command.scope)
  if (Result.isFailure(scope)) return refuse(scope.failure)

  const current = grant ?? standing(by, available, now)
  // A client that registered for more since then has its grant grow with it.
  const next = isWithin(available, current.scope) ? current : { ...current, scope: available }
  const tokens: Tokens = {
    access: accessToken(next, scope.success, command.resource, policy, now, fresh),
    refresh: null,
    scope: scope.success
  }
  return next === grant ? answer(tokens) : answerAndKeep(next, tokens)
}
