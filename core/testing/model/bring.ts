import type { Attest, Bring, TrustIssuer } from "../script/Command.ts"
import { type ProofFacts, proofRules } from "./proof.ts"
import {
  type Alternative,
  errorsOf,
  type Facts,
  type Fault,
  firstThatHolds,
  type Outcome,
  type Rule,
  refused400
} from "./Rule.ts"
import { type Target, targetAtAuthorize, targetAtToken } from "./resource.ts"
import {
  type Assertion,
  type Grant,
  isAlive,
  type Scope,
  type State,
  type Trust,
  trustedIn,
  unasked,
  withAssertion,
  withGrant,
  withTrust
} from "./State.ts"
import { asksBeyond, grantable, known } from "./scope.ts"
import { withoutRefresh } from "./tokens.ts"
import { assertionLeeway, longestAssertion, residents, type WorkspaceNumber } from "./World.ts"

/** An owner says whose assertions are taken, and how far. Other keys make it another issuer: what it brought before ends. */
export const trustIssuer = (
  { state }: Facts,
  { issuer, terms, workspace }: TrustIssuer
): ReadonlyArray<Alternative> => {
  const before = state.trusted.get(trustedIn(workspace, issuer))
  const since = before !== undefined && before.terms.key === terms?.key ? before.since : state.now
  const next = withTrust(state, workspace, issuer, terms === null ? null : { terms, since })
  return [{ rule: "an owner says which issuers are trusted", expect: { _tag: "Silence" }, next }]
}

const second = 1000

/** The issuer says so by itself, in whole seconds. */
export const attest = ({ state }: Facts, command: Attest): ReadonlyArray<Alternative> => {
  const issuedAt = Math.floor(state.now / second) * second
  const expiresAt = issuedAt + command.lives * second
  const next = withAssertion(state, { ...command, issuedAt, expiresAt })
  return [{ rule: "an issuer says who somebody is", expect: { _tag: "Attested" }, next }]
}

interface BringFacts extends ProofFacts {
  readonly command: Bring
  readonly assertion: Assertion | undefined
  readonly trust: Trust | undefined
  /** What was begun last for this issuer, person and client. */
  readonly found: Grant | undefined
  readonly target: Target
  readonly scope: ReadonlyArray<Scope>
}

const personIn = (workspace: WorkspaceNumber, subject: string): string => `${workspace} ${subject}`

const isHere = (state: State, workspace: WorkspaceNumber, subject: string): boolean =>
  residents.includes(subject) || state.met.has(personIn(workspace, subject))

const homeOf = ({ presenter }: ProofFacts): WorkspaceNumber => presenter?.workspace ?? 0

/** What no assertion may be: such a one lets no person in and writes nothing. */
const untrue: ReadonlyArray<Fault<BringFacts>> = [
  {
    name: "an assertion of an issuer that no owner trusts is nothing (RFC 7523 §3)",
    when: ({ trust }) => trust === undefined,
    errors: ["invalid_grant"]
  },
  {
    name: "an assertion that another key signed than its issuer's is nothing (RFC 7523 §3)",
    when: ({ assertion, trust }) => trust !== undefined && assertion?.key !== trust.terms.key,
    errors: ["invalid_grant"]
  },
  {
    name: "a JWT that is no ID-JAG is taken only where the owner says so (ID-JAG §4.4)",
    when: ({ assertion, trust }) => trust?.terms.takes === "id-jag" && assertion?.kind !== "id-jag",
    errors: ["invalid_grant"]
  },
  {
    name: "an assertion is for this server and no other (RFC 7523 §3)",
    when: ({ assertion, presenter }) => assertion?.audience !== "here" || assertion.workspace !== presenter?.workspace,
    errors: ["invalid_grant"]
  },
  {
    name: "an ID-JAG is for the client that brings it, and so is a JWT that names one (ID-JAG §4.4.1)",
    when: ({ assertion, presenter }) =>
      assertion?.names === null ? assertion.kind === "id-jag" : assertion?.names !== presenter?.ref,
    errors: ["invalid_grant"]
  },
  {
    name: "an assertion that is past its end is nothing (RFC 7523 §3)",
    when: ({ assertion, state }) => assertion !== undefined && state.now >= assertion.expiresAt + assertionLeeway,
    errors: ["invalid_grant"]
  },
  {
    name: "an assertion whose end is too far away is not taken yet (RFC 7523 §3)",
    when: ({ assertion, state }) =>
      assertion !== undefined && assertion.expiresAt > state.now + longestAssertion + assertionLeeway,
    errors: ["invalid_grant"]
  },
  {
    name: "an assertion for a resource of somebody else is refused (RFC 8707 §2.2)",
    when: ({ assertion, world }) =>
      assertion !== undefined && targetAtAuthorize(assertion.resource, world, assertion.workspace) === "invalid",
    errors: ["invalid_target"]
  },
  {
    name: "who is not here is let in by no issuer that may not (issue 24: known person only, or made at first sight)",
    when: (facts) =>
      facts.trust?.terms.people === "known" && !isHere(facts.state, homeOf(facts), facts.assertion?.subject ?? ""),
    errors: ["invalid_grant"]
  }
]

