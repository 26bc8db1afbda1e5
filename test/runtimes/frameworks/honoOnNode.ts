import { serve } from "@hono/node-server"
import type { Host } from "./Host.ts"
import { honoApp } from "./hono.ts"

export const onHono: Host = (tessera) =>
  new Promise((resolve) => {
    serve({ fetch: honoApp(tessera).fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port))
  })
