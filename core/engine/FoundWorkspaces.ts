import { type Clock, Deferred, Effect, Exit } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import type { HttpRequest } from "../http/Http.ts"
import { StorageUnavailable } from "../ports/Storage.ts"
import type { Workspaces } from "../ports/Workspaces.ts"
import { hasPassed, type Instant, instantOf, later, type Millis } from "../rules/Instant.ts"
import { isLoopbackHost, type Workspace, workspacesKept } from "../workspace/Workspace.ts"
import { addressOf, depthOf, pathsWithin, readHost } from "../workspace/WorkspaceTable.ts"
import { type FoundAt, nothingThere } from "./Hosting.ts"

interface Remembered extends FoundAt {
  readonly until: Instant
  /** A clock that shows less was set back, and does not tell for how long it has been. */
  readonly since: Instant
}

/** Addresses without a workspace. Strangers make them up, so they stand apart and push no workspace out. */
const nobodiesKept = 20_000

/**
 * Looks at addresses without a workspace the last time, at once, and one more with every `strangerRefill`: whatever
 * hosts strangers make up, the store is asked no more often. Workspaces that were found before do not count.
 */
const strangersAtOnce = 200
const strangerRefill: Millis = 10

/** How long a look may take, whatever it asks. */
const patience = "10 seconds"

export interface FoundWorkspacesOptions {
  /** What is at an address, host and path. `known`: what was there when it was last asked. */
  readonly look: (address: string, known: Workspace | undefined) => Effect.Effect<FoundAt, StorageUnavailable>
  /** For so long what was found, or was not, is not looked for again. */
  readonly staleness: Millis
  readonly clock: Clock.Clock
}

export interface FoundWorkspaces extends Required<Workspaces["Service"]> {
  /** What is known of an address; `undefined`: it has to be looked for. */
  readonly atHand: (request: Pick<HttpRequest, "headers" | "path">) => Pick<FoundAt, "workspace"> | undefined
  /** Looks, though it may be known: at an address of the store's, which no stranger made up. */
  readonly askedAt: (address: string) => Effect.Effect<Workspace | undefined, StorageUnavailable>
  /** Those found lately, each once. */
  readonly known: () => ReadonlyArray<Workspace>
  /** What is at a host, by who can say it without a wait; it is remembered as what a look finds. */
  readonly say: (host: string, tell: (known: Workspace | undefined) => Workspace | undefined) => Workspace | undefined
  /** As if they had just been looked for. */
  readonly learn: (workspaces: Iterable<Workspace>) => void
}

/** The host of an address, for one that says a port that goes without saying (RFC 9110 §4.2.3). */
export const plainHost = (header: string | null | undefined): string | undefined => {
  const host = readHost(header)
  if (host === undefined) return undefined
  const port = host.endsWith(":443") ? 4 : host.endsWith(":80") ? 3 : 0
  if (port === 0) return host
  const name = host.slice(0, -port)
  return isLoopbackHost(name) === (port === 3) ? name : host
}

const mayBe = (workspace: Workspace | undefined, address: string): boolean => {
  if (workspace === undefined) return true
  const { host, path } = addressOf(workspace)
  return host + path === address
}

/**
 * Workspaces that are kept elsewhere, as they were a moment ago. Requests that look for one address at once share a look;
 * where a look fails, what was found before goes on.
 */
