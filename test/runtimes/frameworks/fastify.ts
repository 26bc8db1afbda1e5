import { setImmediate } from "node:timers/promises"
import fastify from "fastify"
import * as ofFastify from "../../../runtimes/fastify.ts"
import { principalOf } from "../../../runtimes/guard.ts"
import { needs, see } from "./embedded.ts"
import { type Host, portOf } from "./Host.ts"

/** Behind Fastify's own parsers, and a hook that waits. */
export const onFastifyParsed: Host = async ({ mount }) => {
  const app = fastify()
  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(String(body))))
  )
  app.addHook("preHandler", async () => void (await setImmediate()))
  app.addHook("preHandler", ofFastify.mount(mount))
  await app.listen({ port: 0, host: "127.0.0.1" })
  return portOf(app.server)
}

export const onFastify: Host = async ({ guard, mount }) => {
  const app = fastify()
  app.addHook("onRequest", (request, reply, done) => {
    see(request)
    reply.header("x-mine", "1")
    done()
  })
  app.addHook("onRequest", ofFastify.mount(mount))
  app.get("/", () => "home")
  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(String(body))))
  )
  app.post("/own", ({ body }) => body)
  app.get<{ Params: { id: string } }>("/users/:id", ({ params }) => params.id)
  app.register(
    (shop, _, done) => {
      shop.addHook("onRequest", ofFastify.guard(guard, needs))
      shop.get("/orders", (request) => principalOf(request)?._tag)
      done()
    },
    { prefix: "/shop" }
  )
  app.setNotFoundHandler((_, reply) => reply.status(404).send("my own 404"))
  await app.listen({ port: 0, host: "127.0.0.1" })
  return portOf(app.server)
}
