import { expect, test } from "bun:test"
import { once } from "node:events"
import { connect as connectHttp2, constants, createServer } from "node:http2"
import { connect } from "node:net"
import Koa from "koa"
import type { Mount } from "../../core/serve.ts"
import * as ofKoa from "../../runtimes/koa.ts"
import { listening } from "../guard/listening.ts"

const mount: Mount = {
  serve: () => ({ status: 200, headers: [], body: "ok" }),
  routes: [],
  prefix: "",
  owns: () => true
}

/** An app that looks something up while its caller leaves, and only then comes to the mount. */
const busyApp = () => {
  const entered = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const app = new Koa()
  app.use(async (context, next) => {
    const gone = once(context.res, "close")
    entered.resolve()
    await gone
    await next()
    left.resolve()
  })
  app.use(ofKoa.mount(mount))
  return { app, entered: entered.promise, left: left.promise }
}

test("what stands before a Koa mount is not left waiting for a caller who left before it was reached", async () => {
  const { app, entered, left } = busyApp()
  const { port, stop } = await listening(app.callback())
  try {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined)
    socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    await entered
    socket.destroy()
    // Or it waits for ever.
    expect(await left).toBeUndefined()
  } finally {
    await stop()
  }
})

test("nor is it over HTTP/2, where the caller only gives up this one request", async () => {
  const { app, entered, left } = busyApp()
  const server = createServer(app.callback())
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const session = connectHttp2(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`)
  try {
    const stream = session.request({ ":path": "/healthz" }).on("error", () => undefined)
    await entered
    stream.close(constants.NGHTTP2_CANCEL)
    expect(await left).toBeUndefined()
  } finally {
    session.destroy()
    server.close()
  }
})
