import { Clock, Effect, Redacted } from "effect"
import { layer as postgres } from "../../adapters/postgres/Postgres.ts"
import { layer as redis } from "../../adapters/redis/Redis.ts"
import { stoppedClock } from "../../core/testing/stoppedClock.ts"
import { createTessera } from "../../runtimes/tessera.ts"
import { options } from "../embed/host.ts"

/** What this program is told, as JSON in its one argument. */
export interface DevicesHost {
  readonly databaseUrl: string
  readonly issuer: string
  /** What its clock shows at first. */
  readonly now: number
}

const { databaseUrl, issuer, now }: DevicesHost = JSON.parse(process.argv[2] ?? "{}")

let shown = now
const clock: Clock.Clock = {
  ...stoppedClock(Effect.runSync(Clock.Clock), now),
  currentTimeMillisUnsafe: () => shown,
  currentTimeMillis: Effect.sync(() => shown)
}

/**
 * A host with people by cookie and a tenth of all limits. `x-peer` says where a request comes from, `/later` moves the
 * clock, and `/housekeep` does the chores: among them, telling other processes what was taken of the limits.
 */
const auth = createTessera(
  options({
    issuer,
    storage: databaseUrl.startsWith("redis:")
      ? redis({ url: databaseUrl })
      : postgres({ url: Redacted.make(databaseUrl) }),
    rateLimits: { factor: 0.1 },
    housekeeping: false,
    clock
  })
)
await auth.ready()
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname === "/later") shown += Number(searchParams.get("by"))
    else if (pathname === "/housekeep") await auth.housekeep()
    else return auth.handle(request, () => request.headers.get("x-peer") ?? undefined)
    return new Response()
  }
})
process.stdout.write(`${server.port}\n`)
