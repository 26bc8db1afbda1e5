import { Cause, Clock, Context, Effect, Exit, Layer, ManagedRuntime, References, Result } from "effect"
import * as documents from "../../adapters/documents/Documents.ts"
import { layer as signatures } from "../../adapters/jose/Signatures.ts"
import * as fetchedKeys from "../../core/engine/FetchedKeys.ts"
import { type Endpoint, endpointName } from "../../core/http/Route.ts"
import { safeReturnUrl } from "../../core/http/returnUrl.ts"
import { LimitSharing, limitsOf } from "../../core/limits/SharedLimiter.ts"
import { companiesEndpoint } from "../../core/oauth/endpoints/companies.ts"
import { livenessEndpoint, readinessEndpoint } from "../../core/oauth/endpoints/health.ts"
import { openApiEndpoint } from "../../core/oauth/endpoints/openapi.ts"
import { endpoints } from "../../core/oauth/endpoints/table.ts"
import { rowsByName } from "../../core/oauth/rowsByName.ts"
import { Audit } from "../../core/ports/Audit.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { claimScopes } from "../../core/rules/Claims.ts"
import { settingsEndpoints } from "../../core/settings/settingsEndpoints.ts"
import { Tessera } from "../../core/Tessera.ts"
import { Keys } from "../../core/token/KeyRing.ts"
import { type Handler, handler } from "../fetch/handler.ts"
import { type Guard, localGuard } from "../guard/Check.ts"
import type { Log } from "../serve/defect.ts"
import "../serve/platformHashing.ts"
import { type Mount, mountOf, mountOfMany, serveWith } from "../../core/serve.ts"
import { basePath, type Workspace } from "../../core/workspace/Workspace.ts"
import { type Administration, auditContextAt } from "./Administration.ts"
import { type ApiKeysApi, apiKeysApi } from "./apiKeys.ts"
import { choresOf } from "./chores.ts"
import { type ClientsApi, clientsApi } from "./clients.ts"
import { type GrantsApi, grantsApi } from "./grants.ts"
import { hostOwner } from "./hostOwner.ts"
import { type LateStorage, lateStorage } from "./lateStorage.ts"
import { serveNative } from "./nativeRequest.ts"
import { badOption, type CreateOptions, type Extra, type HostingOptions, type WorkspaceOption } from "./Options.ts"
import { isHosting, type Read, readOptions } from "./readOptions.ts"
import { type HostedWorkspaces, type ReadWorkspace, theOne, workspacesOf } from "./workspaces.ts"

/** What a host looks after in a workspace. */
export interface WorkspaceTessera {
  /** What people allowed applications. */
  readonly grants: GrantsApi
  /** The applications. */
  readonly clients: ClientsApi
  /** The workspace's own keys. */
  readonly apiKeys: ApiKeysApi
  readonly issuer: string
  /**
   * For your sign-in page, once the person is signed in: the way back as it was asked for, if that is a path of the
   * authorization server, and otherwise `otherwise` ("/" by default). It is never a redirect to elsewhere.
   */
  readonly returnTo: (asked: string | null | undefined, otherwise?: string) => string
  /**
   * Opens the storage now, not with the first request that needs it, and rejects where that fails, or with `OtherIssuer`
   * where the storage is that of another issuer.
   */
  readonly ready: () => Promise<void>
}

/** What a host does with the whole server. */
interface Running extends Mount, Guard {
  /** Answers a web `Request`. What is not Tessera's gets 404: ask `owns` first, or use the `mount` of your framework's entry. */
  readonly handle: (request: Request, peer?: () => string | null | undefined) => Promise<Response>
  /** One round of the chores, for hosts without timers: removes what has expired, notes what was used. */
  readonly housekeep: () => Promise<void>
  /** Tells applications of sessions that ended, where that is due: for hosts without timers, after a request, say. */
  readonly deliver: () => Promise<void>
  /**
   * Stops the chores, keeps what was noted, closes the storage. What comes later is answered with 503. Another call
   * waits for the same end.
   */
  readonly close: () => Promise<void>
}

/** An authorization server inside a host's own process. Nothing in it waits for `ready()`. */
export interface EmbeddedTessera extends Running, WorkspaceTessera {
  readonly prefix: string
}

/** One of several workspaces. */
export interface HostingTessera extends Running {
  /**
   * A workspace by its id, or, where `resolve` names them, as that does: its applications, grants and keys. Throws
   * `BadOption` where there is none.
   */
  readonly for: (workspace: string | WorkspaceOption) => WorkspaceTessera
  /** Adds a workspace to the list, or changes the one with its id: from the next request on. Throws `BadOption`. */
  readonly put: (workspace: WorkspaceOption) => void
  /** Takes a workspace off the list: it is answered for no more. Its records stay. */
  readonly remove: (id: string) => void
  /** Opens the storage now, and rejects where that fails. */
  readonly ready: () => Promise<void>
}

