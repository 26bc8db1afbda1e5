import type { EndSession } from "../script/Command.ts"
import { type Alternative, type Facts, firstThatHolds, type Rule } from "./Rule.ts"
import { allDead, type Grant, isAlive, type State } from "./State.ts"
import type { WorkspaceNumber } from "./World.ts"

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

/** What came of a session, and does not outlive it. */
export const issuedTo = (state: State, workspace: WorkspaceNumber, user: string): ReadonlyArray<Grant> =>
  [...state.grants.values()].filter(
    (grant) =>
      endsWithSession(state, grant) &&
      grant.user === user &&
      isAlive(state, grant) &&
      state.clients.get(grant.client)?.workspace === workspace
  )

export const endSession = (facts: Facts, command: EndSession): ReadonlyArray<Alternative> => {
  const issued = issuedTo(facts.state, command.workspace, command.user)
  return firstThatHolds(endSessionRules, { ...facts, command, issued })
}
