import type { Context, Layer, ManagedRuntime } from "effect"
import type { Tessera } from "../../../core/http/Tessera.ts"
import type { Storage } from "../../../core/ports/Storage.ts"
import type { Serve } from "../../Serve.ts"
import type { OtlpSettings } from "../ObserveSettings.ts"
import type { RouteOf } from "../routePattern.ts"
import { otlpLayer } from "./otlpLayer.ts"
import { type TracedServe, tracedServe } from "./tracedServe.ts"
import { tracedStorage } from "./tracedStorage.ts"

/** A server's traces, and its log, on their way to a collector. */
export interface Tracing {
  /** Stands on the loggers that are there, and adds one. */
  readonly layer: Layer.Layer<never>
  readonly storage: (below: Storage["Service"]) => Storage["Service"]
  readonly serve: <E>(
    runtime: ManagedRuntime.ManagedRuntime<Tessera, E>,
    services: Context.Context<never>,
    routeOf: RouteOf,
    plain: Serve
  ) => TracedServe
}

export const tracing = (settings: OtlpSettings): Tracing => ({
  layer: otlpLayer(settings),
  storage: tracedStorage,
  serve: (runtime, services, routeOf, plain) =>
    tracedServe(runtime, services, routeOf, plain, () => Math.random() < settings.share)
})
