import { Result, Schema } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { mayActForWorkspace } from "../../client/Client.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../../grant/Decision.ts"
import type { Grant, Standing } from "../../grant/Grant.ts"
import { accessToken, noAccessTokensYet, type Tokens } from "../../grant/issue.ts"
import type { Step } from "../../grant/Step.ts"
import type { Read } from "../../http/form.ts"
import type { Instant } from "../../rules/Instant.ts"
import type { Policy } from "../../rules/Policy.ts"
import { InvalidScope, UnauthorizedClient } from "../../rules/Refusal.ts"
import { grantScopes, isWithin, type Scopes, scopesWithoutUser } from "../../rules/Scope.ts"
import { grantType, resource } from "./GrantType.ts"

/** RFC 6749 §4.4.2. */
const form = {
  scope: Schema.optionalKey(Schema.String.annotate({ description: "Scopes, with a space between them." })),
  resource
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
const ownAccess = (
  grant: Grant | undefined,
  step: Step<Read<typeof form>>
): Decision<Tokens, InvalidScope | UnauthorizedClient> => {
  const { by, now, policy } = step
  if (grant !== undefined && grant._tag !== "Standing") {
    return refuse(new UnauthorizedClient({ reason: "workspace_grant_revoked" }))
  }
  // It may have registered before that took an owner.
  if (!mayActForWorkspace(by.client.madeBy, policy)) {
    return refuse(new UnauthorizedClient({ reason: "no_owner_answers" }))
  }
  const available = workspaceScopes(by, policy)
  const scope = grantScopes(policy.scopes, available, step.form.scope)
  if (Result.isFailure(scope)) return refuse(scope.failure)

  const current = grant ?? standing(by, available, now)
  // A client that registered for more since then has its grant grow with it.
  const next = isWithin(available, current.scope) ? current : { ...current, scope: available }
  const tokens: Tokens = {
    access: accessToken(next, scope.success, step.resource, step),
    refresh: null,
    scope: scope.success
  }
  return next === grant ? answer(tokens) : answerAndKeep(next, tokens)
}

/** RFC 6749 §4.4. */
export const clientCredentials = grantType({
  name: "client_credentials",
  documents: { identifier: "OwnAccess", description: "A token for the client itself (RFC 6749 §4.4)." },
  flow: "clientCredentials",
  form,
  faults: [InvalidScope, UnauthorizedClient],
  registers: { needs: ["secret", "owner"] },
  grantOf: (sent, by) => Result.succeed({ grant: by.client.workspaceGrant, from: "client", form: sent }),
  decide: ownAccess
})
