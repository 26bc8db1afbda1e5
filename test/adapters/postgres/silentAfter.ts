import { connect, createServer, type Socket } from "node:net"
import { Effect } from "effect"

/**
 * The same database by a way that is lost when a client says this: from then on nothing arrives over the connection that
 * said it, in neither direction, and neither side hangs up.
 */
export const silentAfter = Effect.fnUntraced(function* (word: string, url: string) {
  const { hostname, port } = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let silent = false
    client.on("data", (data) => {
      silent ||= data.includes(word)
      if (!silent) upstream.write(data)
    })
    upstream.on("data", (data) => {
      if (!silent) client.write(data)
    })
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on("error", () => undefined)
      socket.on("close", () => {
        client.destroy()
        upstream.destroy()
      })
    }
  })
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      server.close()
      for (const socket of sockets) socket.destroy()
    })
  )
  yield* Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void)))
  const address = server.address()
  const way = new URL(url)
  way.hostname = "127.0.0.1"
  way.port = String(typeof address === "object" ? address?.port : undefined)
  // What is said has to be read.
  way.search = "?sslmode=disable"
  return way.href
})
