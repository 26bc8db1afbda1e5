import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import Koa from "koa"
import type { HttpRequest } from "../../core/http/Http.ts"
import type { Mount } from "../../core/serve.ts"
import { listen as onBun } from "../../runtimes/bun/listen.ts"
import * as ofBun from "../../runtimes/bun.ts"
import * as ofExpress from "../../runtimes/express.ts"
import * as ofFastify from "../../runtimes/fastify.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import * as ofHono from "../../runtimes/hono.ts"
import * as ofKoa from "../../runtimes/koa.ts"
import { listen as onNode } from "../../runtimes/node/listen.ts"
import { noProxies, parseTrustedProxies, peerOf } from "../../runtimes/serve/peer.ts"
import { listening } from "../guard/listening.ts"
import { freePort } from "../harness/freePort.ts"
import { sendTo } from "./given/wire.ts"

const proxies = Result.getOrThrow(parseTrustedProxies("10.0.0.0/8,192.0.2.7,2001:db8::/32"))

describe("whose request it is", () => {
  test.each([
    ["a proxy is not believed that is not trusted", "203.0.113.9", "1.1.1.1", "203.0.113.9"],
    ["a proxy is believed", "10.0.0.1", "1.1.1.1", "1.1.1.1"],
    ["what a stranger wrote in front is never looked at", "10.0.0.1", "6.6.6.6, 1.1.1.1", "1.1.1.1"],
    ["a chain of proxies is followed to its end", "10.0.0.1", "1.1.1.1, 192.0.2.7, 10.1.1.1", "1.1.1.1"],
    ["a stranger in the chain ends it", "10.0.0.1", "1.1.1.1, 203.0.113.9, 10.1.1.1", "203.0.113.9"],
    ["where all are proxies, it is the first", "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["what is no address is not believed", "10.0.0.1", "1.1.1.1, unknown", "10.0.0.1"],
    ["ports are left out", "10.0.0.1", "[2001:db9::1]:443", "2001:db9::1"],
    ["ports are left out of the old addresses too", "10.0.0.1", "1.1.1.1:4711", "1.1.1.1"],
    ["an old address in a new one's clothes is the old one", "::ffff:10.0.0.1", "::ffff:1.1.1.1", "1.1.1.1"],
    ["networks of new addresses are known", "2001:db8::5", "1.1.1.1", "1.1.1.1"],
    ["an empty header says nothing", "10.0.0.1", "", "10.0.0.1"],
    ["no header says nothing", "10.0.0.1", null, "10.0.0.1"]
  ])("%s", (_, socket, forwarded, peer) => {
    expect(peerOf(socket, forwarded, proxies)).toBe(peer)
  })

  test("says when one who is not believed speaks for others", () => {
    let told = 0
    const watched = { ...proxies, onUntrusted: () => void told++ }
    for (const [socket, forwarded] of [
      ["10.0.0.1", "1.1.1.1, 203.0.113.9"],
      ["203.0.113.9", null]
    ] as const) {
      peerOf(socket, forwarded, watched)
      expect(told).toBe(0)
    }
    peerOf("203.0.113.9", "1.1.1.1", watched)
    expect(told).toBe(1)
  })

  test("is unknown where the connection has no address", () => {
    expect(peerOf(undefined, "1.1.1.1", proxies)).toBeUndefined()
  })

  test("trusts no proxy where none is named", () => {
    expect(peerOf("127.0.0.1", "1.1.1.1", noProxies)).toBe("127.0.0.1")
  })

  test.each(["", "10.0.0.0/33", "::1/129", "example.com", "10.0.0.1,", "10.0.0.0/8/8", "10.0.0.0/"])(
    "is not asked of %p",
    (text) => {
      expect(Result.isFailure(parseTrustedProxies(text))).toBe(true)
    }
  )
})

const serve = ({ peer }: HttpRequest) => ({ status: 200, headers: [], body: `${peer}` })

describe("the server tells it, as it listens", () => {
  const here = Result.getOrThrow(parseTrustedProxies("127.0.0.1"))
  const limits = { requestTimeout: 10_000, shutdownTimeout: 1000 }

  test.each([
    ["by Bun", onBun],
    ["by node:http", onNode]
  ] as const)("%s", (_how, listen) =>
    Effect.gen(function* () {
      const told = (trustedProxies: typeof here, ...forwardedFor: ReadonlyArray<string>) =>
        Effect.scoped(
          Effect.gen(function* () {
            const { port } = yield* listen({
              host: "127.0.0.1",
              port: yield* freePort,
              serve,
              trustedProxies,
              ...limits
            })
            const headers = forwardedFor.map((text) => ["x-forwarded-for", text] as const)
            return (yield* Effect.promise(() => sendTo(port)({ method: "GET", target: "/", headers }))).body
          })
        )
      expect(yield* told(noProxies, "203.0.113.9")).toBe("127.0.0.1")
      expect(yield* told(here)).toBe("127.0.0.1")
      expect(yield* told(here, "203.0.113.9")).toBe("203.0.113.9")
      // Our proxy has added a header of its own to that of the stranger.
      expect(yield* told(here, "6.6.6.6", "203.0.113.9")).toBe("203.0.113.9")
    }).pipe(Effect.runPromise)
  )
})

describe("an app behind a proxy says it", () => {
  const mount: Mount = { serve, routes: [], prefix: "", owns: () => true }

  const inExpress = () => {
    const app = express().set("trust proxy", 1)
    return listening(app.use(ofExpress.mount(mount, { peer: ({ ip }) => ip })))
  }

  const inFastify = async () => {
    const app = fastify({ trustProxy: "127.0.0.1" })
    const address = await app
      .addHook("onRequest", ofFastify.mount(mount, { peer: ({ ip }) => ip }))
      .listen({ port: 0, host: "127.0.0.1" })
    return { port: Number(new URL(address).port), stop: () => app.close() }
  }

  const inKoa = () => {
    const app = new Koa({ proxy: true, maxIpsCount: 1 })
    return listening(app.use(ofKoa.mount(mount, { peer: ({ ip }) => ip })).callback())
  }

  test.each([
    ["Express", inExpress],
    ["Fastify", inFastify],
    ["Koa", inKoa]
  ] as const)("by the setting of %s", async (_name, start) => {
    const { port, stop } = await start()
    const headers = [["x-forwarded-for", "6.6.6.6, 203.0.113.9"]] as const
    expect((await sendTo(port)({ method: "GET", target: "/", headers })).body).toBe("203.0.113.9")
    await stop()
  })

  const header = "x-real-ip"
  const bunServer = { requestIP: () => ({ address: "127.0.0.1" }) }
  const read = ({ headers }: Request) => headers.get(header)
  const onBun = ofBun.mount(mount, { peer: read })
  const app = new Hono().use(ofHono.mount(mount, { peer: ({ req }) => req.header(header) }))

  test.each([
    ["a mount over `fetch`", ofFetch.mount(mount, { peer: read })],
    ["a mount on Bun", (request: Request) => onBun(request, bunServer)],
    ["Hono", (request: Request) => app.fetch(request)]
  ] as const)("by a header that may be missing, in %s", async (_name, answer) => {
    const told = async (headers: Record<string, string>) =>
      (await answer(new Request("https://auth.example.com/", { headers })))?.text()
    expect(await told({ [header]: "203.0.113.9" })).toBe("203.0.113.9")
    expect(await told({})).toBe("undefined")
  })
})
