import { Effect, ManagedRuntime } from "effect"
import { serveWith } from "../Serve.ts"
import { shed } from "../shed.ts"
import { application } from "./application.ts"
import { findSealKeys } from "./findSealKeys.ts"
import type { Listen } from "./Listen.ts"
import { readSettings } from "./Settings.ts"

/** The whole server, from its settings to its last answer: runs until it is interrupted, and then drains. */
export const serve = (listen: Listen) =>
  Effect.gen(function* () {
    const settings = yield* readSettings
    const keys = yield* findSealKeys(settings)
    const runtime = yield* Effect.acquireRelease(
      Effect.sync(() => ManagedRuntime.make(application(settings, keys.ring))),
      (runtime) => runtime.disposeEffect
    )
    yield* runtime.contextEffect
    const { port } = yield* listen({
      host: settings.host,
      port: settings.port,
      serve: shed(serveWith(runtime), settings.requestsAtOnce),
      trustedProxies: settings.trustedProxies,
      requestTimeout: settings.requestTimeout,
      shutdownTimeout: settings.shutdownTimeout
    })
    process.stderr.write(`listening on ${settings.host}:${port}, issuer ${settings.workspace.issuer}\n`)
    yield* Effect.never
  }).pipe(Effect.scoped)
