import { Effect, Result, Schema } from "effect"
import { cleanUpOrWarn, type WriteFault } from "../engine/transact.ts"
import { PlaceId, type UserId } from "../rules/Id.ts"
import { currentInstant } from "../rules/Instant.ts"
import { Contended } from "../rules/Refusal.ts"
import { isScopeName, type ScopeName, type ScopeRegistry } from "../rules/Scope.ts"
import { sanitizeName } from "../rules/sanitizeName.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { AccountRefusal, Active, Membership } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import { endPlaces, type GrantsOfUser, withoutLeft } from "./removal.ts"

/** A record holds them all, and those that a person left a short while ago. */
const mostPlaces = 50

export const placeIdLength = 128
export const placeLabelLength = 100
export const placeDetailLength = 200

/** A place that a person cannot be given. */
export class BadPlace extends Schema.TaggedError<BadPlace>()("BadPlace", {
  reason: Schema.Literals(["id", "label", "detail", "scopes", "full"]),
  /** The scopes that the workspace does not have. */
  unknown: Schema.optionalKey(Schema.Array(Schema.String))
}) {}

/** What an owner types of a place. */
export interface PlaceTyped {
  readonly id: string
  /** Left empty, the id. */
  readonly label: string
  /** May be empty. */
  readonly detail: string
  /** Without any, whatever an application is allowed. */
  readonly scopes: ReadonlyArray<string>
}

const isPlaceId = Schema.is(PlaceId)

/** Fit to be read, and short; nothing is cut off. */
const readText = (typed: string, most: number): string | undefined => {
  const text = sanitizeName(typed.normalize("NFC"), typed.length)
  return text === undefined || [...text].length > most ? undefined : text
}

export const readPlace = (typed: PlaceTyped, registry: ScopeRegistry): Result.Result<Membership, BadPlace> => {
  const refused = (reason: BadPlace["reason"]) => Result.fail(new BadPlace({ reason }))
  const { id } = typed
  if (!isPlaceId(id)) return refused("id")
  const label = typed.label.trim() === "" ? id : readText(typed.label, placeLabelLength)
  if (label === undefined) return refused("label")
  const detail = typed.detail.trim() === "" ? "" : readText(typed.detail, placeDetailLength)
  if (detail === undefined) return refused("detail")
  const isKnown = (name: string): name is ScopeName =>
    isScopeName(name) && registry.some((scope) => scope.name === name)
  const unknown = typed.scopes.filter((name) => !isKnown(name))
  if (unknown.length > 0) return Result.fail(new BadPlace({ reason: "scopes", unknown }))
  const scopes = [...new Set(typed.scopes.filter(isKnown))]
  return Result.succeed({
    id,
    label,
    ...(detail === "" ? {} : { detail }),
    ...(scopes.length === 0 ? {} : { scopes })
  })
}

/**
 * Gives a person a place, or says anew what one of theirs is called and takes. Applications keep what they were allowed
 * there before, as with a host whose answer changes.
 */
export const setPlace = Effect.fn("people.setPlace")(function* (
  accounts: Accounts["Service"],
  grants: GrantsOfUser,
  workspace: WorkspaceId,
  user: UserId,
  place: Membership
): Effect.fn.Return<Active, AccountRefusal | BadPlace | WriteFault> {
  const before = yield* accounts.book.findActive(workspace, user)
  const left = (before?.leftPlaces ?? []).filter(({ id }) => id === place.id)
  // It is forgotten that they left it, so what they had there ends before.
  if (left.length > 0) yield* endPlaces(grants, workspace, user, [place.id])
  return yield* accounts.book.decide(workspace, user, (found): Result.Result<Active, BadPlace | Contended> => {
    const account = withoutLeft(found, left)
    const { leftPlaces = [], places = [] } = account
    if (leftPlaces.some(({ id }) => id === place.id)) return Result.fail(new Contended())
    if (places.some(({ id }) => id === place.id)) {
      return Result.succeed({ ...account, places: places.map((one) => (one.id === place.id ? place : one)) })
    }
    return Math.max(places.length, leftPlaces.length) < mostPlaces
      ? Result.succeed({ ...account, places: [...places, place] })
      : Result.fail(new BadPlace({ reason: "full" }))
  })
})

const without = ({ places = [], ...account }: Active, place: string): Active => {
  const others = places.filter(({ id }) => id !== place)
  return others.length === 0 ? account : { ...account, places: others }
}

/**
 * Takes a place from a person, and ends what applications were allowed there; `noted` runs as soon as that is decided.
 * `removing`: the storage failed in between, and `finishRemovals` does the rest. `unknown`: the person does not have it.
 */
export const removePlace = Effect.fn("people.removePlace")(function* (
  accounts: Accounts["Service"],
  grants: GrantsOfUser,
  workspace: WorkspaceId,
  user: UserId,
  place: string,
  noted: Effect.Effect<void>
): Effect.fn.Return<"removed" | "removing" | "unknown", WriteFault> {
  const since = yield* currentInstant
  if (!isPlaceId(place)) return "unknown"
  const changed = yield* accounts.book.change(workspace, user, (account) => {
    const { leftPlaces = [], places = [] } = account
    return places.some(({ id }) => id === place)
      ? { ...without(account, place), leftPlaces: [...leftPlaces, { id: place, since }] }
      : undefined
  })
  if (changed === undefined) return "unknown"
  yield* noted
  const isFinished = yield* cleanUpOrWarn(
    workspace,
    endPlaces(grants, workspace, user, [place]),
    "grants at a place that was taken from an account could not be ended yet; the next run of finishRemovals does it",
    { account: user, place }
  )
  return isFinished ? "removed" : "removing"
})
