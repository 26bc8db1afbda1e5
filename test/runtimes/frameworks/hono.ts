import { Hono } from "hono"
import type { Mount } from "../../../runtimes/embed/Mount.ts"
import { honoMount } from "../../../runtimes/fetch.ts"

export const honoApp = (tessera: Mount): Hono => {
  const app = new Hono()
  app.use(async (c, next) => {
    await next()
    c.header("x-mine", "1")
  })
  app.get("/", (c) => c.text("home"))
  app.use(honoMount(tessera))
  app.post("/own", async (c) =>
    c.json(c.req.header("content-type") === "application/json" ? await c.req.json() : await c.req.parseBody())
  )
  app.get("/users/:id", (c) => c.text(c.req.param("id")))
  app.notFound((c) => c.text("my own 404", 404))
  return app
}
