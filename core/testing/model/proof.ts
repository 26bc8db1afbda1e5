import type { Proof } from "../script/Command.ts"
import { type Facts, type Rule, refused } from "./Rule.ts"
import type { Client } from "./State.ts"

export interface ProofFacts extends Facts {
  readonly presenter: Client | undefined
  readonly proof: Proof
}

/** RFC 6749 §2.3 and §3.2.1: every endpoint for clients begins with these. */
export const proofRules: ReadonlyArray<Rule<ProofFacts>> = [
  {
    name: "a client uses one method at a time",
    when: ({ presenter, proof }) => presenter?.isPublic === false && proof === "both",
    gives: refused([400, 401], "invalid_request", "invalid_client")
  },
  {
    name: "an unknown or deleted client proves nothing",
    when: ({ presenter }) => presenter === undefined || presenter.isDeleted,
    gives: refused(401, "invalid_client")
  },
  {
    name: "a wrong secret proves nothing",
    when: ({ proof }) => proof === "wrong",
    gives: refused(401, "invalid_client")
  },
  {
    name: "a confidential client must prove itself",
    when: ({ presenter, proof }) => presenter?.isPublic === false && proof === "missing",
    gives: refused(401, "invalid_client")
  }
]
