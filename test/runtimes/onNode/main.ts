import type { HttpResponse } from "../../../core/http/Http.ts"
import { type Serve, serveWith } from "../../../core/serve.ts"
import * as ofNode from "../../../runtimes/node.ts"
import { app } from "../given/app.ts"
import { unsendable } from "./unsendable.ts"

/**
 * The same app as the other runtimes have, in a Node of its own. Says its port, then `began` for a request that waits
 * for a line on standard input, then `closing` and `closed`. Some of its answers are none that Node would send, and for
 * some requests it throws.
 */
const [issuer = "", requestTimeout = "10000", shutdownTimeout = "10000"] = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)

const ordinary = serveWith(app(issuer))
const held: Array<() => void> = []
const answer: HttpResponse = { status: 200, headers: [["content-type", "text/plain"]], body: "held" }
const hold = () =>
  new Promise<HttpResponse>((resolve) => {
    held.push(() => resolve(answer))
    say("began")
  })
const serve: Serve = (request) => {
  if (request.path === "/held") return hold()
  if (request.path === "/throws") throw new Error("the host's own trouble")
  if (request.path === "/rejects") return Promise.reject(new Error("the host's own trouble"))
  const refused = unsendable[request.path]
  if (refused === undefined) return ordinary(request)
  return request.query === "later" ? Promise.resolve(refused) : refused
}

const { server, close } = ofNode.server(serve, { requestTimeout: Number(requestTimeout) })
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  say(String(typeof address === "object" ? address?.port : address))
})
process.stdin.on("data", () => {
  for (const release of held) release()
})
process.on("SIGTERM", () => {
  void close(Number(shutdownTimeout)).then(() => {
    say("closed")
    process.exit(0)
  })
  say("closing")
})
