import { Hono } from "hono"
import { fetchHandler } from "../../../runtimes/fetch.ts"
import type { Embedded } from "./embedded.ts"

export const honoApp = (tessera: Embedded): Hono => {
  const app = new Hono()
  const handle = fetchHandler(tessera.serve)
  app.get("/", (c) => c.text("home"))
  app.use(async (c, next) => {
    if (!tessera.owns(new URL(c.req.raw.url).pathname)) return next()
    return handle(c.req.raw, () => "127.0.0.1")
  })
  app.post("/own", async (c) =>
    c.json(c.req.header("content-type") === "application/json" ? await c.req.json() : await c.req.parseBody())
  )
  app.get("/users/:id", (c) => c.text(c.req.param("id")))
  app.notFound((c) => c.text("my own 404", 404))
  return app
}
