import { type Clock, Effect, Schema, Semaphore } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import { isKnown, isOnTrial, mayMakeRoom } from "../client/Client.ts"
import { answer, answerAndKeep } from "../grant/Decision.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { type Storage, StorageUnavailable } from "../ports/Storage.ts"
import type { ClientId, GrantId } from "../rules/Id.ts"
import { currentInstant, type Instant, instantOf } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { RegistrationRefused } from "../rules/Refusal.ts"
import { type WorkspaceId, workspacesKept } from "../workspace/Workspace.ts"
import type { Clients } from "./Clients.ts"
import type { Grants } from "./Grants.ts"
import { forEachItem } from "./lists.ts"
import { makeRecords, type RecordKind } from "./Records.ts"
import { cleanUpOrWarn, transactOrFail, type WriteFault } from "./transact.ts"

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/**
 * How many clients on trial a workspace has at most: those that were counted, and whatever places were given out since the
 * counting began. Clients that were forgotten or let in since make it fewer; only counting again tells.
 */
const Census = Schema.Struct({
  id: Schema.Literal("clients"),
  /** Places for registrations that processes took, ever. */
  given: Count,
  counted: Schema.NullOr(Schema.Struct({ clients: Count, whenGiven: Count }))
})
type Census = typeof Census.Type

/** It stands with the other limits that processes share, in a list of its own. */
export const censusKind: RecordKind<Census> = {
  kind: "limit",
  schema: Census,
  version: 1,
  upcast: [],
  id: ({ id }) => id,
  owner: () => "census",
  expiresAt: () => null
}

const fresh: Census = { id: "clients", given: 0, counted: null }

const atMost = ({ counted, given }: Census): number =>
  counted === null ? given : counted.clients + given - counted.whenGiven

/** Where there is no room, the store is asked again after this long. */
const fullFor = 1000

interface Places {
  left: number
  /** When the store last had no room. */
  fullSince: number
}

const noRoom = new StorageUnavailable({ outcome: "not_done", message: "there is no room for more clients" })

/** A place for one that registered already, and has no record yet. */
export const roomForRecord = ({ take }: ClientRoom, workspace: WorkspaceId): Effect.Effect<void, StorageUnavailable> =>
  Effect.catchTag(take(workspace), "RegistrationRefused", () => Effect.fail(noRoom))

/** Room for clients that register themselves, one for all processes over a store. */
export interface ClientRoom {
  /** A place for one more. Seldom asks the store: each process takes a hundredth of the ceiling at once. */
  readonly take: (workspace: WorkspaceId) => Effect.Effect<void, RegistrationRefused | StorageUnavailable>
  /** Counts, where there may be too many, and lets go of those that were not used for longest. Tells how many. */
  readonly clear: (workspace: WorkspaceId) => Effect.Effect<number, WriteFault>
}

interface Surplus {
  readonly id: ClientId
  readonly workspaceGrant: GrantId
  readonly expiresAt: Instant
  readonly mayGo: boolean
}

