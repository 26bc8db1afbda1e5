import { describe, expect, test } from "bun:test"
import type { ServerResponse } from "node:http"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import Koa from "koa"
import type { HttpResponse } from "../../core/http/Http.ts"
import * as ofExpress from "../../runtimes/express.ts"
import * as ofFastify from "../../runtimes/fastify.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import { type Caller, type Checked, guardOf } from "../../runtimes/guard/Check.ts"
import { type Guard, principalOf } from "../../runtimes/guard.ts"
import * as ofHono from "../../runtimes/hono.ts"
import * as ofKoa from "../../runtimes/koa.ts"
import { bearer, machine } from "../embed/host.ts"
import { statusOfRaw } from "../given/statusOfRaw.ts"
import { listening, type Running } from "./listening.ts"
import { withRemote } from "./remote.ts"

const needs = { scopes: ["api"], resource: "/api/orders" }

type Start = (guard: Guard) => Promise<Running>

/** Each has one guarded route, `/api/orders`, behind a router that takes `/api` off. */
const frameworks: ReadonlyArray<readonly [name: string, start: Start]> = [
  [
    "Express",
    (guard) => {
      const api = express.Router()
      api.get("/orders", ofExpress.guard(guard, needs), (request, response) => {
        expect(principalOf(request)).toBe(request.principal)
        response.json(request.principal)
      })
      return listening(express().use("/api", api))
    }
  ],
  [
    "Fastify",
    async (guard) => {
      const app = fastify({ exposeHeadRoutes: true })
      await app.register(
        async (api) => {
          api.get("/orders", { onRequest: ofFastify.guard(guard, needs) }, async (request) => principalOf(request))
        },
        { prefix: "/api" }
      )
      await app.listen({ port: 0, host: "127.0.0.1" })
      return { port: Number(new URL(app.listeningOrigin).port), stop: () => app.close() }
    }
  ],
  [
    "Koa",
    (guard) => {
      const app = new Koa()
      app.use(ofKoa.guard(guard, needs))
      app.use((context) => {
        context.body = context.state.principal
      })
      return listening(app.callback())
    }
  ],
  [
    "Hono",
    async (guard) => {
      const api = new Hono<{ Variables: ofHono.GuardVariables }>()
      api.get("/orders", ofHono.guard(guard, needs), (context) => context.json(context.get("principal")))
      const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: new Hono().route("/api", api).fetch })
      return { port: server.port ?? 0, stop: () => server.stop(true) }
    }
  ]
]

describe("a guarded route", () => {
  for (const [name, start] of frameworks) {
    test(`below a router of ${name} answers as the guard itself does, here and over introspection`, () =>
      withRemote({}, async ({ auth, guard, line, resource }) => {
        const { token } = await machine(auth)
        const here = await token(`${resource}/api/orders`)
        const elsewhere = await token(`${resource}/orders`)
        for (const one of [auth, guard]) {
          const app = await start(one)
          const url = `http://127.0.0.1:${app.port}/api/orders`
          try {
            const checked = await one.guard(bearer(`${resource}/api/orders`, here), needs)
            const admitted = await fetch(bearer(`${url}?page=2`, here))
            expect(await admitted.json()).toEqual(checked._tag === "Admitted" ? checked.principal : "refused")
            for (const text of [undefined, "forged", elsewhere]) {
              const asked = (at: string, method = "GET") =>
                new Request(at, { method, headers: text === undefined ? {} : { authorization: `Bearer ${text}` } })
              const expected = await one.guard(asked(`${resource}/api/orders`), needs)
              if (expected._tag === "Admitted") throw new Error("it was admitted")
              const refused = await fetch(asked(url))
              expect(refused.status).toBe(401)
              expect(await refused.text()).toBe(await expected.response.text())
              for (const header of ["www-authenticate", "cache-control", "pragma"]) {
                expect([header, refused.headers.get(header)]).toEqual([header, expected.response.headers.get(header)])
              }
              // Fastify adds its charset.
              const type = expected.response.headers.get("content-type")
              expect(refused.headers.get("content-type") ?? "").toStartWith(type ?? "")
              expect((await fetch(asked(url, "HEAD"))).status).toBe(401)
            }
            if (one === guard) {
              line.instead = () => Promise.reject(new TypeError("fetch failed"))
              guard.clear()
              const away = await fetch(bearer(url, here))
              expect([away.status, away.headers.get("retry-after")]).toEqual([503, "2"])
            }
          } finally {
            await app.stop()
          }
        }
      }))
  }
})

