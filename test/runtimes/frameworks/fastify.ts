import fastify from "fastify"
import { fastifyMount } from "../../../runtimes/node.ts"
import { type Host, portOf } from "./Host.ts"

export const onFastify: Host = async (tessera) => {
  const app = fastify()
  app.addHook("onRequest", (_, reply, done) => {
    reply.header("x-mine", "1")
    done()
  })
  app.addHook("onRequest", fastifyMount(tessera))
  app.get("/", () => "home")
  app.addContentTypeParser("application/x-www-form-urlencoded", { parseAs: "string" }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(String(body))))
  )
  app.post("/own", ({ body }) => body)
  app.get<{ Params: { id: string } }>("/users/:id", ({ params }) => params.id)
  app.setNotFoundHandler((_, reply) => reply.status(404).send("my own 404"))
  await app.listen({ port: 0, host: "127.0.0.1" })
  return portOf(app.server)
}
