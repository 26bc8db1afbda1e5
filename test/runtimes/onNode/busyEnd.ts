import { once } from "node:events"
import { connect } from "node:net"
import { isMainThread, Worker, workerData } from "node:worker_threads"
import * as ofNode from "../../../runtimes/node.ts"

/** Longer than a server that ends waits for a first request. */
const busyMillis = 150

/** Turns 1 when the server begins to end, and when the request is on its way. */
const endBegan = 0
const requestSent = 1

const reach = (moments: Int32Array, moment: number): void => {
  Atomics.store(moments, moment, 1)
  Atomics.notify(moments, moment)
}

/** A server that begins to end when a client has connected, and then has so much to do that it looks at nothing. */
const server = async () => {
  const moments = new Int32Array(new SharedArrayBuffer(8))
  const made = ofNode.server(() => ({ status: 200, headers: [], body: "fine" }), { requestTimeout: 60_000 })
  made.server.listen(0, "127.0.0.1")
  await once(made.server, "listening")
  const address = made.server.address()
  const connected = once(made.server, "connection")
  const port = typeof address === "object" ? address?.port : undefined
  const caller = new Worker(new URL(import.meta.url), { workerData: { port, moments } })
  const told = once(caller, "exit")
  await connected
  // Behind it Node looks at what is due before it looks at what has come.
  setImmediate(() => {
    void made.close(60_000)
    reach(moments, endBegan)
    Atomics.wait(moments, requestSent, 0)
    Atomics.wait(moments, requestSent, 1, busyMillis)
  })
  await told
}

interface Given {
  readonly port: number
  readonly moments: Int32Array
}

const caller = ({ moments, port }: Given) => {
  const socket = connect(port, "127.0.0.1", () => {
    Atomics.wait(moments, endBegan, 0)
    socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n", () => reach(moments, requestSent))
  })
  socket.on("data", (chunk) => process.stdout.write(chunk))
  socket.on("error", (error) => process.stdout.write(error.message))
}

if (isMainThread) await server()
else caller(workerData)
