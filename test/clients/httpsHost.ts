import { readFileSync } from "node:fs"
import { Effect } from "effect"
import { selfSigned } from "../adapters/selfSigned.ts"
import { documentMembers } from "../given/documentsWeb.ts"

/** An https server of the test's own with JSON at its paths (`*`: at all others), and by which settings or options a server of ours asks it. */
export const httpsHost = Effect.gen(function* () {
  const files = yield* selfSigned()
  const [key, cert] = [readFileSync(files.key, "utf8"), readFileSync(files.cert, "utf8")]
  const pages = new Map<string, object>()
  const asked: Array<string> = []
  let held = { arrived: () => {}, until: Promise.resolve() }
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        tls: { key, cert },
        fetch: async ({ url }) => {
          const { pathname } = new URL(url)
          asked.push(pathname)
          held.arrived()
          await held.until
          const page = pages.get(pathname) ?? pages.get("*")
          return page === undefined ? new Response(null, { status: 404 }) : Response.json(page)
        }
      })
    ),
    (server) => Effect.promise(() => server.stop(true))
  )
  const host = `localhost:${server.port}`
  /** A client's metadata document, whose address is also its `client_id`. */
  const publish = (path: string, members: Readonly<Record<string, unknown>>): string => {
    const address = `https://${host}${path}`
    pages.set(path, { client_id: address, ...documentMembers, ...members })
    return address
  }
  /** From now on requests wait: when the first one is there, and what lets all of them go on. */
  const hold = () => {
    const arrived = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    held = { arrived: arrived.resolve, until: released.promise }
    return { arrived: arrived.promise, release: released.resolve }
  }
  return {
    pages,
    asked,
    host,
    publish,
    hold,
    env: { FETCH_ALLOW: host, FETCH_CA: files.cert },
    fetch: { allow: [host], ca: cert }
  }
})
