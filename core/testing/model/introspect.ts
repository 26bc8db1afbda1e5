import type { Introspect } from "../script/Command.ts"
import { type ProofFacts, proofRules } from "./proof.ts"
import { type Alternative, type Facts, firstThatHolds, type Outcome, type Rule, refused } from "./Rule.ts"
import { isFor } from "./resource.ts"
import { holderOf, type Standing, standingOf, worthOf } from "./standing.ts"

interface IntrospectFacts extends ProofFacts {
  readonly command: Introspect
  readonly standing: Standing
}

const unknown = ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "Unknown" }, next: state }]

const known = ({ state, standing, world, presenter }: IntrospectFacts): ReadonlyArray<Outcome> => {
  if (standing._tag === "nothing") return []
  const worth = worthOf(standing, world.issuers[presenter?.workspace ?? 0])
  return [{ expect: { _tag: "Known", ...worth }, next: state }]
}

export const introspectRules: ReadonlyArray<Rule<IntrospectFacts>> = [
  ...proofRules,
  {
    name: "a client that proves nothing is told nothing (RFC 7662 §2.1)",
    when: ({ presenter }) => presenter?.isPublic === true,
    gives: refused(401, "invalid_client")
  },
  {
    name: "a token that counts for nothing is not active (RFC 7662 §2.2)",
    when: ({ standing }) => standing._tag === "nothing",
    gives: unknown
  },
  {
    name: "the API that an owner said a client is learns what a token is good for that may be sent there (RFC 7662 §2.1)",
    when: ({ standing, presenter }) =>
      standing._tag === "access" &&
      holderOf(standing) !== presenter?.ref &&
      typeof presenter?.serves === "string" &&
      isFor(standing.access.resource, presenter.serves),
    gives: known
  },
  {
    name: "a client learns nothing of another's tokens",
    when: ({ standing, presenter }) => standing._tag !== "nothing" && holderOf(standing) !== presenter?.ref,
    gives: unknown
  },
  {
    name: "a refresh token is active as long as the token endpoint takes it, in its grace too, and no longer (RFC 7662 §2.2)",
    when: ({ standing }) => standing._tag === "refresh" && standing.line === "superseded",
    gives: unknown
  },
  {
    name: "a client learns what its own token is good for (RFC 7662 §2.2)",
    when: () => true,
    gives: known
  }
]

export const introspect = (facts: Facts, command: Introspect): ReadonlyArray<Alternative> => {
  const presenter = facts.state.clients.get(command.by)
  return firstThatHolds(introspectRules, {
    ...facts,
    command,
    presenter,
    proof: command.proof,
    standing: standingOf(facts, command.token, presenter?.workspace ?? 0)
  })
}
