import { Effect, Result, Schema } from "effect"
import { exchangeGrant, identifierOf } from "../../client/Client.ts"
import { isBoundTo } from "../../grant/Binding.ts"
import { answer, type Decision, refuse } from "../../grant/Decision.ts"
import type { Grant } from "../../grant/Grant.ts"
import { accessToken, scopeFor, type Tokens } from "../../grant/issue.ts"
import { mostActors } from "../../grant/jwtAccessToken.ts"
import { isDead } from "../../grant/revoke.ts"
import type { Step } from "../../grant/Step.ts"
import type { Read } from "../../http/form.ts"
import { earlier } from "../../rules/Instant.ts"
import {
  InvalidRequest,
  InvalidScope,
  InvalidSubjectToken,
  InvalidTarget,
  UnauthorizedClient
} from "../../rules/Refusal.ts"
import { covers, narrowResources } from "../../rules/Resource.ts"
import { commonScopes, narrowScopes } from "../../rules/Scope.ts"
import { grantType, type LiveAccess, resource } from "./GrantType.ts"

/** RFC 8693 §3. A JWT of this server is one of its access tokens. */
const accessTokenType = "urn:ietf:params:oauth:token-type:access_token"
const jwtType = "urn:ietf:params:oauth:token-type:jwt"

/** RFC 8693 §2.1. */
const form = {
  subject_token: Schema.String.annotate({
    description: "An access token of this server, as it was sent to the client."
  }),
  subject_token_type: Schema.Literals([accessTokenType, jwtType]),
  requested_token_type: Schema.optionalKey(Schema.Literal(accessTokenType)),
  scope: Schema.optionalKey(
    Schema.String.annotate({ description: "Scopes, with a space between them; no more than the subject token has." })
  ),
  resource,
  audience: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({ description: "The same as resource, by its other name." })
  ),
  actor_token: Schema.optionalKey(Schema.String.annotate({ description: "Not taken: who acts is the client." })),
  actor_token_type: Schema.optionalKey(Schema.String.annotate({ description: "Not taken." }))
}

type Opened = Omit<Read<typeof form>, "subject_token"> & { readonly subject: LiveAccess }

const actorToken = new InvalidRequest({
  reason: "malformed_parameter",
  message: "An actor_token is not taken: who acts is the client that exchanges."
})

const invalid = (reason: InvalidSubjectToken["reason"]) => new InvalidSubjectToken({ reason })

/**
 * RFC 8693: a resource that has to call another one gets a narrower access token of the same grant for the one that it was
 * sent. Whatever ends the grant, or the token that was shown, ends what came of it.
 */
const exchange = (
  grant: Grant | undefined,
  step: Step<Opened>
): Decision<Tokens, InvalidSubjectToken | InvalidScope | InvalidTarget | UnauthorizedClient> => {
  const { binding, by, form, policy } = step
  const { principal, token } = form.subject
  const { serves } = by.client
  if (serves === undefined) return refuse(new UnauthorizedClient({ reason: "serves_no_resource" }))
  if (grant === undefined) return refuse(invalid("unknown"))
  // What a client may do without a person it does itself.
  if (principal._tag !== "User") return refuse(invalid("wrong_kind"))
  // What a trusted issuer asserted of a person stands without a refresh token.
  if ((grant._tag !== "Active" && grant._tag !== "Standing") || grant.subject._tag !== "User") {
    return refuse(invalid("revoked"))
  }
  if (isDead(grant.access, token)) return refuse(invalid("revoked"))
  // RFC 9449 §5: a finder of a bound token has not its key.
  if (token.binding !== null && !isBoundTo(token.binding, binding)) return refuse(invalid("binding_differs"))
  // A token that was sent elsewhere came here by theft, or by a resource that passes on what it is sent.
  if (!covers(principal.resources, serves)) return refuse(invalid("not_sent_here"))
  const actors = token.actors ?? []
  if (actors.length >= mostActors) return refuse(invalid("too_many_actors"))

  const narrowed = narrowResources(principal.resources, step.resources)
  if (Result.isFailure(narrowed)) return refuse(narrowed.failure)
  const own = commonScopes(policy.scopes, principal.scope, by.client.scope)
  if (own.length === 0) return refuse(new InvalidScope({ reason: "none_to_be_had" }))
  const asked = narrowScopes(policy.scopes, own, form.scope)
  if (Result.isFailure(asked)) return refuse(asked.failure)
  const scope = scopeFor(asked.success, step)
  if (Result.isFailure(scope)) return refuse(scope.failure)

  const issued = accessToken(grant, scope.success, narrowed.success, step)
  const access = {
    ...issued,
    expiresAt: earlier(issued.expiresAt, token.expiresAt),
    actors: [{ client: by.client.id, showed: token.serial }, ...actors]
  }
  const named = [identifierOf(by.client), ...(principal.actors ?? [])]
  return answer({ access, refresh: null, scope: scope.success, actors: named })
}

export const tokenExchange = grantType({
  name: exchangeGrant,
  documents: {
    identifier: "ExchangeToken",
    description: "A narrower access token for one that was sent to a resource (RFC 8693)."
  },
  form,
  targets: ["resource", "audience"],
  faults: [InvalidRequest, InvalidSubjectToken, InvalidScope, InvalidTarget, UnauthorizedClient],
  registers: { needs: ["secret"], givenByOwner: true },
  answers: { issued_token_type: accessTokenType },
  meetsNobody: true,
  gather: (sent, _by, sources) =>
    sent.actor_token !== undefined || sent.actor_token_type !== undefined
      ? Effect.fail(actorToken)
      : Effect.catchTag(sources.accessToken(sent.subject_token), "InvalidToken", ({ reason }) =>
          Effect.fail(invalid(reason))
        ),
  grantOf: ({ subject_token, ...sent }, _by, _opener, subject) =>
    Result.succeed({ grant: subject.token.grant, from: "token", form: { ...sent, subject } }),
  decide: exchange
})
