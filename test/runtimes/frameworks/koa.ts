import { createServer } from "node:http"
import Koa from "koa"
import { middleware } from "./draft.ts"
import { type Host, portOf } from "./Host.ts"

/** Reads every body that gets this far, as the parsers do that people put in front of their routes. */
const parsed = async (context: Koa.Context): Promise<unknown> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of context.req) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  return context.is("json") ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text))
}

export const onKoa: Host = (tessera) => {
  const app = new Koa()
  const mount = middleware(tessera)
  app.use(async (context, next) => {
    context.set("x-mine", "1")
    await next()
  })
  app.use(
    (context, next) =>
      new Promise<void>((resolve, reject) => {
        context.respond = false
        context.res.once("close", resolve)
        mount(context.req, context.res, () => {
          context.respond = true
          next().then(resolve, reject)
        })
      })
  )
  app.use(async (context) => {
    const body = context.method === "POST" ? await parsed(context) : undefined
    if (context.path === "/") context.body = "home"
    else if (context.path === "/own") context.body = body
    else if (context.path.startsWith("/users/")) context.body = context.path.slice("/users/".length)
    else context.throw(404, "my own 404")
  })
  app.silent = true
  const server = createServer(app.callback())
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(portOf(server))))
}