const policyLayer = (registration: Read["registration"]) => {
  if (registration === "open") return RegistrationPolicy.layerOpen
  return registration === "closed" ? RegistrationPolicy.layerClosed : RegistrationPolicy.layerToken(registration)
}

const registrationLayer = ({ clientDocuments, registration }: Read) =>
  clientDocuments === undefined
    ? policyLayer(registration)
    : RegistrationPolicy.withDocuments(policyLayer(registration), clientDocuments)

/** A host's function cannot fail a request: it isn't waited for, and what it throws is logged. */
const auditLayer = (audit: CreateOptions["audit"]) =>
  audit === undefined
    ? Audit.layerNone
    : Layer.succeed(Audit, {
        record: (entry) =>
          Effect.asVoid(
            Effect.forkDetach(
              Effect.tryPromise({ try: async () => audit(entry), catch: (cause) => cause }).pipe(
                Effect.catch((cause) => Effect.logError("audit failed", cause))
              ),
              { startImmediately: true }
            )
          )
      })

/** What is served only where it is asked for. */
const endpointsOf: { readonly [extra in Extra]: ReadonlyArray<Endpoint> } = {
  settings: settingsEndpoints({ accountsElsewhere: true }).filter(({ path }) => path !== "/"),
  home: [],
  health: [livenessEndpoint, readinessEndpoint],
  openapi: [openApiEndpoint],
  example: [companiesEndpoint]
}

/** The home page leads to settings only where those are served too. */
const homeOf = (wanted: ReadonlyArray<Extra>): ReadonlyArray<Endpoint> =>
  wanted.includes("home")
    ? settingsEndpoints({ accountsElsewhere: true, homeOnly: !wanted.includes("settings") }).filter(
        ({ path }) => path === "/"
      )
    : []

/** The host's own endpoints, the extras that it asked for, and the protocol's. Throws `BadOption` where two share a path. */
const endpointsFor = (options: CreateOptions | HostingOptions): ReadonlyArray<Endpoint> => {
  const wanted = options.extras ?? []
  const extra = new Set(Object.values(endpointsOf).flat())
  const all = [
    ...(options.endpoints ?? []),
    ...homeOf(wanted),
    ...[...new Set(wanted)].flatMap((one) => endpointsOf[one]),
    ...endpoints.filter((endpoint) => !extra.has(endpoint))
  ]
  const unique = rowsByName("endpoints", all, endpointName)
  if (Result.isFailure(unique)) throw badOption("endpoints", `has ${unique.failure.name}, which is served already`)
  return all
}

const logLevel = { all: "Info", problems: "Warn", none: "None" } as const

/** The store, and whether it is open yet. */
class Late extends Context.Service<Late, LateStorage>()("tessera/runtimes/embed/Late") {}

/** The same layers that a host composes who writes Effect. None of them waits for anything. */
const layerOf = (
  options: CreateOptions | HostingOptions,
  read: Read,
  served: ReadonlyArray<Endpoint>,
  workspaces: HostedWorkspaces
) => {
  const wanted = options.extras ?? []
  const clock = options.clock === undefined ? Layer.empty : Layer.succeed(Clock.Clock, options.clock)
  const late = Layer.effect(Late, lateStorage(read.storage))
  const storage = Layer.effect(
    Storage,
    Effect.map(Late, ({ storage }) => storage)
  )
  return Tessera.layer({
    policy: read.policy,
    claimScopes: [...claimScopes, ...read.claims],
    endpoints: served,
    mayMove: workspaces.mayMove
  }).pipe(
    Layer.provideMerge(limitsOf(options.rateLimits ?? true)),
    Layer.provideMerge(storage),
    Layer.provideMerge(late),
    Layer.provide(Layer.provideMerge(fetchedKeys.layer, documents.layer(read.fetch))),
    Layer.provide([
      Entropy.layer,
      Keys.layer(read.ring),
      signatures,
      hostOwner(options.owner, [...new Set(read.claims.flatMap(({ claims }) => claims))]),
      auditLayer(options.audit),
      registrationLayer(read),
      Pages.layer(read.theme, read.ownPages, wanted.includes("settings")),
      workspaces.layer
    ]),
    Layer.provideMerge(clock),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, logLevel[options.log ?? "problems"]))
  )
}

/** Only this server ends what was asked of it, and how far it had got is unknown. */
const closedMeanwhile = () =>
  new StorageUnavailable({ outcome: "unknown", message: "the server was closed while this was under way" })

/** The first segments of the server's own paths, where no workspace may be. */
const segmentsOf = (served: ReadonlyArray<Endpoint>): ReadonlySet<string> =>
  new Set(served.map(({ path }) => path.split("/")[1] ?? ""))

