import type { EndSession } from "../script/Command.ts"
import { type Alternative, type Facts, firstThatHolds, type Rule } from "./Rule.ts"
import { allDead, type Grant, isAlive, type State } from "./State.ts"

interface EndFacts extends Facts {
  readonly command: EndSession
  /** What was issued in the session, and does not outlive it. */
  readonly issued: ReadonlyArray<Grant>
}

/** A code that is out would name a session that is over; what was fetched ends where the client asked to be told. */
const endsWithSession = ({ clients }: State, { client, generation, signIn }: Grant): boolean =>
  signIn !== undefined && (generation === 0 || (!signIn.isOffline && clients.get(client)?.isTold === true))

export const endSessionRules: ReadonlyArray<Rule<EndFacts>> = [
  {
    name: "the end of a session ends its codes, and what it issued to clients that are told (OpenID Connect Back-Channel Logout §2.7)",
    when: ({ issued }) => issued.length > 0,
    gives: ({ issued, state }) => [{ expect: { _tag: "Silence" }, next: allDead(state, issued, "session ended") }]
  },
  {
    name: "the end of a session leaves alone what outlives it (OpenID Connect Core §11)",
    when: () => true,
    gives: ({ state }) => [{ expect: { _tag: "Silence" }, next: state }]
  }
]

export const endSession = (facts: Facts, command: EndSession): ReadonlyArray<Alternative> => {
  const { state } = facts
  const issued = [...state.grants.values()].filter(
    (grant) =>
      endsWithSession(state, grant) &&
      grant.user === command.user &&
      isAlive(state, grant) &&
      state.clients.get(grant.client)?.workspace === command.workspace
  )
  return firstThatHolds(endSessionRules, { ...facts, command, issued })
}
