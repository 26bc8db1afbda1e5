import type { Check } from "../script/Command.ts"
import { provenKey } from "./keys.ts"
import { type Alternative, type Facts, firstThatHolds, type Outcome, type Rule } from "./Rule.ts"
import { reaches } from "./scope.ts"
import { type Standing, standingOf, worthOf } from "./standing.ts"

interface CheckFacts extends Facts {
  readonly command: Check
  readonly standing: Standing
}

const turnedAway =
  (...error: ReadonlyArray<string>) =>
  ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "Turned away", status: 401, error }, next: state }]

const unasked = ({ state }: Facts): ReadonlyArray<Outcome> => [
  { expect: { _tag: "Turned away", status: 401, error: null }, next: state }
]

const forbidden = ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "Forbidden" }, next: state }]

const admitted = ({ state, standing, command, world }: CheckFacts): ReadonlyArray<Outcome> => {
  if (standing._tag !== "access") return []
  const user = command.at === "userinfo" ? standing.grant.user : null
  const worth = command.at === "guard" ? worthOf(standing, world.issuers[command.workspace]) : null
  const isAsked = command.at === "userinfo" && world.claims === true
  const tellsName = isAsked ? reaches(standing.access.scope, "profile") : null
  return [{ expect: { _tag: "Admitted", user, worth, tellsName }, next: state }]
}

const hasScope = ({ standing, command }: CheckFacts): boolean =>
  standing._tag === "access" &&
  (reaches(standing.access.scope, command.at === "userinfo" ? "profile" : "api") ||
    // OpenID Connect Core §5.3: the token of a sign-in may ask about its person.
    (command.at === "userinfo" && standing.access.scope.includes("openid")))

/** None of what it names is the place where it is shown, or above that. Userinfo may be a place of its own. */
const isForElsewhere = ({ standing, command, world }: CheckFacts): boolean => {
  if (standing._tag !== "access" || standing.access.resource === null) return false
  const issuer = world.issuers[command.workspace]
  const named = standing.access.resource.split(" ")
  if (named.includes(issuer)) return false
  return command.at === "userinfo" || !named.includes(`${issuer}/rest/companies`)
}

export const checkRules: ReadonlyArray<Rule<CheckFacts>> = [
  {
    name: "who shows no token is told where to get one (RFC 6750 §3.1, RFC 9728 §5.1)",
    when: ({ command }) => command.token === null,
    gives: unasked
  },
  {
    name: "who shows a token that counts for nothing is turned away (RFC 6750 §3.1)",
    when: ({ standing }) => standing._tag !== "access",
    gives: turnedAway("invalid_token", "invalid_dpop_proof")
  },
  {
    name: "a proof that its key did not sign opens nothing (RFC 9449 §4.3)",
    when: ({ command }) => command.key === "forged",
    gives: turnedAway("invalid_token", "invalid_dpop_proof")
  },
  {
    name: "a token that is bound opens nothing without its key, and one that is not, nothing as if it were (RFC 9449 §7)",
    when: ({ command, standing }) => standing._tag === "access" && standing.access.boundTo !== provenKey(command.key),
    gives: turnedAway("invalid_token", "invalid_dpop_proof")
  },
  {
    name: "a token for one resource may be turned away at another (RFC 8707 §3)",
    when: isForElsewhere,
    gives: (facts) => [...turnedAway("invalid_token")(facts), ...(hasScope(facts) ? admitted(facts) : forbidden(facts))]
  },
  {
    name: "a token of too little scope is forbidden (RFC 6750 §3.1)",
    when: (facts) => !hasScope(facts),
    gives: forbidden
  },
  {
    name: "who shows a good token is let in",
    when: () => true,
    gives: admitted
  }
]

export const check = (facts: Facts, command: Check): ReadonlyArray<Alternative> =>
  firstThatHolds(checkRules, { ...facts, command, standing: standingOf(facts, command.token, command.workspace) })
