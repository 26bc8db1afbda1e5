import { Context, Effect, Layer, ManagedRuntime, Option } from "effect"
import { note } from "../../core/engine/AuditContext.ts"
import { comeBackSoon } from "../../core/http/answer.ts"
import { LimitSharing } from "../../core/limits/SharedLimiter.ts"
import { Accounts } from "../../core/people/Accounts.ts"
import { finishRemovals, tellRevoked } from "../../core/people/removal.ts"
import type { AuditEvent } from "../../core/ports/Audit.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { serveWith } from "../../core/serve.ts"
import { Tessera } from "../../core/Tessera.ts"
import type { WorkspaceId } from "../../core/workspace/Workspace.ts"
import type { OnHangUp } from "../observe/audit.ts"
import type { Tracing } from "../observe/otlp/tracing.ts"
import { routeOf } from "../observe/routePattern.ts"
import { limitConcurrency, requestsAtOnce } from "../serve/limitConcurrency.ts"
import { noProxies } from "../serve/peer.ts"
import { application, type Onlookers } from "./application.ts"
import { auditOf } from "./auditLog.ts"
import { banner, hasOpenAccess, openAccessAdvice, openAccessWarning } from "./banner.ts"
import { firstAccount } from "./firstAccount.ts"
import { Hosted } from "./hosting.ts"
import { housekeeping, inEach } from "./housekeeping.ts"
import type { Listen } from "./Listen.ts"
import { accessLog, type LogFormat, logging } from "./logging.ts"
import { findSealKeys, warnOfReaders } from "./SealKeyFile.ts"
import { readSettingsToStart, type Settings } from "./Settings.ts"
import { LogLines, logsWarnings, standardError } from "./standardError.ts"
import { onUntrustedProxy } from "./untrustedProxy.ts"

/** What the platform knows of the program's surroundings. */
export interface Surroundings {
  readonly listen: Listen
  /** Whether a person reads the log as it is written. */
  readonly interactive: boolean
  readonly print: (text: string) => void
  /** Whether an operator may ask for files to be opened anew (SIGHUP). */
  readonly onHangUp?: OnHangUp
}

/** Loaded only where it is wanted: what is off costs nothing. */
const whereMetered = ({ observe, requestTimeout }: Settings) =>
  Option.match(observe.metrics, {
    onNone: () => Effect.succeed(undefined),
    onSome: (at) =>
      Effect.flatMap(
        Effect.promise(() => import("../observe/metrics/metering.ts")),
        ({ metering }) => metering({ ...at, requestTimeout })
      )
  })

const whereTraced = ({ observe }: Settings) =>
  Option.match(observe.otlp, {
    onNone: () => Effect.succeed(undefined),
    onSome: (to) =>
      Effect.map(
        Effect.promise(() => import("../observe/otlp/tracing.ts")),
        ({ tracing }) => tracing(to)
      )
  })

const starting = comeBackSoon("The server is starting.")

/**
 * Looked at before the workspace is opened: that takes it from another address of this machine, whose server answers for it
 * no more, and a start that then found no port would leave none that does.
 */
const portIsFree = ({ host, port, requestTimeout }: Settings, listen: Listen) =>
  Effect.scoped(
    listen({ host, port, serve: () => starting, trustedProxies: noProxies, requestTimeout, shutdownTimeout: 0 })
  )

