import { randomInt } from "node:crypto"
import { writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"

/** Redis Cluster's nodes talk to each other on the client port plus this. */
const clusterBusOffset = 10_000

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once("error", () => resolve(false))
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => probe.close(() => resolve(true)))
  })

/** Claims a port for one of the run's programs. */
const isOurs = (port: number): boolean => {
  const claims = process.env.TEST_PORTS
  if (claims === undefined) return true
  try {
    writeFileSync(join(claims, String(port)), "", { flag: "wx" })
    return true
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown && thrown.code === "EEXIST") return false
    throw thrown
  }
}

/**
 * A free port that no other test of this run gets, because a server may take a while to listen and may be restarted.
 * It lies below the system's range for outgoing connections (32768 and up on Linux): otherwise a client of a server
 * that is down could be given that port, connect to itself, and block the server's return.
 */
export const freePort: Effect.Effect<number> = Effect.promise(async () => {
  for (;;) {
    const port = randomInt(10_240, 32_768 - clusterBusOffset)
    if ((await isFree(port)) && (await isFree(port + clusterBusOffset)) && isOurs(port)) return port
  }
})
