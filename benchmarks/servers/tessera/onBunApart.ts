import type { Serve } from "../../../core/serve.ts"
import * as ofBun from "../../../runtimes/bun.ts"
import * as ofFetch from "../../../runtimes/fetch.ts"

/** The listener of the server binary, but for one thing: each request is answered as it comes, without the others. */
export const listen = async (serve: Serve): Promise<number> => {
  const handle = ofFetch.handler(serve)
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    ...ofBun.server(serve),
    fetch: (request, server) => handle(request, () => server.requestIP(request)?.address)
  })
  return server.port ?? 0
}
