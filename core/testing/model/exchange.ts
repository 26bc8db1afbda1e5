import type { AllowExchange, Exchange } from "../script/Command.ts"
import { type ProofFacts, proofRules } from "./proof.ts"
import {
  type Alternative,
  type Facts,
  type Fault,
  firstThatHolds,
  inAnyOrder,
  type Rule,
  refused,
  refused400
} from "./Rule.ts"
import { isFor, resourceText, sameResource, type Target, targetAtToken } from "./resource.ts"
import { withClient } from "./State.ts"
import { asksBeyond, asksForUnknown, asksOnlyUnknown, narrowed } from "./scope.ts"
import { type Standing, standingOf } from "./standing.ts"
import { withoutRefresh } from "./tokens.ts"

/** An owner says it in the settings: no client asks for it, and none without a secret is given it. */
export const allowExchange = ({ state, world }: Facts, command: AllowExchange): ReadonlyArray<Alternative> => {
  const client = state.clients.get(command.client)
  if (client === undefined) return []
  const text = resourceText(command.serves, world, client.workspace)
  const serves = text === null ? null : sameResource(text)
  const next = client.isDeleted || client.isPublic ? state : withClient(state, { ...client, serves })
  return [{ rule: "an owner says which API a client is", expect: { _tag: "Silence" }, next }]
}

interface ExchangeFacts extends ProofFacts {
  readonly command: Exchange
  readonly standing: Standing
  readonly target: Target
}

/** Who acted before is told, and a chain of them has an end. */
const mostActors = 4

const faults: ReadonlyArray<Fault<ExchangeFacts>> = [
  {
    name: "what is no access token that is good now is exchanged for nothing (RFC 8693 §2.2.2)",
    when: ({ standing }) => standing._tag !== "access",
    errors: ["invalid_request"]
  },
  {
    name: "a token that speaks for nobody is exchanged for nothing",
    when: ({ standing }) => standing._tag === "access" && standing.grant.user === null,
    errors: ["invalid_request"]
  },
  {
    name: "a token that was sent elsewhere, or passed on too often, is exchanged for nothing",
    when: ({ presenter, standing }) => {
      if (standing._tag !== "access") return false
      const { actors, resource } = standing.access
      const wasSentHere = isFor(resource, presenter?.serves ?? "")
      return !wasSentHere || actors.length >= mostActors
    },
    errors: ["invalid_request"]
  },
  {
    name: "an exchange never widens the resource (RFC 8693 §2.2.2)",
    when: ({ target }) => target === "invalid",
    errors: ["invalid_target"]
  },
  {
    name: "an exchange for only unknown scopes is refused (RFC 6749 §5.2)",
    when: ({ command, world }) => asksOnlyUnknown(command.scope, world),
    errors: ["invalid_scope"]
  },
  {
    name: "an exchange never widens the scope",
    when: ({ command, standing, world }) =>
      asksBeyond(command.scope, standing._tag === "access" ? standing.access.scope : [], world),
    errors: ["invalid_scope"]
  }
]

export const exchangeRules: ReadonlyArray<Rule<ExchangeFacts>> = [
  ...proofRules,
  {
    name: "a client that no owner allowed it may not exchange tokens (RFC 6749 §5.2)",
    when: ({ presenter }) => presenter?.serves === null,
    gives: refused400("unauthorized_client")
  },
  ...inAnyOrder(faults, refused400),
  {
    name: "a token turns into one of the same grant, no wider and no longer, that names who acts (RFC 8693 §4.1)",
    when: () => true,
    gives: (facts) => {
      const { command, presenter, standing, state, target, world } = facts
      if (standing._tag !== "access" || presenter === undefined || target === "invalid") return []
      const { access, grant } = standing
      const actors = [{ client: presenter.ref, showed: command.token.ref }, ...access.actors]
      const issued = {
        ref: command.id,
        grant,
        scope: narrowed(command.scope, access.scope, world),
        resource: target.resource,
        boundTo: null,
        exchanged: { actors, expiresAt: access.expiresAt }
      }
      return [
        ...withoutRefresh(facts, state, issued),
        ...(asksForUnknown(command.scope, world) ? refused(400, "invalid_scope")(facts) : [])
      ]
    }
  }
]

export const exchange = (facts: Facts, command: Exchange): ReadonlyArray<Alternative> => {
  const presenter = facts.state.clients.get(command.by)
  const workspace = presenter?.workspace ?? 0
  const standing = standingOf(facts, command.token, workspace)
  const bound = standing._tag === "access" ? standing.access.resource : null
  return firstThatHolds(exchangeRules, {
    ...facts,
    command,
    presenter,
    proof: command.proof,
    standing,
    target: targetAtToken(command.resource, bound, facts.world, workspace)
  })
}