/** What may be asked by an assertion that holds, and still comes to nothing. */
const beyond: ReadonlyArray<Fault<BringFacts>> = [
  {
    name: "what was asserted before the person ended the connection counts no more (issue 24: revocable there)",
    when: ({ assertion, found }) =>
      found?.endedAt !== undefined && assertion !== undefined && assertion.issuedAt <= found.endedAt,
    errors: ["invalid_grant"]
  },
  {
    name: "an assertion brings no scope beyond its own, its issuer's and the client's (RFC 6749 §3.3)",
    when: ({ scope }) => scope.length === 0,
    errors: ["invalid_scope"]
  },
  {
    name: "an assertion brings no resource beyond its own (RFC 8707 §2.2)",
    when: ({ target }) => target === "invalid",
    errors: ["invalid_target"]
  }
]

const errorsIn = (facts: BringFacts): ReadonlyArray<string> => [...errorsOf(untrue, facts), ...errorsOf(beyond, facts)]

/** Whom a trusted issuer names is here from then on, where it may let people in. */
const withPerson = (facts: BringFacts): State => {
  const { assertion, state, trust } = facts
  if (assertion === undefined || trust?.terms.people !== "made" || errorsOf(untrue, facts).length > 0) return state
  const workspace = homeOf(facts)
  return isHere(state, workspace, assertion.subject)
    ? state
    : { ...state, met: new Map(state.met).set(personIn(workspace, assertion.subject), state.now) }
}

/** The person may have been let in before the rest was looked at. */
const refusedAfterwards = (facts: BringFacts): ReadonlyArray<Outcome> => {
  const met = withPerson(facts)
  const outcomes = refused400(...errorsIn(facts))(facts)
  return met === facts.state ? outcomes : [...outcomes.map((one) => ({ ...one, next: met })), ...outcomes]
}

const granted = (facts: BringFacts): ReadonlyArray<Outcome> => {
  const { assertion, command, found, presenter, scope, target, trust } = facts
  if (assertion === undefined || presenter === undefined || trust === undefined || target === "invalid") return []
  const { issuer, subject } = assertion
  const state = withPerson(facts)
  const grant: Grant =
    found !== undefined && isAlive(state, found)
      ? found
      : {
          ...unasked(state),
          name: `asserted#${command.id}`,
          client: presenter.ref,
          user: subject,
          scope,
          redirect: null,
          asserted: { issuer, since: trust.since }
        }
  const issued = { ref: command.id, grant, scope, resource: target.resource, boundTo: null }
  return [
    ...withoutRefresh(facts, withGrant(state, grant), issued),
    ...(asksBeyond(command.scope, scope, facts.world) ? refusedAfterwards({ ...facts, scope: [] }) : [])
  ]
}

export const bringRules: ReadonlyArray<Rule<BringFacts>> = [
  ...proofRules,
  {
    name: "a client that no owner gave the grant type brings no assertions (RFC 6749 §5.2)",
    when: ({ presenter }) => presenter?.bringsAssertions === false,
    gives: refused400("unauthorized_client")
  },
  ...untrue.map(({ name, when }) => ({
    name,
    when,
    gives: (facts: BringFacts) => refused400(...errorsIn(facts))(facts)
  })),
  ...beyond.map(({ name, when }) => ({ name, when, gives: refusedAfterwards })),
  {
    name: "an assertion turns into an access token without a refresh token, again and again (ID-JAG §4.4)",
    when: () => true,
    gives: granted
  }
]

const factsOf = (facts: Facts, command: Bring): BringFacts => {
  const { state, world } = facts
  const presenter = state.clients.get(command.by)
  const home = presenter?.workspace ?? 0
  const assertion = state.assertions.get(command.assertion)
  const trust = assertion === undefined ? undefined : state.trusted.get(trustedIn(home, assertion.issuer))
  const asserted = assertion === undefined ? "invalid" : targetAtAuthorize(assertion.resource, world, home)
  const found = [...state.grants.values()].findLast(
    ({ asserted, client, user }) =>
      asserted !== undefined &&
      asserted.issuer === assertion?.issuer &&
      user === assertion.subject &&
      client === command.by
  )
  return {
    ...facts,
    command,
    presenter,
    proof: command.proof,
    assertion,
    trust,
    found,
    target: targetAtToken(command.resource, asserted === "invalid" ? null : asserted.resource, world, home),
    scope: scopeOf(facts, command, assertion, trust)
  }
}

/**
 * What the client asks for, of the scopes that assertion and issuer allow. Where it asks for none: all that they allow,
 * or the usual ones where neither sets a limit.
 */
const scopeOf = (
  { world }: Facts,
  command: Bring,
  assertion: Assertion | undefined,
  trust: Trust | undefined
): ReadonlyArray<Scope> => {
  const limits = [assertion?.scope ?? null, trust?.terms.scopes ?? null].filter((one) => one !== null)
  const available = known(world).filter((scope) => limits.every((limit) => limit.split(" ").includes(scope)))
  const wasAsked = command.scope !== null && command.scope !== ""
  if (!wasAsked && limits.length > 0) return available
  return grantable(command.scope, world).filter((scope) => available.includes(scope))
}

export const bring = (facts: Facts, command: Bring): ReadonlyArray<Alternative> =>
  firstThatHolds(bringRules, factsOf(facts, command))

/** Where a request comes to nothing, whom its assertion names may be here all the same. */
export const letIn = (facts: Facts, command: Bring): State => withPerson(factsOf(facts, command))