const caller: Caller = { _tag: "ApiKey", issuer: "i", grant: "g", scope: ["api"], resources: null, expiresAt: null }
const admitted: Checked<HttpResponse> = { _tag: "Admitted", principal: caller }

describe("an app that has answered for itself before the guard has, as one with a time limit does", () => {
  const refused: Checked<HttpResponse> = {
    _tag: "Refused",
    response: { status: 503, headers: [["retry-after", "2"]], body: "{}" }
  }

  /** Says at a time of the test's choosing what it says. */
  const slow = (says: Checked<HttpResponse>) => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { promise: gate, resolve: release } = Promise.withResolvers<void>()
    const check = async () => {
      ask()
      await gate
      return says
    }
    return { asked, release, guard: guardOf(check) }
  }

  const tooSlow = (response: ServerResponse) => {
    response.statusCode = 504
    response.end("too slow")
  }

  /** Each hands out Node's own response to its one guarded route, as a time limit would have it. */
  const apps: ReadonlyArray<
    readonly [name: string, start: (guard: Guard, keep: (r: ServerResponse) => void) => Promise<Running>]
  > = [
    [
      "Node's own server",
      (guard, keep) =>
        listening((request, response) => {
          keep(response)
          ofExpress.guard(guard, needs)(request, response, () => {
            response.setHeader("x-orders", "3")
            response.end("orders")
          })
        })
    ],
    [
      "Express",
      (guard, keep) => {
        const app = express()
        app.use((_request, response, next) => {
          keep(response)
          next()
        })
        app.get("/", ofExpress.guard(guard, needs), (_request, response) => void response.json({}))
        return listening(app)
      }
    ],
    [
      "Fastify",
      async (guard, keep) => {
        const app = fastify()
        app.addHook("onRequest", async (_request, reply) => keep(reply.raw))
        app.get("/", { onRequest: ofFastify.guard(guard, needs) }, async () => ({}))
        await app.listen({ port: 0, host: "127.0.0.1" })
        return { port: Number(new URL(app.listeningOrigin).port), stop: () => app.close() }
      }
    ],
    [
      "Koa",
      (guard, keep) => {
        const app = new Koa()
        app.use((context, next) => {
          keep(context.res)
          return next()
        })
        app.use(ofKoa.guard(guard, needs))
        app.use((context) => {
          context.body = {}
        })
        return listening(app.callback())
      }
    ]
  ]

  for (const [name, start] of apps) {
    for (const says of [refused, admitted]) {
      test(`is left in peace: ${name}, ${says._tag}`, async () => {
        const { asked, guard, release } = slow(says)
        const { promise: kept, resolve: keep } = Promise.withResolvers<ServerResponse>()
        const app = await start(guard, keep)
        try {
          const answered = fetch(`http://127.0.0.1:${app.port}/`)
          await asked
          tooSlow(await kept)
          const { status } = await answered
          release()
          // An uncaught error comes after the turn in which it is thrown, and fails the test.
          for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
          expect(status).toBe(504)
        } finally {
          await app.stop()
        }
      })
    }
  }

  test("and no caller is let in behind it", async () => {
    const { asked, guard, release } = slow(admitted)
    const { promise: kept, resolve: keep } = Promise.withResolvers<ServerResponse>()
    let entered = 0
    const app = await listening((request, response) => {
      keep(response)
      ofExpress.guard(guard, needs)(request, response, () => {
        entered++
      })
    })
    try {
      const answered = fetch(`http://127.0.0.1:${app.port}/`)
      await asked
      tooSlow(await kept)
      await answered
      release()
      for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
      expect(entered).toBe(0)
    } finally {
      await app.stop()
    }
  })
})