export const makeFoundWorkspaces = ({ clock, look, staleness }: FoundWorkspacesOptions): FoundWorkspaces => {
  const found = new LruMap<string, Remembered>(workspacesKept)
  const nobodies = new LruMap<string, Remembered>(nobodiesKept)
  const underWay = new Map<string, Deferred.Deferred<FoundAt, StorageUnavailable>>()
  /** When as many strangers may be looked for at once again as at the start. */
  let strangersFullAt = 0

  const remember = (address: string, at: FoundAt, now: Instant): FoundAt => {
    const isThere = at.workspace !== undefined || at.deepest > 0
    const [into, other] = isThere ? [found, nobodies] : [nobodies, found]
    into.set(address, { workspace: at.workspace, deepest: at.deepest, since: now, until: later(now, staleness) })
    other.delete(address)
    return at
  }

  const fresh = (address: string, now: Instant): FoundAt | undefined => {
    const known = found.get(address) ?? nobodies.get(address)
    return known === undefined || hasPassed(known.until, now) || now < known.since ? undefined : known
  }

  const mayLookForStranger = (now: Instant): boolean => {
    // A clock that was set back leaves no request waiting for longer than the whole.
    strangersFullAt = Math.min(Math.max(strangersFullAt, now), now + strangersAtOnce * strangerRefill)
    if (strangersFullAt + strangerRefill > now + strangersAtOnce * strangerRefill) return false
    strangersFullAt += strangerRefill
    return true
  }

  const lookAt = (address: string, known: Remembered | undefined): Effect.Effect<FoundAt, StorageUnavailable> =>
    Effect.suspend(() => look(address, known?.workspace)).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () =>
          Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "looking for a workspace took too long" }))
      }),
      // A look that answered for another address would take over what is sealed and remembered for that one.
      Effect.map((at) => (mayBe(at.workspace, address) ? at : { ...at, workspace: undefined })),
      Effect.catch((fault): Effect.Effect<FoundAt, StorageUnavailable> => {
        if (known === undefined) return Effect.fail(fault)
        const { message } = fault
        const said = Effect.logWarning("a workspace could not be looked up again, and goes on as it was", { message })
        return Effect.as(said, known)
      })
    )

  const load = (address: string, now: Instant): Effect.Effect<FoundAt, StorageUnavailable> =>
    Effect.suspend(() => {
      const sharing = underWay.get(address)
      if (sharing !== undefined) return Deferred.await(sharing)
      const known = found.get(address)
      if (known === undefined && !mayLookForStranger(now)) {
        // Where a host has workspaces below it, each path of its own is such an address, and goes on as it was.
        const before = address.includes("/") ? nobodies.get(address) : undefined
        if (before !== undefined) return Effect.succeed(before)
        return Effect.fail(
          new StorageUnavailable({ outcome: "not_done", message: "too many unknown hosts are asked for" })
        )
      }
      const outcome = Deferred.makeUnsafe<FoundAt, StorageUnavailable>()
      underWay.set(address, outcome)
      const looking = lookAt(address, known).pipe(
        Effect.map((at) => remember(address, at, instantOf(clock))),
        Effect.onExit(() => Effect.sync(() => underWay.delete(address)))
      )
      // Not a child of the first to ask: who goes away takes no answer from the others.
      return Effect.andThen(
        Effect.forkDetach(Deferred.into(looking, outcome), { startImmediately: true }),
        Deferred.await(outcome)
      )
    })

  /** Walks from the host to the longest path. `undefined`: something on the way is not at hand. */
  const knownAt = (host: string, path: string, now: Instant): FoundAt | undefined => {
    const root = fresh(host, now)
    if (root === undefined || root.deepest === 0) return root
    for (const beginning of pathsWithin(path, root.deepest)) {
      const there = fresh(host + beginning, now)
      if (there === undefined || there.workspace !== undefined) return there
    }
    return root
  }

  const walk = Effect.fnUntraced(function* (
    host: string,
    path: string,
    now: Instant
  ): Effect.fn.Return<Workspace | undefined, StorageUnavailable> {
    const root = fresh(host, now) ?? (yield* load(host, now))
    if (root.deepest === 0) return root.workspace
    for (const beginning of pathsWithin(path, root.deepest)) {
      const there = fresh(host + beginning, now) ?? (yield* load(host + beginning, now))
      if (there.workspace !== undefined) return there.workspace
    }
    return root.workspace
  })

  const nobody = Exit.succeed(undefined)

  const requested: FoundWorkspaces["atHand"] = ({ headers, path }) => {
    const header = headers.get("host") ?? ""
    const now = instantOf(clock)
    // A slash would make an address out of it, of which the path is to be the request's.
    const known = header.includes("/") ? undefined : knownAt(header, path, now)
    if (known !== undefined) return known
    const host = plainHost(header)
    if (host === undefined) return nothingThere
    return host === header ? undefined : knownAt(host, path, now)
  }

  return {
    atHand: requested,
    resolve: (request) => requested(request)?.workspace,
    find: ({ headers, path }: HttpRequest) => {
      const host = plainHost(headers.get("host"))
      if (host === undefined) return nobody
      const now = instantOf(clock)
      const known = knownAt(host, path, now)
      return known === undefined ? walk(host, path, now) : Exit.succeed(known.workspace)
    },
    askedAt: (address) => Effect.map(lookAt(address, found.get(address)), ({ workspace }) => workspace),
    known: () => [...found].flatMap(([, { workspace }]) => (workspace === undefined ? [] : [workspace])),
    say: (host, tell) => {
      const told = tell(found.get(host)?.workspace)
      const workspace = mayBe(told, host) ? told : undefined
      return remember(host, { workspace, deepest: 0 }, instantOf(clock)).workspace
    },
    learn: (workspaces) => {
      const now = instantOf(clock)
      for (const workspace of workspaces) {
        const { host, path } = addressOf(workspace)
        const at = found.get(host)
        const deepest = Math.max(at?.deepest ?? 0, depthOf(path))
        if (path === "") remember(host, { workspace, deepest }, now)
        else {
          remember(host, { workspace: at?.workspace, deepest }, now)
          remember(host + path, { workspace, deepest: 0 }, now)
        }
      }
    }
  }
}
