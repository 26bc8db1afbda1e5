import type { Redeem } from "../script/Command.ts"
import { fits } from "./authorize.ts"
import { redirectsOf } from "./document.ts"
import { forgery, provenKey } from "./keys.ts"
import { type ProofFacts, proofRules } from "./proof.ts"
import {
  type Alternative,
  errorsOf,
  type Facts,
  type Fault,
  firstThatHolds,
  inAnyOrder,
  type Outcome,
  type Rule,
  refused,
  refused400
} from "./Rule.ts"
import { type Target, targetAtAuthorize, targetAtToken } from "./resource.ts"
import { dead, type Grant, isAlive, withClient, withGrant } from "./State.ts"
import { withNewRefresh } from "./tokens.ts"

interface RedeemFacts extends ProofFacts {
  readonly command: Redeem
  readonly grant: Grant | undefined
  readonly target: Target
}

const opens = ({ grant, state, world, presenter }: RedeemFacts): boolean =>
  grant !== undefined &&
  state.keys.includes(grant.codeKey) &&
  state.now < grant.bornAt + world.codeTtl &&
  state.clients.get(grant.client)?.workspace === presenter?.workspace

const isReplay = (facts: RedeemFacts): boolean =>
  opens(facts) &&
  facts.grant !== undefined &&
  facts.grant.client === facts.presenter?.ref &&
  isAlive(facts.state, facts.grant) &&
  facts.grant.generation > 0

const isForeign = ({ command, world, presenter }: RedeemFacts): boolean =>
  targetAtAuthorize(command.resource, world, presenter?.workspace ?? 0) === "invalid"

/** Wrong whatever the code is. */
const malformations: ReadonlyArray<Fault<RedeemFacts>> = [
  {
    name: "the redirect URI is needed again (RFC 6749 §4.1.3)",
    when: ({ command }) => command.redirect === "missing",
    errors: ["invalid_request", "invalid_grant"]
  },
  {
    name: "a verifier is 43 to 128 unreserved characters (RFC 7636 §4.1)",
    when: ({ command }) => command.verifier === "short",
    errors: ["invalid_request", "invalid_grant"]
  },
  {
    name: "a resource of somebody else is no target for a code (RFC 8707 §2)",
    when: isForeign,
    errors: ["invalid_target"]
  }
]

/** A code that is no good; a request that is wrong besides may be told that instead. */
const badCode = (facts: RedeemFacts): ReadonlyArray<Outcome> =>
  refused400("invalid_grant", ...errorsOf(malformations, facts))(facts)

/** With PKCE a code alone is worth nothing: it takes the verifier to show that a second party holds both. */
const hasVerifier = ({ command, grant }: RedeemFacts): boolean =>
  grant?.hasChallenge !== true || command.verifier === "right"

const killed = ({ state, grant }: RedeemFacts): ReadonlyArray<Outcome> =>
  grant === undefined
    ? []
    : [
        {
          expect: { _tag: "Refused", status: [400], error: ["invalid_grant"] },
          next: dead(state, grant, "code used twice")
        }
      ]

const faults: ReadonlyArray<Fault<RedeemFacts>> = [
  ...malformations,
  {
    name: "the redirect URI must be the one of the request (RFC 6749 §4.1.3)",
    when: ({ command }) => command.redirect === "other",
    errors: ["invalid_grant"]
  },
  {
    name: "a redirect URI that a document names no more is gone for the codes that were sent there (issue 24)",
    when: ({ grant, presenter, reading }) =>
      presenter?.document !== undefined &&
      !redirectsOf(presenter, reading).some((named) => fits(grant?.redirect ?? "", named)),
    errors: ["invalid_grant"]
  },
  {
    name: "a challenge without a verifier is refused (RFC 7636 §4.6)",
    when: ({ grant, command }) => grant?.hasChallenge === true && command.verifier === "missing",
    errors: ["invalid_grant", "invalid_request"]
  },
  {
    name: "a verifier without a challenge is refused (RFC 9700 §2.1.1)",
    when: ({ grant, command }) => grant?.hasChallenge === false && command.verifier !== "missing",
    errors: ["invalid_grant", "invalid_request"]
  },
  {
    name: "a wrong verifier is refused (RFC 7636 §4.6)",
    when: ({ command }) => command.verifier === "wrong",
    errors: ["invalid_grant"]
  },
  {
    name: "a code that named a key is redeemed with no other (RFC 9449 §10)",
    when: ({ grant, command }) => grant?.boundTo != null && grant.boundTo !== provenKey(command.key),
    errors: ["invalid_grant", "invalid_dpop_proof"]
  },
  {
    name: "a resource beyond what was bound is refused (RFC 8707 §2.2)",
    when: (facts) => facts.target === "invalid" && !isForeign(facts),
    errors: ["invalid_target"]
  }
]

