import { Hono } from "hono"
import * as ofHono from "../../../runtimes/hono.ts"
import { type Embedded, needs, see } from "./embedded.ts"

/** Behind middleware that looks into every body, in whichever way it comes. */
export const honoAppParsed = ({ mount }: Embedded): Hono =>
  new Hono()
    .use(async ({ req }, next) => {
      if (req.method !== "GET") {
        if (req.header("content-type") === "application/json") await req.json()
        else if (req.header("x-read") === "raw") await req.raw.text()
        else await req.parseBody()
      }
      await next()
    })
    .use(ofHono.mount(mount))

export const honoApp = ({ guard, mount }: Embedded): Hono => {
  const app = new Hono()
  app.use(async (c, next) => {
    see(c)
    await next()
    c.header("x-mine", "1")
  })
  app.get("/", (c) => c.text("home"))
  app.use(ofHono.mount(mount))
  app.post("/own", async (c) =>
    c.json(c.req.header("content-type") === "application/json" ? await c.req.json() : await c.req.parseBody())
  )
  app.get("/users/:id", (c) => c.text(c.req.param("id")))
  const shop = new Hono<{ Variables: ofHono.GuardVariables }>().use(ofHono.guard(guard, needs))
  app.route(
    "/shop",
    shop.get("/orders", (c) => c.text(c.get("principal")._tag))
  )
  app.notFound((c) => c.text("my own 404", 404))
  return app
}
