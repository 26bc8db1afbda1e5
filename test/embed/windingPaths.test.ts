import { expect, test } from "bun:test"
import { createServer, type RequestListener } from "node:http"
import express from "express"
import fastify from "fastify"
import Koa from "koa"
import * as ofExpress from "../../runtimes/express.ts"
import * as ofFastify from "../../runtimes/fastify.ts"
import * as ofKoa from "../../runtimes/koa.ts"
import type { EmbeddedTessera } from "../../runtimes/tessera.ts"
import { statusOfRaw } from "../given/statusOfRaw.ts"
import { withHost } from "./host.ts"

/** Each refuses registration, by what stands before the mount. */
const apps: ReadonlyArray<readonly [name: string, start: (auth: EmbeddedTessera) => Promise<RequestListener>]> = [
  [
    "Express",
    async (auth) => {
      const app = express()
      app.use("/oauth/register", (_request, response) => void response.status(403).end())
      return app.use(ofExpress.mount(auth))
    }
  ],
  [
    "Fastify",
    async (auth) => {
      const app = fastify()
      app.addHook("onRequest", async (request, reply) => {
        if (request.url.startsWith("/oauth/register")) return reply.code(403).send()
      })
      app.addHook("onRequest", ofFastify.mount(auth))
      await app.ready()
      return app.routing
    }
  ],
  [
    "Koa",
    async (auth) => {
      const app = new Koa()
      app.use((context, next) => {
        if (!context.path.startsWith("/oauth/register")) return next()
        context.status = 403
        return undefined
      })
      app.use(ofKoa.mount(auth))
      return app.callback()
    }
  ]
]

const body = JSON.stringify({ redirect_uris: ["https://app.example/callback"] })

for (const [name, start] of apps) {
  test(`what ${name} has put before the mount is passed by no path that a URL would read differently`, () =>
    withHost({}, async (auth) => {
      const server = createServer(await start(auth))
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const register = (target: string) =>
        statusOfRaw(
          port,
          `POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`
        )
      try {
        expect(await register("/oauth/register")).toBe(403)
        for (const target of [
          "/x/../oauth/register",
          "/%2e%2e/oauth/register",
          "/x\\..\\oauth\\register",
          "/./oauth/register"
        ]) {
          expect([target, await register(target)]).toEqual([target, 404])
        }
        expect((await auth.clients.list()).items).toEqual([])
      } finally {
        await new Promise((closed) => server.close(closed).closeAllConnections())
      }
    }))
}