const granted =
  (identifies: boolean) =>
  (facts: RedeemFacts): ReadonlyArray<Outcome> => {
    const { state, grant, presenter, command, target } = facts
    if (grant === undefined || presenter === undefined || target === "invalid") return []
    const boundTo = provenKey(command.key)
    // RFC 9449 §5: a confidential client proves itself with each refresh, and may change its key.
    const line = presenter.isPublic ? boundTo : null
    const begun: Grant = { ...grant, generation: 1, turnedAt: state.now, boundTo: line }
    const active = identifies ? { ...begun, identifiedBy: command.id } : begun
    const next = withClient(withGrant(state, active), { ...presenter, hasCompletedAFlow: true })
    const { resource } = target
    const issued = { ref: command.id, grant: active, scope: grant.scope, resource, boundTo, identifies }
    return withNewRefresh(facts, next, issued)
  }

export const redeemRules: ReadonlyArray<Rule<RedeemFacts>> = [
  ...proofRules,
  forgery,
  {
    name: "a client without the code grant may not redeem (RFC 6749 §5.2)",
    when: ({ presenter }) => presenter?.mayUseCodes === false,
    gives: refused(400, "unauthorized_client")
  },
  {
    name: "a replay that is not even well formed may be told that first",
    when: (facts) => isReplay(facts) && hasVerifier(facts) && errorsOf(malformations, facts).length > 0,
    gives: (facts) => [...killed(facts), ...refused400(...errorsOf(malformations, facts))(facts)]
  },
  {
    name: "a code that is unknown, expired, or of another key ring or workspace is refused (RFC 6749 §5.2)",
    when: (facts) => !opens(facts),
    gives: badCode
  },
  {
    name: "another client's attempt on a code changes nothing",
    when: ({ grant, presenter }) => grant?.client !== presenter?.ref,
    gives: badCode
  },
  {
    name: "the code of a dead grant is refused",
    when: ({ grant, state }) => grant !== undefined && !isAlive(state, grant),
    gives: badCode
  },
  {
    name: "a code that is used twice without its verifier is refused, and kills nothing (RFC 7636 §1)",
    when: (facts) => facts.grant !== undefined && facts.grant.generation > 0 && !hasVerifier(facts),
    gives: badCode
  },
  {
    name: "a code that is used twice kills its grant (RFC 6749 §4.1.2)",
    when: ({ grant }) => grant !== undefined && grant.generation > 0,
    gives: killed
  },
  ...inAnyOrder(faults, refused400),
  {
    name: "a code of a request that signs in turns into tokens with an ID token (OpenID Connect Core §3.1.3.3)",
    when: ({ grant }) => grant?.signIn !== undefined,
    gives: granted(true)
  },
  {
    name: "a code turns into tokens once (RFC 6749 §4.1.4)",
    when: () => true,
    gives: granted(false)
  }
]

export const redeem = (facts: Facts, command: Redeem): ReadonlyArray<Alternative> => {
  const presenter = facts.state.clients.get(command.by)
  const grant = facts.state.grants.get(`grant#${command.code}`)
  return firstThatHolds(redeemRules, {
    ...facts,
    command,
    presenter,
    proof: command.proof,
    grant,
    target: targetAtToken(command.resource, grant?.resource ?? null, facts.world, presenter?.workspace ?? 0)
  })
}
