import { Elysia } from "elysia"
import { tessera } from "../../../runtimes/elysia.ts"
import type { Mount } from "../../../runtimes/embed/Mount.ts"

export const elysiaApp = (auth: Mount) =>
  new Elysia()
    .onError(({ code, status }) => (code === "NOT_FOUND" ? status(404, "my own 404") : undefined))
    .onRequest(({ set }) => {
      set.headers["x-mine"] = "1"
    })
    .get("/", () => "home")
    .use(tessera(auth))
    .post("/own", ({ body }) => body)
    .get("/users/:id", ({ params }) => params.id)
