import { Result, Schema } from "effect"
import type { AuthenticatedClient } from "../../client/authenticate.ts"
import { isDue, isOnTrial } from "../../client/Client.ts"
import { type WorkspaceStanding, workspaceStanding } from "../../client/workspaceAccess.ts"
import { answer, answerAndKeep, type Decision, refuse } from "../../grant/Decision.ts"
import type { Grant, Standing } from "../../grant/Grant.ts"
import { accessToken, noAccessTokensYet, type Tokens } from "../../grant/issue.ts"
import type { Step } from "../../grant/Step.ts"
import type { Read } from "../../http/form.ts"
import { type Instant, later } from "../../rules/Instant.ts"
import type { Policy } from "../../rules/Policy.ts"
import { InvalidScope, UnauthorizedClient } from "../../rules/Refusal.ts"
import { commonScopes, grantScopes, isWithin, type Scopes, scopesWithoutUser } from "../../rules/Scope.ts"
import { grantType, resource } from "./GrantType.ts"

/** RFC 6749 §4.4.2. */
const form = {
  scope: Schema.optionalKey(Schema.String.annotate({ description: "Scopes, with a space between them." })),
  resource
}

/** What a client may ever have without a person: its own scopes, less those that speak of one. */
const workspaceScopes = (by: AuthenticatedClient, policy: Policy): Scopes =>
  scopesWithoutUser(policy.scopes, by.client.scope)

const forGood = ({ expiresAt: _, ...grant }: Standing): Standing => grant

/** Its grant stays as long as the client: for good, or another while by each use. */
const keptFor = (grant: Standing, { client }: AuthenticatedClient, policy: Policy, now: Instant): Standing => {
  const { expiresAt } = grant
  if (!isOnTrial(client)) return expiresAt === undefined ? grant : forGood(grant)
  return expiresAt === undefined || isDue(expiresAt, now, policy)
    ? { ...grant, expiresAt: later(now, policy.unusedClientTtl) }
    : grant
}

const standingGrant = (by: AuthenticatedClient, scope: Scopes, now: Instant): Standing => ({
  _tag: "Standing",
  id: by.client.workspaceGrant,
  client: by.client.id,
  subject: { _tag: "Workspace" },
  scope,
  resources: null,
  createdAt: now,
  access: noAccessTokensYet
})

const whyNot = {
  waiting: "approval_awaited",
  refused: "approval_refused",
  owners_only: "no_owner_answers"
} as const satisfies Record<Exclude<WorkspaceStanding, "allowed">, UnauthorizedClient["reason"]>

/** RFC 6749 §4.4: the first request makes the client's workspace grant, later ones read it and seldom write. */
const ownAccess = (
  grant: Grant | undefined,
  step: Step<Read<typeof form>>
): Decision<Tokens, InvalidScope | UnauthorizedClient> => {
  const { by, now, policy } = step
  if (grant !== undefined && grant._tag !== "Standing") {
    return refuse(new UnauthorizedClient({ reason: "workspace_grant_revoked" }))
  }
  // It may have registered before that took an owner.
  const standing = workspaceStanding(by.client, policy)
  if (standing !== "allowed") return refuse(new UnauthorizedClient({ reason: whyNot[standing] }))
  const available = workspaceScopes(by, policy)
  const { taken } = step
  const within = taken === null ? available : commonScopes(policy.scopes, available, taken)
  const scope = grantScopes(policy.scopes, within, step.form.scope)
  if (Result.isFailure(scope)) return refuse(scope.failure)

  const current = keptFor(grant ?? standingGrant(by, available, now), by, policy, now)
  // A client that registered for more since then has its grant grow with it.
  const next = isWithin(available, current.scope) ? current : { ...current, scope: available }
  const tokens: Tokens = {
    access: accessToken(next, scope.success, step.resources, step),
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
  registers: { needs: ["secret", "owner"], byItself: true },
  grantOf: (sent, by) => Result.succeed({ grant: by.client.workspaceGrant, from: "client", form: sent }),
  decide: ownAccess
})
