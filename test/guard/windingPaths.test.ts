import { describe, expect, test } from "bun:test"
import express from "express"
import fastify from "fastify"
import Koa from "koa"
import * as ofExpress from "../../runtimes/express.ts"
import * as ofFastify from "../../runtimes/fastify.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import type { Guard } from "../../runtimes/guard.ts"
import * as ofKoa from "../../runtimes/koa.ts"
import { machine } from "../embed/host.ts"
import { statusOfRaw } from "../given/statusOfRaw.ts"
import { listening, type Running } from "./listening.ts"
import { withRemote } from "./remote.ts"

const needs = { scopes: ["api"] }

/** Each answers everything below `/files`, by the path as it was sent: their routers fold nothing away. */
const routers: ReadonlyArray<readonly [name: string, start: (guard: Guard) => Promise<Running>]> = [
  [
    "Express",
    (guard) =>
      listening(express().use("/files", ofExpress.guard(guard, needs), (_request, response) => response.end("in")))
  ],
  [
    "Fastify",
    async (guard) => {
      const app = fastify()
      app.get("/files/*", { onRequest: ofFastify.guard(guard, needs) }, () => "in")
      await app.listen({ port: 0, host: "127.0.0.1" })
      return { port: Number(new URL(app.listeningOrigin).port), stop: () => app.close() }
    }
  ],
  [
    "Koa",
    (guard) => {
      const app = new Koa()
      app.use((context, next) => (context.path.startsWith("/files/") ? next() : undefined))
      app.use(ofKoa.guard(guard, needs))
      app.use((context) => {
        context.body = "in"
      })
      return listening(app.callback())
    }
  ]
]

const statusOf = (port: number, target: string, token: string): Promise<number> =>
  statusOfRaw(port, `GET ${target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`)

/** Below `/files` for a router, and `/orders` for a URL. */
const winding = [
  "/files/../orders",
  "/files/%2e%2e/orders",
  "/files/.%2E/orders",
  "/files/..\\orders",
  "/files/x\\..\\../../orders",
  "/files/./../orders?page=2",
  "http://x/files/../orders"
]

describe("a token for one resource", () => {
  for (const [name, start] of routers) {
    test(`opens nothing else by a path that ${name} and a URL read differently`, () =>
      withRemote({}, async ({ auth, guard, resource }) => {
        const { token } = await machine(auth)
        const [orders, files, all] = [
          await token(`${resource}/orders`),
          await token(`${resource}/files`),
          await token()
        ]
        for (const one of [auth, guard]) {
          const app = await start(one)
          try {
            for (const target of winding) {
              expect([target, await statusOf(app.port, target, orders)]).toEqual([target, 401])
              expect([target, await statusOf(app.port, target, all)]).toEqual([target, 200])
            }
            for (const target of ["/files/a", "/files/..a/.b/c..", "/files/%2fx"]) {
              expect([target, await statusOf(app.port, target, files)]).toEqual([target, 200])
              expect([target, await statusOf(app.port, target, orders)]).toEqual([target, 401])
            }
          } finally {
            await app.stop()
          }
        }
      }))
  }

  test("opens nothing by a path that Bun hands on as it was sent, where the request names no host", () =>
    withRemote({}, async ({ auth, guard, resource }) => {
      const { token } = await machine(auth)
      const [orders, all] = [await token(`${resource}/orders`), await token()]
      for (const one of [auth, guard]) {
        const server = Bun.serve({
          hostname: "127.0.0.1",
          port: 0,
          fetch: ofFetch.guard(one, needs, () => new Response("in"))
        })
        const at = (target: string, text: string) =>
          statusOfRaw(server.port ?? 0, `GET ${target} HTTP/1.0\r\nAuthorization: Bearer ${text}\r\n\r\n`)
        try {
          expect(await at("/orders", orders)).toBe(200)
          expect(await at("/files/../orders", orders)).toBe(401)
          expect(await at("/files/../orders", all)).toBe(200)
        } finally {
          await server.stop(true)
        }
      }
    }))
})
