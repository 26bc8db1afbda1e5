import { Effect } from "effect"
import type { Connection } from "../engine/connections.ts"
import type { Services } from "../http/Route.ts"
import type { ConsentPage } from "../pages/Consent.ts"
import type { UserPlace } from "../ports/ResourceOwner.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { PlaceId, UserId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import { commonScopes, type ScopeRegistry, type Scopes } from "../rules/Scope.ts"
import { scopesOf, type Workspace } from "../workspace/Workspace.ts"

/** A place, with what of a request's scopes can be allowed there. */
interface OfferedPlace extends UserPlace {
  readonly granted: Scopes
}

/** Where a request can be allowed. */
export type Offer =
  /** The person has no places, and the grant has none. */
  | { readonly _tag: "Nowhere" }
  /** One place, about which no question is asked. */
  | { readonly _tag: "Here"; readonly place: OfferedPlace }
  /** At least two. */
  | { readonly _tag: "Choice"; readonly places: ReadonlyArray<OfferedPlace> }
  /** None of the person's places takes any of the scopes. */
  | { readonly _tag: "Refused" }

export const offerOf = (places: ReadonlyArray<UserPlace>, scope: Scopes, registry: ScopeRegistry): Offer => {
  if (places.length === 0) return { _tag: "Nowhere" }
  const offered = places
    .map((place) => ({
      ...place,
      granted: place.scopes === undefined ? scope : commonScopes(registry, scope, place.scopes)
    }))
    .filter(({ granted }) => granted.length > 0)
  const [place, another] = offered
  if (place === undefined) return { _tag: "Refused" }
  return another === undefined ? { _tag: "Here", place } : { _tag: "Choice", places: offered }
}

const nowhere: Effect.Effect<Offer> = Effect.succeed({ _tag: "Nowhere" })

/** Asked for the page, and once more at its answer: by then the person may have left. */
export const offerTo = (
  services: Pick<Services, "owner" | "policy">,
  workspace: Workspace,
  user: UserId,
  scope: Scopes
): Effect.Effect<Offer, StorageUnavailable> => {
  const { places } = services.owner
  return places === undefined
    ? nowhere
    : Effect.map(places(workspace, user), (all) => offerOf(all, scope, scopesOf(services.policy, workspace)))
}

/** A request as it is to be allowed at one place: for life, and for what that place takes of it. */
export const placedAt = <R extends { readonly scope: Scopes }>(request: R, place: OfferedPlace): R & Placed => ({
  ...request,
  scope: place.granted,
  place: place.id
})

interface Placed {
  readonly place: PlaceId
}

/** The place that an answer names. A form can be posted with any text, so only a place of the offer counts. */
export type Chosen =
  | { readonly _tag: "Chosen"; readonly place: OfferedPlace | undefined }
  /** The page stands, and asks again. */
  | { readonly _tag: "Choose" }
  /** The page was drawn for other places than the person has now. */
  | { readonly _tag: "Outdated" }

/** What the page was drawn for: its one place, a choice, or none. */
export interface Drawn {
  readonly place: PlaceId | undefined
  readonly chooses: boolean
}

export const chosenIn = (offer: Offer, drawn: Drawn, posted: string | undefined): Chosen => {
  switch (offer._tag) {
    case "Nowhere":
      return drawn.place === undefined && !drawn.chooses && posted === undefined
        ? { _tag: "Chosen", place: undefined }
        : { _tag: "Outdated" }
    case "Here":
      return offer.place.id === (posted ?? drawn.place) ? { _tag: "Chosen", place: offer.place } : { _tag: "Outdated" }
    case "Choice": {
      const place = offer.places.find(({ id }) => id === posted)
      return place === undefined ? { _tag: "Choose" } : { _tag: "Chosen", place }
    }
    case "Refused":
      return { _tag: "Outdated" }
  }
}

/** Where the person last let any application act, by the grants that they still have. */
export const lastPlace = (connections: ReadonlyArray<Connection>): PlaceId | undefined => {
  let last: { readonly place: PlaceId; readonly at: Instant } | undefined
  for (const { grants } of connections) {
    for (const { createdAt, place } of grants) {
      if (place !== undefined && (last === undefined || createdAt > last.at)) last = { place, at: createdAt }
    }
  }
  return last?.place
}

const shownMost = 10
const foundMost = 25
const searchLength = 100

const folded = (text: string): string => text.normalize("NFKC").toLowerCase()

/** What the page is drawn with beyond the places themselves. */
export interface Choosing {
  readonly last: PlaceId | undefined
  readonly hint: string | undefined
  /** What was posted. */
  readonly chosen?: string | undefined
  readonly search?: string | undefined
  readonly problem?: string | undefined
}

/** The choice as a page shows it: the last one first, then the one that is chosen. `all`: without a search, every place. */
export const choiceOf = (
  offer: Offer,
  { chosen, hint, last, problem, search = "" }: Choosing,
  scope: Scopes,
  registry: ScopeRegistry,
  all: boolean
): ConsentPage["places"] => {
  if (offer._tag !== "Choice") return undefined
  const { places } = offer
  const among = (id: string | undefined) => places.find((place) => place.id === id)
  const preferred = among(chosen) ?? among(hint) ?? among(last)
  const first = [among(last), preferred].filter((place) => place !== undefined)
  const wanted = folded(search.slice(0, searchLength).trim())
  const isFound = ({ detail = "", id, label }: UserPlace) => folded(`${label}\n${detail}\n${id}`).includes(wanted)
  const shown =
    wanted === ""
      ? [...new Set([...first, ...places])].slice(0, all ? places.length : shownMost)
      : [...new Set([...places.filter(isFound).slice(0, foundMost), ...(preferred === undefined ? [] : [preferred])])]
  return {
    shown: shown.map((place) => ({
      id: place.id,
      label: place.label,
      ...(place.detail === undefined ? {} : { detail: place.detail }),
      chosen: place === preferred,
      ...(place.granted.length === scope.length && place.granted.every((name) => scope.includes(name))
        ? {}
        : {
            only: registry
              .filter(({ name }) => place.granted.includes(name))
              .map(({ meaning, name }) => ({ scope: name, words: meaning }))
          })
    })),
    count: places.length,
    ...(wanted === "" ? {} : { search: search.slice(0, searchLength).trim() }),
    ...(problem === undefined ? {} : { problem })
  }
}
