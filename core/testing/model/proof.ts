import type { Proof, Ref, SignedAs, Step } from "../script/Command.ts"
import { away, type Facts, firstThatHolds, type Rule, refused } from "./Rule.ts"
import { type Client, type Spent, type State, withSpent } from "./State.ts"
import { longestSigned, signerLeeway } from "./World.ts"

export interface ProofFacts extends Facts {
  readonly presenter: Client | undefined
  readonly proof: Proof
  readonly command: { readonly id: Ref; readonly signed?: SignedAs | undefined }
}

/** An assertion as it should be. */
export const plainlySigned: SignedAs = { key: "first", lives: 60, audience: "issuer" }

const second = 1000

/** When the assertion beside a request ends, in whole seconds. */
export const signedUntil = (now: number, { lives }: Pick<SignedAs, "lives">): number =>
  (Math.floor(now / second) + lives) * second

const signedOf = ({ command: { signed = plainlySigned }, presenter, state }: ProofFacts) =>
  presenter === undefined || presenter.signsWith === null
    ? undefined
    : { ...signed, signsWith: presenter.signsWith, expiresAt: signedUntil(state.now, signed) }

const spentOf = ({ command: { id, signed }, presenter, state }: ProofFacts): Spent | undefined =>
  state.spent.get(`${presenter?.ref} ${signed?.idOf ?? id}`)

const nothingProven = refused(401, "invalid_client")

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
    gives: nothingProven
  },
  {
    name: "a client whose host an owner blocked proves nothing (issue 24: an owner stays in charge)",
    when: ({ presenter }) => presenter?.document?.isBlocked === true,
    gives: nothingProven
  },
  {
    name: "a client whose document cannot be had comes again, and is not told that it is unknown (issue 24)",
    when: ({ reading }) => reading === "nothing",
    gives: away
  },
  {
    name: "a document of which no client comes proves nothing (Client ID Metadata Document §4)",
    when: ({ reading }) => reading === "no client",
    gives: nothingProven
  },
  {
    name: "a wrong secret proves nothing",
    when: ({ proof }) => proof === "wrong",
    gives: nothingProven
  },
  {
    name: "a confidential client must prove itself",
    when: ({ presenter, proof }) => presenter?.isPublic === false && proof === "missing",
    gives: nothingProven
  },
  {
    name: "what another key signed than the client's proves nothing (RFC 7523 §3)",
    when: (facts) => {
      const signed = signedOf(facts)
      return signed !== undefined && signed.key !== signed.signsWith
    },
    gives: nothingProven
  },
  {
    name: "an assertion that is not for this server alone proves nothing (RFC 7523 §3)",
    when: (facts) => ["elsewhere", "several"].includes(signedOf(facts)?.audience ?? ""),
    gives: nothingProven
  },
  {
    name: "an assertion of a client that is past its end proves nothing (RFC 7523 §3)",
    when: (facts) => (signedOf(facts)?.expiresAt ?? Number.POSITIVE_INFINITY) + signerLeeway <= facts.state.now,
    gives: nothingProven
  },
  {
    name: "an assertion of a client whose end is too far away proves nothing (RFC 7523 §3)",
    when: (facts) => (signedOf(facts)?.expiresAt ?? 0) > facts.state.now + longestSigned + signerLeeway,
    gives: nothingProven
  },
  {
    name: "an assertion that a client showed before proves nothing again (RFC 7523 §3)",
    when: (facts) => signedOf(facts) !== undefined && facts.state.now < (spentOf(facts)?.until ?? 0),
    gives: nothingProven
  }
]

/** Whatever comes of the request, what its client signed for it was shown. */
export const withProofSpent = (facts: Facts, step: Step): ((next: State) => State) => {
  const unspent = (next: State) => next
  if (!("proof" in step)) return unspent
  const presenter = facts.state.clients.get("by" in step ? step.by : step.client)
  const shown: ProofFacts = { ...facts, command: step, presenter, proof: step.proof }
  const signed = signedOf(shown)
  if (presenter === undefined || signed === undefined || firstThatHolds(proofRules, shown).length > 0) return unspent
  const spent = { client: presenter.ref, of: signed.idOf ?? step.id, until: signed.expiresAt + signerLeeway }
  return (next) => withSpent(next, spent)
}
