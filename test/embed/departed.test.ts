import { expect, test } from "bun:test"
import { once } from "node:events"
import { connect } from "node:net"
import Koa from "koa"
import type { Mount } from "../../runtimes/embed/Mount.ts"
import { koaMount } from "../../runtimes/node.ts"
import { listening } from "../guard/listening.ts"

const mount: Mount = {
  serve: () => ({ status: 200, headers: [], body: "ok" }),
  routes: [],
  prefix: "",
  owns: () => true
}

test("what stands before a Koa mount is not left waiting for a caller who left before it was reached", async () => {
  const entered = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const app = new Koa()
  app.use(async (context, next) => {
    const gone = once(context.res, "close")
    entered.resolve()
    // It looks something up meanwhile.
    await gone
    await next()
    left.resolve()
  })
  app.use(koaMount(mount))
  const { port, stop } = await listening(app.callback())
  try {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined)
    socket.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    await entered.promise
    socket.destroy()
    // Or it waits for ever.
    expect(await left.promise).toBeUndefined()
  } finally {
    await stop()
  }
})
