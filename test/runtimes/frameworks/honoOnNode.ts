import { serve } from "@hono/node-server"
import type { Hono } from "hono"
import type { Embedded } from "./embedded.ts"
import type { Host } from "./Host.ts"
import { honoApp, honoAppParsed } from "./hono.ts"

const on =
  (app: (tessera: Embedded) => Hono): Host =>
  (tessera) =>
    new Promise((resolve) => {
      serve({ fetch: app(tessera).fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => resolve(port))
    })

export const onHono = on(honoApp)
export const onHonoParsed = on(honoAppParsed)
