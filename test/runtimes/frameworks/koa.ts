import { createServer } from "node:http"
import Koa from "koa"
import * as ofKoa from "../../../runtimes/koa.ts"
import { needs, see } from "./embedded.ts"
import { type Host, portOf } from "./Host.ts"

/** Reads every body that gets this far, as the parsers do that people put in front of their routes. */
const parsed = async (context: Koa.Context): Promise<unknown> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of context.req) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return context.is("json") ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
}

export const onKoa: Host = ({ guard, mount }) => {
  const app = new Koa()
  app.use(async (context, next) => {
    see(context)
    context.set("x-mine", "1")
    if (context.query.cookie !== undefined) context.cookies.set("mine", "1", { httpOnly: false })
    await next()
    // A way to a 404 page that many apps have.
    if (context.status === 404) {
      context.status = 404
      context.body = "my own 404"
    }
  })
  app.use(ofKoa.mount(mount))
  const guarded = ofKoa.guard(guard, needs)
  app.use((context, next) => {
    if (!context.path.startsWith("/shop/")) return next()
    // As routers do it: what is behind sees the rest of the path.
    context.path = context.path.slice("/shop".length)
    return guarded(context, async () => {
      if (context.path === "/orders") context.body = context.state.principal._tag
    })
  })
  app.use(async (context) => {
    const body = context.method === "POST" ? await parsed(context) : undefined
    if (context.path === "/") context.body = "home"
    else if (context.path === "/own") context.body = body
    else if (context.path.startsWith("/users/")) context.body = context.path.slice("/users/".length)
  })
  const server = createServer(app.callback())
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(portOf(server))))
}
