import { Effect, Layer, type Scope } from "effect"
import { Audit } from "../../../core/ports/Audit.ts"
import { version } from "../../command/version.ts"
import { noProxies } from "../../peer/TrustedProxies.ts"
import type { Serve } from "../../Serve.ts"
import type { Onlookers } from "../../server/application.ts"
import type { CannotListen, Listen, ListenOptions } from "../../server/Listen.ts"
import type { RouteOf } from "../routePattern.ts"
import { exposing } from "./exposing.ts"
import { Meters } from "./Meters.ts"
import { meteredAudit } from "./meteredAudit.ts"
import { type MeteredServe, meteredServe } from "./meteredServe.ts"
import { meteredStorage } from "./meteredStorage.ts"
import { processMeters } from "./processMeters.ts"

/** A server's meters: what they are put around, and where they are read. */
export interface Metering {
  readonly onlookers: (below: Onlookers) => Onlookers
  /** As `shed`, counted. */
  readonly serve: (routeOf: RouteOf, serve: Serve, most: number) => MeteredServe
  /** Never on the public's port. */
  readonly expose: (listen: Listen) => Effect.Effect<unknown, CannotListen, Scope.Scope>
}

export const metering = (
  at: Pick<ListenOptions, "host" | "port" | "requestTimeout">
): Effect.Effect<Metering, never, Scope.Scope> => {
  const meters = new Meters()
  return Effect.as(processMeters(meters, version), {
    onlookers: ({ audit, storage }) => ({
      audit: Layer.effect(
        Audit,
        Effect.map(Audit, (below) => meteredAudit(meters, below))
      ).pipe(Layer.provide(audit)),
      storage: (below) => meteredStorage(meters, storage === undefined ? below : storage(below))
    }),
    serve: (routeOf, serve, most) => meteredServe(meters, routeOf, serve, most),
    expose: (listen) =>
      listen({
        ...at,
        named: "METRICS_",
        serve: exposing(meters),
        trustedProxies: noProxies,
        // Whoever reads asks again anyway: the time of a shutdown is the public's.
        shutdownTimeout: 0
      })
  })
}