const checkedOptions = (options: CreateOptions | HostingOptions): Read => {
  const checked = readOptions(options)
  if (Result.isFailure(checked)) throw checked.failure
  return checked.success
}

/** The server itself, with what is to be had of it for one workspace. */
const start = (
  options: CreateOptions | HostingOptions,
  read: Read,
  served: ReadonlyArray<Endpoint>,
  workspaces: HostedWorkspaces
) => {
  const runtime = ManagedRuntime.make(layerOf(options, read, served, workspaces))
  const tessera = runtime.runSync(Tessera)
  const { services, routes } = tessera
  let closing: Promise<void> | undefined
  const run = async <A, E>(effect: Effect.Effect<A, E>): Promise<A> => {
    if (closing !== undefined) throw new StorageUnavailable({ outcome: "not_done", message: "the server is closed" })
    const exit = await runtime.runPromiseExit(effect)
    if (Exit.isSuccess(exit)) return exit.value
    throw Cause.hasInterruptsOnly(exit.cause) ? closedMeanwhile() : Cause.squash(exit.cause)
  }

  const late = runtime.runSync(Late)
  const chores = choresOf({ services, late, limits: runtime.runSync(LimitSharing), hosted: workspaces })
  if (options.housekeeping !== false) runtime.runFork(chores.always(options.clock))

  const shutDown = async () => {
    if (late.isOpen()) await runtime.runPromise(chores.last)
    await runtime.dispose()
  }

  const serve = serveWith(runtime)
  const log: Log = (entry) => void runtime.runFork(entry)
  const answer: Handler = (request, peer) => handler(serveNative(serve, request), log)(request, peer)

  const of = (workspace: Workspace): WorkspaceTessera => {
    /** What the host does itself is done in no storage of another issuer's either. */
    const runOpened = <A, E>(effect: Effect.Effect<A, E>) => run(Effect.andThen(tessera.open(workspace), effect))
    const auditContext = auditContextAt(workspace)
    const administration: Administration = {
      services,
      workspace,
      auditContext,
      scan: late.scan,
      run: runOpened,
      steps: (body) => runOpened(Effect.gen(body))
    }
    return {
      grants: grantsApi(administration),
      clients: clientsApi(administration),
      apiKeys: apiKeysApi(administration),
      issuer: workspace.issuer,
      returnTo: (asked, otherwise = "/") => safeReturnUrl(workspace, asked ?? undefined, otherwise),
      ready: async () => {
        await run(Effect.andThen(late.open, tessera.open(workspace)))
      }
    }
  }
  const whole = {
    log,
    handle: async (request: Request, peer?: () => string | null | undefined) => answer(request, peer),
    housekeep: () => run(chores.once),
    deliver: () => run(chores.deliver),
    close: () => {
      closing ??= shutDown()
      return closing
    }
  }
  const guardBy = (several: boolean) => localGuard((request, needs) => run(tessera.guard(request, needs)), { several })
  return { guardBy, late, of, routes, run, serve, whole }
}

const embedded = (options: CreateOptions, read: Read, one: ReadWorkspace): EmbeddedTessera => {
  const { workspace } = one
  const { guardBy, of, routes, serve, whole } = start(options, read, endpointsFor(options), theOne(one))
  const mount = mountOf(serve, workspace, routes)
  return { ...mount, prefix: basePath(workspace.issuer), ...whole, ...guardBy(false), ...of(workspace) }
}

const hosting = (options: HostingOptions, read: Read): HostingTessera => {
  const served = endpointsFor(options)
  const clock = options.clock ?? Effect.runSync(Clock.Clock)
  const server = { taken: segmentsOf(served), scopes: read.policy.scopes, clock }
  const workspaces = workspacesOf(options.workspaces, server)
  const { guardBy, late, of, routes, run, serve, whole } = start(options, read, served, workspaces)
  return {
    ...mountOfMany(serve, workspaces.at, routes),
    ...whole,
    ...guardBy(true),
    for: (which) => of(workspaces.named(which)),
    put: workspaces.put,
    remove: workspaces.remove,
    ready: () => run(Effect.asVoid(late.open))
  }
}

/**
 * An authorization server for a host that writes promises. Made at once, without waiting; throws `BadOption`, which
 * names the option, and nothing else.
 */
export function createTessera(options: CreateOptions): EmbeddedTessera
/** The same for several workspaces, told apart by host and path. */
export function createTessera(options: HostingOptions): HostingTessera
/** Either. Where none of the three takes what is given, the compiler says by the last what is wrong with it. */
export function createTessera(options: CreateOptions | HostingOptions): EmbeddedTessera | HostingTessera
export function createTessera(options: CreateOptions | HostingOptions): EmbeddedTessera | HostingTessera {
  const read = checkedOptions(options)
  if (isHosting(options)) return hosting(options, read)
  // `readOptions` has read the one workspace wherever there are not several.
  return embedded(options, read, read.one as ReadWorkspace)
}
