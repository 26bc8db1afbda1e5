import { bunServe } from "../../../runtimes/bun.ts"
import { fetchHandler } from "../../../runtimes/fetch.ts"
import type { Serve } from "../../../runtimes/serve/Serve.ts"

/** The listener of the server binary, but for one thing: each request is answered as it comes, without the others. */
export const listen = async (serve: Serve): Promise<number> => {
  const handle = fetchHandler(serve)
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    ...bunServe(serve),
    fetch: (request, server) => handle(request, () => server.requestIP(request)?.address)
  })
  return server.port ?? 0
}
