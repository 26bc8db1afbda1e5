import { Effect, type Scope } from "effect"
import type { Meters } from "./Meters.ts"

/** Milliseconds: no stall that somebody would notice fits between two looks. */
const pause = 50

/** How late timers were, at the worst since somebody last asked, in seconds. */
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
    // Whoever asks may come before the look that is late.
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
