import type { Belong, EndAll } from "../script/Command.ts"
import { type Alternative, type Facts, firstThatHolds, type Rule } from "./Rule.ts"
import { allDead, type Grant, isAlive, type Page, type Scope, type State } from "./State.ts"
import { reaches } from "./scope.ts"
import { type PlaceName, placeScopes, type WorkspaceNumber } from "./World.ts"

/** A place, with what of a request can be allowed there. */
interface Offered {
  readonly place: PlaceName
  readonly scope: ReadonlyArray<Scope>
}

const personIn = (workspace: WorkspaceNumber, user: string): string => `${workspace} ${user}`

export const placesOf = (state: State, workspace: WorkspaceNumber, user: string): ReadonlyArray<PlaceName> =>
  state.places.get(personIn(workspace, user)) ?? []

/** `null`: the person has no places. Of those that they have, the ones that take anything of the scope. */
export const offerOf = (
  places: ReadonlyArray<PlaceName>,
  scope: ReadonlyArray<Scope>
): ReadonlyArray<Offered> | null =>
  places.length === 0
    ? null
    : places
        .map((place) => ({
          place,
          scope: placeScopes[place] === null ? scope : placeScopes[place].filter((name) => reaches(scope, name))
        }))
        .filter((one) => one.scope.length > 0)

/** A page for one place is for what that place takes; with a choice, the whole request is asked about. */
export const drawnFor = (
  offer: ReadonlyArray<Offered> | null,
  scope: ReadonlyArray<Scope>
): Pick<Page, "chooses" | "place" | "scope"> => {
  const [first, second] = offer ?? []
  return first === undefined || second !== undefined
    ? { scope, chooses: second !== undefined }
    : { scope: first.scope, place: first.place }
}

export type Chosen = "nowhere" | "none chosen" | "not theirs" | Offered

/** What an approval says of the place, by the places that the person has then. */
export const chosenOn = (page: Page, places: ReadonlyArray<PlaceName>, posted: PlaceName | undefined): Chosen => {
  const offer = offerOf(places, page.scope)
  if (offer === null) {
    return page.place === undefined && page.chooses !== true && posted === undefined ? "nowhere" : "not theirs"
  }
  // Where there is a choice now, the person makes it, whatever the page was drawn for.
  const meant = posted ?? (offer.length > 1 ? undefined : page.place)
  if (meant === undefined && page.chooses === true && offer.length > 1) return "none chosen"
  return offer.find(({ place }) => place === meant) ?? "not theirs"
}

/** The host says where a person is, from now on. */
export const belong = ({ state }: Facts, { places, user, workspace }: Belong): ReadonlyArray<Alternative> => [
  {
    rule: "a host says which places a person has",
    expect: { _tag: "Silence" },
    next: { ...state, places: new Map(state.places).set(personIn(workspace, user), places) }
  }
]

interface EndAllFacts extends Facts {
  readonly command: EndAll
  readonly ending: ReadonlyArray<Grant>
}

export const endAllRules: ReadonlyArray<Rule<EndAllFacts>> = [
  {
    name: "who ends the connection with a client ends all that it came to by it (issue 24: revocable there)",
    when: ({ command, ending }) => command.client !== undefined && ending.length > 0,
    gives: ({ ending, state }) => {
      const over = ending.map((grant) => (grant.asserted === undefined ? grant : { ...grant, endedAt: state.now }))
      return [{ expect: { _tag: "Silence" }, next: allDead(state, over, "connection ended") }]
    }
  },
  {
    name: "who left a place has nothing there any more (issue 22: endAll for a user and a place)",
    when: ({ ending }) => ending.length > 0,
    gives: ({ ending, state }) => [{ expect: { _tag: "Silence" }, next: allDead(state, ending, "left the place") }]
  },
  {
    name: "who left a place keeps what they have at others (issue 22: endAll for a user and a place)",
    when: () => true,
    gives: ({ state }) => [{ expect: { _tag: "Silence" }, next: state }]
  }
]

export const endAll = (facts: Facts, command: EndAll): ReadonlyArray<Alternative> => {
  const { client, place, user, workspace } = command
  const { state } = facts
  const ending = [...state.grants.values()].filter(
    (grant) =>
      (place === undefined || grant.place === place) &&
      (client === undefined || grant.client === client) &&
      grant.user === user &&
      // One whose issuer is trusted no more is there, and would count again.
      (grant.asserted === undefined ? isAlive(state, grant) : grant.death === null) &&
      state.clients.get(grant.client)?.workspace === workspace
  )
  return firstThatHolds(endAllRules, { ...facts, command, ending })
}
