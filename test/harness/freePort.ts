import { randomInt } from "node:crypto"
import { writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"

/** Redis Cluster talks to its peers on the port this far above the one for clients. */
const clusterBusOffset = 10_000

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once("error", () => resolve(false))
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => probe.close(() => resolve(true)))
  })

/** Of several programs of one run that ask at once, and of all that ask later, one is given a port. */
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
 * A port that nobody listens on, and that no other test of this run is given: a server takes a while until it listens,
 * and may be killed and started again. It lies below the range from which systems take ports for outgoing connections
 * (32768 and up on Linux): otherwise a client that tries to reach a server that is down may be given that server's own
 * port, connect to itself, and keep the server from coming back.
 */
export const freePort: Effect.Effect<number> = Effect.promise(async () => {
  for (;;) {
    const port = randomInt(10_240, 32_768 - clusterBusOffset)
    if ((await isFree(port)) && (await isFree(port + clusterBusOffset)) && isOurs(port)) return port
  }
})
