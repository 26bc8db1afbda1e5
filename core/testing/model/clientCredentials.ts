import type { ClientCredentials } from "../script/Command.ts"
import { standingOfClient } from "./answerClient.ts"
import { forgery, provenKey } from "./keys.ts"
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
import { type Target, targetAtAuthorize } from "./resource.ts"
import { type Grant, keptWhenUsed, withClient, withGrant } from "./State.ts"
import { asksBeyond, grantable } from "./scope.ts"
import { withoutRefresh } from "./tokens.ts"

interface ClientCredentialsFacts extends ProofFacts {
  readonly command: ClientCredentials
  readonly target: Target
}

const faults: ReadonlyArray<Fault<ClientCredentialsFacts>> = [
  {
    name: "a client that no owner approved may not act alone, where it takes that (issue 24: an owner for workspace access)",
    when: ({ presenter, world }) => presenter !== undefined && standingOfClient(presenter, world) !== "allowed",
    errors: ["unauthorized_client"]
  },
  {
    name: "a client that acts alone can only have scopes that need no user",
    when: ({ command, world }) => !grantable(command.scope, world).includes("api"),
    errors: ["invalid_scope"]
  },
  {
    name: "a resource of somebody else is no target for a client that acts alone (RFC 8707 §2)",
    when: ({ target }) => target === "invalid",
    errors: ["invalid_target"]
  }
]

export const clientCredentialsRules: ReadonlyArray<Rule<ClientCredentialsFacts>> = [
  ...proofRules,
  forgery,
  {
    name: "a client that did not register for it may not act alone (RFC 6749 §5.2)",
    when: ({ presenter }) => presenter?.mayActAlone === false,
    gives: refused([400, 401], "unauthorized_client", "invalid_client")
  },
  ...inAnyOrder(faults, refused400),
  {
    name: "a client that acts alone gets an access token and no refresh token (RFC 6749 §4.4.3)",
    when: () => true,
    gives: (facts) => {
      const { state, presenter, command, target } = facts
      if (presenter === undefined || target === "invalid") return []
      const grant: Grant = {
        name: `service#${presenter.ref}`,
        client: presenter.ref,
        user: null,
        page: null,
        scope: ["api"],
        resource: null,
        redirect: "",
        hasChallenge: false,
        boundTo: null,
        bornAt: state.now,
        codeKey: 0,
        generation: 0,
        turnedAt: state.now,
        death: null
      }
      const known = state.grants.has(grant.name) ? state : withGrant(state, grant)
      const keptUntil = Math.max(presenter.keptUntil, state.now + keptWhenUsed)
      const next = withClient(known, { ...presenter, keptUntil, heldUnder: null })
      const boundTo = provenKey(command.key)
      const issued = { ref: command.id, grant, scope: ["api"] as const, resource: target.resource, boundTo }
      return [
        ...withoutRefresh(facts, next, issued),
        ...(asksBeyond(command.scope, ["api"], facts.world) ? refused(400, "invalid_scope")(facts) : [])
      ]
    }
  }
]

export const clientCredentials = (facts: Facts, command: ClientCredentials): ReadonlyArray<Alternative> => {
  const presenter = facts.state.clients.get(command.by)
  return firstThatHolds(clientCredentialsRules, {
    ...facts,
    command,
    presenter,
    proof: command.proof,
    target: targetAtAuthorize(command.resource, facts.world, presenter?.workspace ?? 0)
  })
}
