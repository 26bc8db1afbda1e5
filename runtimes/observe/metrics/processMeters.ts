import { Effect, type Scope } from "effect"
import type { Meters } from "./Meters.ts"

const pause = 1000
/** So many looks at the event loop are remembered: what was late between two scrapes is still seen. */
const remembered = 15

/** How late timers were, at the worst of the last moments, in seconds. */
const watchLag = Effect.gen(function* () {
  const late = new Float64Array(remembered)
  let at = 0
  const look = Effect.gen(function* () {
    const start = performance.now()
    yield* Effect.sleep(pause)
    late[at] = Math.max(0, performance.now() - start - pause) / 1000
    at = (at + 1) % remembered
  })
  yield* Effect.forkScoped(Effect.forever(look))
  return () => Math.max(...late)
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
    meters.gauge("tessera_event_loop_lag_seconds", "How late timers were, at the worst of the last 15 seconds.", lag)
  })