const running = Effect.fnUntraced(function* (
  settings: Settings,
  log: Layer.Layer<never>,
  tracing: Tracing | undefined,
  { listen, onHangUp, print }: Surroundings
) {
  yield* logsWarnings
  const keys = yield* findSealKeys(settings)
  yield* warnOfReaders(settings)
  const metering = yield* whereMetered(settings)
  const audit = auditOf(settings.observe.audit, onHangUp)
  const plain: Onlookers = tracing === undefined ? { audit } : { audit, storage: tracing.storage }
  const onlookers = metering === undefined ? plain : metering.onlookers(plain)
  const runtime = yield* Effect.acquireRelease(
    // Requests log as the server does.
    Effect.sync(() => ManagedRuntime.make(application(settings, keys.ring, onlookers).pipe(Layer.provideMerge(log)))),
    (runtime) => runtime.disposeEffect
  )
  const context = yield* runtime.contextEffect
  const { open, routes, services } = Context.get(context, Tessera)
  // Before the public's listener, so that it ends after it: a shutdown can be watched, and begins where requests come in.
  if (metering !== undefined) yield* metering.expose(listen)
  yield* portIsFree(settings, listen)
  yield* open(settings.workspace)
  const accounts = Context.get(context, Accounts)
  const noteIn = (workspace: WorkspaceId, event: AuditEvent) =>
    note(services.audit, { workspace, requestId: "server" }, event)
  const setUpLink = yield* firstAccount(settings, accounts, (event) => noteIn(settings.workspace.id, event))
  const hosted = Context.get(context, Hosted)
  yield* hosted.warm
  // Before the storage is closed, and after the last request: what was used is noted.
  yield* Effect.addFinalizer(() => Effect.ignore(services.usage.flush, { log: "Warn" }))

  const find = routeOf(routes, Context.get(context, Workspaces).resolve)
  const traced = tracing?.serve(runtime, context, find, serveWith(runtime))
  const serving = traced?.serve ?? serveWith(runtime)
  const metered = metering?.serve(find, serving, requestsAtOnce)
  const answering = metered?.serve ?? limitConcurrency(serving, requestsAtOnce)
  const noted = settings.accessLog
    ? accessLog(answering, (access, answer) => {
        const span = traced?.spanOf(answer)
        const line = Effect.logInfo("request", access)
        runtime.runFork(span === undefined ? line : Effect.withParentSpan(line, span))
      })
    : undefined
  if (hasOpenAccess(settings)) yield* Effect.logWarning(`${openAccessWarning}. ${openAccessAdvice}`)
  const onUntrusted = yield* onUntrustedProxy(services.storage, settings.workspace.id, runtime.runFork)
  const { port } = yield* listen({
    host: settings.host,
    port: settings.port,
    ...(Option.isSome(settings.tls) ? { tls: settings.tls.value } : {}),
    serve: noted?.serve ?? answering,
    onEarlyAnswer: (request, answer) => {
      metered?.onEarlyAnswer(request, answer)
      noted?.onEarlyAnswer(request, answer)
    },
    trustedProxies: { ...settings.trustedProxies, onUntrusted },
    requestTimeout: settings.requestTimeout,
    shutdownTimeout: settings.shutdownTimeout
  })
  const said = banner(settings, port, keys, setUpLink)
  // Where standard output is the audit stream, it holds nothing else.
  if (settings.observe.audit._tag === "Stream") process.stderr.write(said)
  else print(said)
  return yield* housekeeping({
    storage: Context.get(context, Storage),
    usage: services.usage,
    limits: Context.get(context, LimitSharing),
    follow: hosted.follow,
    shareFailures: accounts.shareFailures,
    clearRoom: inEach(hosted, ({ id }) => services.clientRoom.clear(id)),
    keepSigningKeys: inEach(hosted, (workspace) =>
      Effect.flatMap(currentInstant, (now) => services.signing.keep(workspace, now))
    ),
    deliverKnown: services.logouts.deliverKnown,
    deliverLogouts: inEach(hosted, services.logouts.deliver),
    finishRemovals: inEach(hosted, (workspace) =>
      finishRemovals(
        accounts,
        tellRevoked(services, (grant, why) => noteIn(workspace.id, { _tag: "GrantRevoked", grant, why })),
        workspace
      )
    )
  })
})

/** The whole server, from its settings to its last answer: runs until it is interrupted, and then drains. */
export const serve = (surroundings: Surroundings) =>
  Effect.gen(function* () {
    const settings = yield* readSettingsToStart
    const format: LogFormat = surroundings.interactive ? "pretty" : "json"
    const tracing = yield* whereTraced(settings)
    // A person at a terminal sees each line before anything else happens.
    const plain = surroundings.interactive ? logging(format) : Layer.merge(logging(format), standardError(format))
    // Built once, for the server and for its requests.
    const log = yield* Layer.build(
      // The exporter is a logger, so lines that are written past the logger would not be exported.
      tracing === undefined
        ? plain
        : Layer.mergeAll(Layer.provideMerge(tracing.layer, plain), Layer.succeed(LogLines, undefined))
    )
    return yield* running(settings, Layer.succeedContext(log), tracing, surroundings).pipe(
      Effect.scoped,
      Effect.provide(log)
    )
  }).pipe(Effect.scoped)
