import { Elysia } from "elysia"
import * as ofElysia from "../../../runtimes/elysia.ts"
import { type Embedded, needs, see } from "./embedded.ts"

export const elysiaApp = ({ guard, mount }: Embedded) =>
  new Elysia()
    .onError(({ code, status }) => (code === "NOT_FOUND" ? status(404, "my own 404") : undefined))
    .onRequest(({ request, set }) => {
      see(request)
      set.headers["x-mine"] = "1"
    })
    .get("/", () => "home")
    .use(ofElysia.mount(mount))
    .post("/own", ({ body }) => body)
    .get("/users/:id", ({ params }) => params.id)
    .group("/shop", (shop) =>
      shop.resolve(ofElysia.guard(guard, needs)).get("/orders", ({ principal }) => principal._tag)
    )
