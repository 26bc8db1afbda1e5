import type { Revoke } from "../script/Command.ts"
import { type ProofFacts, proofRules } from "./proof.ts"
import { type Alternative, type Facts, firstThatHolds, type Rule } from "./Rule.ts"
import { dead, withAccess } from "./State.ts"
import { holderOf, type Standing, standingOf } from "./standing.ts"

interface RevokeFacts extends ProofFacts {
  readonly command: Revoke
  readonly standing: Standing
}

const ok = { _tag: "Done", status: 200 } as const

export const revokeRules: ReadonlyArray<Rule<RevokeFacts>> = [
  ...proofRules,
  {
    name: "revoking what counts for nothing is no error (RFC 7009 §2.2)",
    when: ({ standing }) => standing._tag === "nothing",
    gives: ({ state }) => [{ expect: ok, next: state }]
  },
  {
    name: "another client's revocation changes nothing (RFC 7009 §2.1)",
    when: ({ standing, presenter }) => standing._tag !== "nothing" && holderOf(standing) !== presenter?.ref,
    gives: ({ state }) => [{ expect: ok, next: state }]
  },
  {
    name: "revoking an access token kills that one",
    when: ({ standing }) => standing._tag === "access",
    gives: ({ state, standing, command }) =>
      standing._tag === "access"
        ? [{ expect: ok, next: withAccess(state, command.token.ref, { ...standing.access, isRevoked: true }) }]
        : []
  },
  {
    name: "revoking a refresh token kills the grant (RFC 7009 §2.1)",
    when: () => true,
    gives: ({ state, standing }) =>
      standing._tag === "refresh" ? [{ expect: ok, next: dead(state, standing.grant, "revoked") }] : []
  }
]

export const revoke = (facts: Facts, command: Revoke): ReadonlyArray<Alternative> => {
  const presenter = facts.state.clients.get(command.by)
  return firstThatHolds(revokeRules, {
    ...facts,
    command,
    presenter,
    proof: command.proof,
    // It ends what came of it last, as long as any of that lives.
    standing: standingOf(facts, command.token, presenter?.workspace ?? 0, facts.world.accessTtl)
  })
}
