import { type Clock, Effect, Equal, Layer, Result, Schema } from "effect"
import { makeFoundWorkspaces, plainHost } from "../../core/engine/FoundWorkspaces.ts"
import type { MayMove } from "../../core/engine/Openings.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import type { ScopeRegistry } from "../../core/rules/Scope.ts"
import { readTheme } from "../../core/workspace/Theme.ts"
import { basePath, type Issuer, parseIssuer, Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { addressOf, WorkspaceTable } from "../../core/workspace/WorkspaceTable.ts"
import { isObject } from "../serve/options.ts"
import { badOption, type HostingOptions, type WorkspaceOption } from "./Options.ts"
import { bad, type Checked, readResources, readScopes, readTrusted } from "./workspaceOptions.ts"

/** A workspace as a host names it, checked. */
export interface ReadWorkspace {
  readonly workspace: Workspace
  readonly movedFrom: Issuer | undefined
}

const decode = Schema.decodeUnknownResult(Workspace, { onExcessProperty: "error" })
const readId = Schema.decodeUnknownResult(WorkspaceId)

/** What of a server bears on all of its workspaces. */
interface HostingServer {
  /** The first segments of its own paths. */
  readonly taken: ReadonlySet<string>
  /** The scopes of a workspace that names none. */
  readonly scopes: ScopeRegistry
  readonly clock: Clock.Clock
}

const readWorkspace = (
  option: string,
  given: WorkspaceOption,
  { scopes: serversScopes, taken }: Pick<HostingServer, "scopes" | "taken">
): Checked<ReadWorkspace> =>
  Result.gen(function* () {
    if (!isObject(given)) return yield* bad(option, "has to be { id, issuer }")
    const { movedFrom, resources, scopes, trustedIssuers, ...about } = given
    const id = readId(about.id)
    if (Result.isFailure(id)) return yield* bad(`${option}.id`, "has to be 1 to 64 letters, digits, - and _")
    const issuer = parseIssuer(about.issuer)
    if (Result.isFailure(issuer)) {
      return yield* bad(
        `${option}.issuer`,
        "has to be an https URL (or http on this machine) without query, fragment or slash at the end"
      )
    }
    const [, segment = ""] = basePath(issuer.success).split("/")
    if (segment !== "" && taken.has(segment)) {
      return yield* bad(`${option}.issuer`, `has a path that is the server's own: /${segment}`)
    }
    const from = movedFrom === undefined ? undefined : parseIssuer(movedFrom)
    if (from !== undefined && Result.isFailure(from)) {
      return yield* bad(`${option}.movedFrom`, "has to be an issuer, as `issuer` is")
    }
    const theme = about.theme === undefined ? undefined : readTheme(about.theme)
    if (theme !== undefined && Result.isFailure(theme))
      return yield* bad(`${option}.theme`, `is refused: ${theme.failure}`)
    const workspace = decode({
      ...about,
      name: about.name ?? new URL(issuer.success).host,
      ...(theme === undefined ? {} : { theme: theme.success })
    })
    if (Result.isFailure(workspace)) {
      return yield* bad(option, `is refused: ${workspace.failure.message.replaceAll(/\s+/g, " ")}`)
    }
    const own = scopes === undefined ? undefined : yield* readScopes(`${option}.scopes`, scopes)
    const registry = own ?? serversScopes
    const listed = resources === undefined ? [] : yield* readResources(`${option}.resources`, resources, registry)
    const found = {
      ...workspace.success,
      ...(own && { scopes: own }),
      ...(listed.length > 0 && { resources: listed })
    }
    return {
      workspace:
        trustedIssuers === undefined
          ? found
          : yield* readTrusted(`${option}.trustedIssuers`, trustedIssuers, found, registry),
      movedFrom: from?.success
    }
  })

/** The workspaces of a host, for whatever is done in each of them. */
export interface HostedWorkspaces {
  readonly layer: Layer.Layer<Workspaces>
  /** Those that there are; of those that a function names, the ones that were asked for lately. */
  readonly each: <E>(act: (workspace: Workspace) => Effect.Effect<void, E>) => Effect.Effect<void, E>
  /** Where a function names them: who is at the host of an issuer, though no request asked for it lately. */
  readonly atHostOf?: (issuer: Issuer) => Effect.Effect<Workspace | undefined, StorageUnavailable>
  readonly mayMove: MayMove
}

/** Several, by address or by name. */
interface SeveralWorkspaces extends HostedWorkspaces {
  /** Whose an address is, where that can be said at once. */
  readonly at: (host: string, path: string) => Workspace | "unknown" | undefined
  /** Throws `BadOption`. */
  readonly named: (which: string | WorkspaceOption) => Workspace
  /** Throws `BadOption`. */
  readonly put: (given: WorkspaceOption) => void
  readonly remove: (id: string) => void
}

const orThrow = <A>(checked: Checked<A>): A => {
  if (Result.isFailure(checked)) throw checked.failure
  return checked.success
}

/** The issuers that workspaces had before, by the very value that the server opens. */
const makeMoves = () => {
  const former = new WeakMap<Workspace, Issuer>()
  const mayMove: MayMove = (from, workspace) => former.get(workspace) === from
  const remember = ({ movedFrom, workspace }: ReadWorkspace): Workspace => {
    if (movedFrom !== undefined) former.set(workspace, movedFrom)
    return workspace
  }
  return { mayMove, remember }
}

const listed = (list: ReadonlyArray<WorkspaceOption>, server: HostingServer): SeveralWorkspaces => {
  const { mayMove, remember } = makeMoves()
  const table = new WorkspaceTable()
  const put = (option: string, given: WorkspaceOption) => {
    const done = table.put(remember(orThrow(readWorkspace(option, given, server))))
    if (Result.isFailure(done)) throw badOption(option, `is refused: ${done.failure.message}`)
  }
  for (const [index, given] of list.entries()) {
    const id = isObject(given) ? readId(given.id) : undefined
    if (id !== undefined && Result.isSuccess(id) && table.get(id.success) !== undefined) {
      throw badOption(`workspaces[${index}].id`, "is another's, too")
    }
    put(`workspaces[${index}]`, given)
  }
  return {
    layer: Workspaces.layerTable(table),
    at: (host, path) => table.find(host, path),
    each: (act) => Effect.forEach([...table.values()], act, { discard: true }),
    mayMove,
    named: (which) => {
      const id = readId(typeof which === "string" ? which : which.id)
      const found = Result.isSuccess(id) ? table.get(id.success) : undefined
      if (found === undefined) throw badOption("for", "has to be the id of one of the workspaces")
      return found
    },
    put: (given) => put("workspaces.put", given),
    remove: (id) => {
      const read = readId(id)
      if (Result.isSuccess(read)) table.remove(read.success)
    }
  }
}

type Resolve = Extract<HostingOptions["workspaces"], { readonly resolve: unknown }>["resolve"]

/** For so long what a host's function said is not asked again. */
const staleness = 5000

const resolved = (resolve: Resolve, server: HostingServer): SeveralWorkspaces => {
  const { mayMove, remember } = makeMoves()
  /** `known`: as it was before. Where nothing changed it is the same value, since caches know it by that. */
  const readOne = (option: string, given: WorkspaceOption | null | undefined, known?: Workspace) => {
    if (given === undefined || given === null) return undefined
    const read = orThrow(readWorkspace(option, given, server))
    return remember(known !== undefined && Equal.equals(read.workspace, known) ? { ...read, workspace: known } : read)
  }
  let waits = false
  /** What the function says at once, so that a host's own requests go on to its app. */
  const atOnce = (header: string): Workspace | "unknown" | undefined => {
    const host = plainHost(header)
    if (host === undefined || waits) return host === undefined ? undefined : "unknown"
    try {
      const given = resolve(host)
      if (!(given instanceof Promise)) return found.say(host, (known) => readOne("workspaces.resolve", given, known))
      waits = true
      // It is asked again, by the request itself, and then what goes wrong is told.
      given.catch(() => undefined)
    } catch {
      return "unknown"
    }
    return "unknown"
  }
  const found = makeFoundWorkspaces({
    clock: server.clock,
    staleness,
    look: (host, known) =>
      Effect.tryPromise({
        try: async () => readOne("workspaces.resolve", await resolve(host), known),
        catch: (cause) => cause
      }).pipe(
        Effect.map((workspace) => ({ workspace, deepest: 0 })),
        Effect.catch((cause) =>
          Effect.andThen(
            Effect.logError("workspaces.resolve failed", cause),
            Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "workspaces.resolve failed" }))
          )
        )
      )
  })
  const fixed = () => badOption("workspaces", "are those that its `resolve` names")
  return {
    layer: Layer.succeed(Workspaces, found),
    at: (host, path) => {
      const known = found.atHand({ headers: { get: (name) => (name === "host" ? host : undefined) }, path })
      return known === undefined ? atOnce(host) : known.workspace
    },
    each: (act) => Effect.forEach(found.known(), act, { discard: true }),
    atHostOf: (issuer) => found.askedAt(addressOf({ issuer }).host),
    mayMove,
    named: (which) => {
      if (typeof which === "string") throw badOption("for", "has to be a workspace, as `resolve` gives one")
      const workspace = readOne("for", which)
      if (workspace === undefined) throw badOption("for", "has to be a workspace, as `resolve` gives one")
      return workspace
    },
    put: () => {
      throw fixed()
    },
    remove: () => {
      throw fixed()
    }
  }
}

/** The one workspace of a host that has no more, whatever host a request came in under. */
export const theOne = ({ movedFrom, workspace }: ReadWorkspace): HostedWorkspaces => ({
  layer: Workspaces.layerOne(workspace),
  each: (act) => act(workspace),
  mayMove: (from) => from === movedFrom
})

/** Throws `BadOption`. */
export const workspacesOf = (workspaces: HostingOptions["workspaces"], server: HostingServer): SeveralWorkspaces => {
  if (Array.isArray(workspaces)) return listed(workspaces, server)
  const given: unknown = isObject(workspaces) && "resolve" in workspaces ? workspaces.resolve : undefined
  if (typeof given !== "function") throw badOption("workspaces", "has to be a list, or { resolve }")
  // Checked just now; what it answers is checked each time. It may be an object of a class, whose method it is.
  const resolve = given as Resolve
  return resolved((host) => resolve.call(workspaces, host), server)
}
