import { Effect, Layer, type Scope } from "effect"
import { empty } from "../../../core/http/answer.ts"
import type { HttpResponse } from "../../../core/http/Http.ts"
import { Audit } from "../../../core/ports/Audit.ts"
import type { Serve } from "../../../core/serve.ts"
import { version } from "../../command/version.ts"
import { noProxies } from "../../serve/peer.ts"
import type { Onlookers } from "../../server/application.ts"
import type { CannotListen, Listen, ListenOptions } from "../../server/Listen.ts"
import type { RouteOf } from "../routePattern.ts"
import { Meters } from "./Meters.ts"
import { type MeteredServe, meteredServe } from "./meteredServe.ts"
import { meteredAudit, meteredStorage } from "./meteredStorage.ts"

const contentType = ["content-type", "text/plain; version=0.0.4; charset=utf-8"] as const

const notFound: HttpResponse = { status: 404, headers: [["content-type", "text/plain"]], body: "See /metrics\n" }

/** The listener of its own that Prometheus asks. */
const exposing =
  (meters: Meters): Serve =>
  ({ method, path }) => {
    if (path !== "/metrics") return notFound
    if (method !== "GET") return empty(405, [["allow", "GET"]])
    return { status: 200, headers: [contentType], body: meters.exposition() }
  }

/** Milliseconds: no noticeable stall fits between two looks. */
const pause = 50

/** How late timers were, at the worst since the last scrape, in seconds. */
const watchLag = Effect.gen(function* () {
  let due = performance.now() + pause
  let worst = 0
  const look = () => {
    const now = performance.now()
    worst = Math.max(worst, now - due)
    due = now + pause
  }
  const timer = setInterval(look, pause)
  timer.unref()
  yield* Effect.addFinalizer(() => Effect.sync(() => clearInterval(timer)))
  return () => {
    // A scrape may come before the look that is late.
    if (performance.now() > due) look()
    const seconds = worst / 1000
    worst = 0
    return seconds
  }
})

/** What this process is, and what it uses. The names are those that dashboards know. */
export const processMeters = (meters: Meters, version: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.map(watchLag, (lag) => {
    const started = Date.now() / 1000 - process.uptime()
    const runtime = process.versions.bun === undefined ? `node ${process.versions.node}` : `bun ${process.versions.bun}`
    meters.gauge("tessera_build_info", "Always 1: the labels tell what runs.", () => 1, { version, runtime })
    meters.gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss())
    meters.gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", () => started)
    meters.counted("process_cpu_seconds_total", "Processor time used.", () => {
      const { system, user } = process.cpuUsage()
      return (system + user) / 1e6
    })
    meters.gauge("tessera_event_loop_lag_seconds", "How late timers were, at the worst since the last scrape.", lag)
  })

/** A server's meters: what they are put around, and where they are read. */
interface Metering {
  readonly onlookers: (below: Onlookers) => Onlookers
  /** As `limitConcurrency`, counted. */
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
        named: "METRICS",
        serve: exposing(meters),
        trustedProxies: noProxies,
        // A scraper asks again anyway: the time of a shutdown is the public's.
        shutdownTimeout: 0
      })
  })
}