export const makeClientRoom = (
  storage: Storage["Service"],
  clients: Clients,
  grants: Grants,
  entropy: Entropy["Service"],
  { maxUnprovenClients: ceiling }: Policy,
  clock: Clock.Clock
): ClientRoom => {
  const records = makeRecords(storage, censusKind)
  /** Between two rounds of clearing there may be a tenth more. */
  const most = Math.floor(ceiling * 1.1)
  const atOnce = Math.max(1, Math.floor(ceiling / 100))
  const places = new LruMap<WorkspaceId, Places>(workspacesKept)
  const oneByOne = Semaphore.makeUnsafe(1)

  const takeMany = (workspace: WorkspaceId) =>
    transactOrFail(records, entropy, workspace, fresh.id, (known = fresh) => {
      const many = Math.min(atOnce, most - atMost(known))
      return many > 0 ? answerAndKeep<number, Census>({ ...known, given: known.given + many }, many) : answer(0)
    }).pipe(
      Effect.catchTag("Contended", () =>
        Effect.fail(
          new StorageUnavailable({ outcome: "not_done", message: "too many processes took room for clients" })
        )
      )
    )

  const placesOf = (workspace: WorkspaceId): Places => {
    const known = places.get(workspace)
    if (known !== undefined) return known
    const made = { left: 0, fullSince: Number.NEGATIVE_INFINITY }
    places.set(workspace, made)
    return made
  }

  const take: ClientRoom["take"] = (workspace) =>
    Effect.suspend(() => {
      const own = placesOf(workspace)
      if (own.left > 0) {
        own.left--
        return Effect.void
      }
      return oneByOne.withPermits(1)(
        Effect.suspend(() => {
          const now = instantOf(clock)
          // Of those that waited together, the first has taken places for all.
          if (own.left === 0 && Math.abs(now - own.fullSince) >= fullFor) {
            return Effect.tap(takeMany(workspace), (many) =>
              Effect.sync(() => {
                own.left = many
                own.fullSince = many === 0 ? now : Number.NEGATIVE_INFINITY
              })
            )
          }
          return Effect.void
        }).pipe(
          Effect.andThen(
            Effect.suspend(() => {
              if (own.left === 0) return Effect.fail(new RegistrationRefused({ reason: "full" }))
              own.left--
              return Effect.void
            })
          )
        )
      )
    })

  /** All that are on trial, as one walk over the list finds them. */
  const onTrial = Effect.fnUntraced(function* (workspace: WorkspaceId, now: Instant) {
    const found: Array<Surplus> = []
    yield* forEachItem(
      (slice) => clients.list(workspace, slice),
      (client) =>
        Effect.sync(() => {
          // What an identifier would bring back otherwise takes room until it opens no more, deleted or not.
          const goes = mayMakeRoom(client, now)
          if (!isOnTrial(client) || (goes && !isKnown(client, now))) return
          const { expiresAt, id, workspaceGrant } = client
          found.push({ id, workspaceGrant, expiresAt, mayGo: goes })
        })
    )
    return found
  })

  /** As if its time were over: decided on what is stored, so that one that a person lets in meanwhile stays. */
  const letGo = Effect.fnUntraced(function* (workspace: WorkspaceId, { id, workspaceGrant }: Surplus, now: Instant) {
    if ((yield* clients.letGo(workspace, id, now)) === "stays") return
    yield* cleanUpOrWarn(
      workspace,
      grants.removeGrant(workspace, workspaceGrant),
      "the own grant of a client that was let go could not be deleted; it is no longer accepted",
      { client: id }
    )
  })

  const clear = Effect.fn("engine.clearClients")(function* (
    workspace: WorkspaceId
  ): Effect.fn.Return<number, WriteFault> {
    const before = (yield* records.get(workspace, fresh.id))?.value ?? fresh
    if (before.counted !== null && atMost(before) <= ceiling) return 0
    const now = yield* currentInstant
    const found = yield* onTrial(workspace, now)
    // Each use moves the end, so who ends first was not used for longest.
    const surplus = found
      .filter((one) => one.mayGo)
      .sort((a, b) => a.expiresAt - b.expiresAt)
      .slice(0, Math.max(0, found.length - ceiling))
    yield* Effect.forEach(surplus, (one) => letGo(workspace, one, now), { concurrency: 16, discard: true })
    const counted = { clients: found.length - surplus.length, whenGiven: before.given }
    yield* transactOrFail(records, entropy, workspace, fresh.id, (known = fresh) =>
      answerAndKeep<void, Census>({ ...known, counted }, undefined)
    )
    if (surplus.length > 0) {
      yield* Effect.logInfo("deleted the clients without consent that were unused for longest", {
        workspace,
        clients: surplus.length
      })
    }
    return surplus.length
  })

  return { take, clear }
}