describe("what an admitted caller has to be told", () => {
  const told: Checked<HttpResponse> = { _tag: "Admitted", principal: caller, headers: [["dpop-nonce", "next"]] }
  const telling = guardOf(async () => told)
  const nonceOf = ({ headers }: Response) => headers.get("dpop-nonce")

  test("stands on a copy of an answer that a fetch handler gives to many, and on no upgrade", async () => {
    const same = new Response(null, { status: 204, headers: { "x-orders": "3" } })
    const first = await ofFetch.guard(telling, needs, () => same)(new Request("http://x/"))
    expect([first.status, first.headers.get("x-orders"), nonceOf(first), nonceOf(same)]).toEqual([
      204,
      "3",
      "next",
      null
    ])
    // Bun has such an answer where a handler has upgraded.
    const none = undefined as unknown as Response
    expect(await ofFetch.guard(telling, needs, () => none)(new Request("http://x/"))).toBeUndefined()
  })

  test("stands on an answer that a handler of Hono makes by itself, and on that to what it throws", async () => {
    const app = new Hono()
      .get("/own", ofHono.guard(telling, needs), () => new Response("own"))
      .get("/thrown", ofHono.guard(telling, needs), () => {
        throw new Error("of the handler")
      })
      .onError(() => new Response("sorry", { status: 500 }))
    const answers = [await app.request("/own"), await app.request("/thrown")]
    expect(answers.map((answer) => [answer.status, nonceOf(answer)])).toEqual([
      [200, "next"],
      [500, "next"]
    ])
  })

  test("is left out where a Node app has begun its answer before", async () => {
    const app = await listening((request, response) => {
      response.write("ord")
      ofExpress.guard(telling, needs)(request, response, () => response.end("ers"))
    })
    try {
      const answer = await fetch(`http://127.0.0.1:${app.port}/`)
      expect([answer.status, nonceOf(answer), await answer.text()]).toEqual([200, null, "orders"])
    } finally {
      await app.stop()
    }
  })
})

describe("a guard that has a fault of its own, before Express and plain Node", () => {
  const unsendable: Checked<HttpResponse> = {
    _tag: "Refused",
    response: { status: 403, headers: [["www-authenticate", 'Bearer scope="anmelden→lesen"']], body: "{}" }
  }
  const faults: ReadonlyArray<readonly [name: string, check: Guard["check"]]> = [
    ["rejects", () => Promise.reject(new Error("secret of the guard"))],
    ["answers with what Node does not send", async () => unsendable]
  ]

  for (const [name, check] of faults) {
    test(`and ${name}, is answered for with 500, lets no caller in and ends no process`, async () => {
      let entered = 0
      const guarded = ofExpress.guard(guardOf(check), needs)
      const onNode = await listening((request, response) =>
        guarded(request, response, () => {
          entered++
          response.end("orders")
        })
      )
      const onExpress = await listening(
        express().get("/", guarded, (_request, response) => {
          entered++
          response.end("orders")
        })
      )
      try {
        for (const { port } of [onNode, onExpress]) {
          const answer = await fetch(`http://127.0.0.1:${port}/`)
          const body = await answer.text()
          expect([answer.status, JSON.parse(body).error]).toEqual([500, "server_error"])
          expect(answer.headers.get("x-request-id")).toMatch(/^[\w-]{16}$/)
          expect(body).not.toContain("secret")
        }
        expect(entered).toBe(0)
      } finally {
        await onNode.stop()
        await onExpress.stop()
      }
    })
  }

  test("and what a handler behind it throws on plain Node ends no process either", async () => {
    const guard = guardOf(async () => admitted)
    const app = await listening((request, response) =>
      ofExpress.guard(guard, needs)(request, response, () => {
        throw new Error("secret of the handler")
      })
    )
    try {
      expect((await fetch(`http://127.0.0.1:${app.port}/`)).status).toBe(500)
    } finally {
      await app.stop()
    }
  })

  test("and neither does what a handler throws that has answered already", async () => {
    const guard = guardOf(async () => admitted)
    const app = await listening((request, response) =>
      ofExpress.guard(guard, needs)(request, response, () => {
        response.end("orders")
        throw new Error("secret of the handler")
      })
    )
    try {
      const answer = await fetch(`http://127.0.0.1:${app.port}/`)
      // An uncaught error comes after the turn in which it is thrown, and fails the test.
      for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
      expect([answer.status, await answer.text()]).toEqual([200, "orders"])
    } finally {
      await app.stop()
    }
  })
})

const ask = (port: number, ...tokens: ReadonlyArray<string>) =>
  statusOfRaw(
    port,
    `GET /api/orders HTTP/1.1\r\nHost: x\r\n${tokens.map((token) => `Authorization: Bearer ${token}\r\n`).join("")}Connection: close\r\n\r\n`
  )

describe("a request with two tokens", () => {
  for (const [name, start] of frameworks) {
    test(`has none, before ${name} as everywhere`, () =>
      withRemote({}, async ({ auth, guard }) => {
        const { key } = await auth.apiKeys.create({ name: "Script" })
        for (const one of [auth, guard]) {
          const app = await start(one)
          try {
            expect(await ask(app.port, key)).toBe(200)
            expect(await ask(app.port, key, "forged")).toBe(401)
            expect(await ask(app.port, "forged", key)).toBe(401)
          } finally {
            await app.stop()
          }
        }
      }))
  }
})
