import type { SignOut } from "../script/Command.ts"
import { issuedTo } from "./endSession.ts"
import { type Alternative, type Facts, firstThatHolds, type Outcome, type Rule, showsPage } from "./Rule.ts"
import { allDead, type Client, type IdToken, type State } from "./State.ts"

interface SignOutFacts extends Facts {
  readonly command: SignOut
  readonly hint: IdToken | undefined
  /** Who asks: whose the hint is, else who is named. */
  readonly client: Client | undefined
}

const refuses = ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "Page", refuses: true }, next: state }]

const asked = ({ state }: Facts): ReadonlyArray<Outcome> => [{ expect: { _tag: "AsksToSignOut" }, next: state }]

const goesTo = ({ command }: SignOutFacts): boolean => command.target === "registered"

const ended = ({ command, state }: SignOutFacts): State =>
  allDead(state, command.who === null ? [] : issuedTo(state, command.workspace, command.who), "session ended")

const signedOut = (facts: SignOutFacts): ReadonlyArray<Outcome> => [
  { expect: { _tag: "SignedOut", back: goesTo(facts) ? { state: facts.command.state } : null }, next: ended(facts) }
]

/** Without a hint, a client that no person let in gets no redirect: the person is shown the way. */
const signedOutHere = (facts: SignOutFacts): ReadonlyArray<Outcome> => [
  { expect: { _tag: "SignedOut", back: null }, next: ended(facts) }
]

const isThere = (client: Client | undefined, { command }: SignOutFacts): boolean =>
  client?.isDeleted === false && client.workspace === command.workspace

const isOfSession = ({ command, hint }: SignOutFacts): boolean => hint !== undefined && hint.user === command.who

/** All that a hint is worth while it is not past its end. */
const goodRules: ReadonlyArray<Rule<SignOutFacts>> = [
  {
    name: "a client that is not there signs nobody out (RP-Initiated Logout §4)",
    when: (facts) => facts.command.client !== null && !isThere(facts.client, facts),
    gives: refuses
  },
  {
    name: "no browser is sent where its client did not register (RP-Initiated Logout §3)",
    when: (facts) =>
      facts.command.target === "elsewhere" ||
      (goesTo(facts) && !(isThere(facts.client, facts) && facts.client?.isTold === true)),
    gives: refuses
  },
  {
    name: "where nobody is signed in, only who has a hint is sent on",
    when: ({ command }) => command.who === null,
    gives: (facts) => (facts.hint === undefined ? showsPage(facts) : signedOut(facts))
  },
  {
    name: "who brings a hint of the session ends it (RP-Initiated Logout §2)",
    when: (facts) => isThere(facts.client, facts) && isOfSession(facts),
    gives: signedOut
  },
  {
    name: "who looks at the page that asks, or forges its form, signs nobody out (RP-Initiated Logout §2)",
    when: ({ command }) => command.by !== "viewer",
    gives: asked
  },
  {
    name: "who says so on the page is signed out (RP-Initiated Logout §2, §3)",
    when: () => true,
    gives: (facts) =>
      goesTo(facts) && facts.hint === undefined ? [...signedOut(facts), ...signedOutHere(facts)] : signedOut(facts)
  }
]

/** A client without a record that no person let in: the server does not say whether it knows it. */
const isUnmet = ({ client, hint }: SignOutFacts): boolean => hint === undefined && client?.heldUnder != null

export const signOutRules: ReadonlyArray<Rule<SignOutFacts>> = [
  {
    name: "a hint that is none of the server's signs nobody out (RP-Initiated Logout §4)",
    when: ({ command, hint }) => command.hint !== null && (hint === undefined || hint.workspace !== command.workspace),
    gives: refuses
  },
  {
    name: "a hint of another client than the one that asks signs nobody out (RP-Initiated Logout §4)",
    when: ({ command, hint }) => hint !== undefined && command.client !== null && hint.client !== command.client,
    gives: refuses
  },
  {
    name: "a hint that is past its end, and a client that no person let in, may be known or not (RP-Initiated Logout §4)",
    when: (facts) => isUnmet(facts) || (facts.hint !== undefined && facts.state.now >= facts.hint.expiresAt),
    gives: (facts) => [...firstThatHolds(goodRules, facts), ...refuses(facts)]
  },
  ...goodRules
]

export const signOut = (facts: Facts, command: SignOut): ReadonlyArray<Alternative> => {
  const hint = typeof command.hint === "number" ? facts.state.idTokens.get(command.hint) : undefined
  const client = facts.state.clients.get(hint?.client ?? command.client ?? 0)
  return firstThatHolds(signOutRules, { ...facts, command, hint, client })
}
