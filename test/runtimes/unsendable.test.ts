import { describe, expect, test } from "bun:test"
import { createServer, type RequestListener } from "node:http"
import { Effect, Logger } from "effect"
import type { HeaderPairs, HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { listen as listenOnBun } from "../../runtimes/bun/listen.ts"
import * as ofBun from "../../runtimes/bun.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import { listen } from "../../runtimes/node/listen.ts"
import * as ofNode from "../../runtimes/node.ts"
import { noProxies } from "../../runtimes/serve/peer.ts"
import { freePort } from "../harness/freePort.ts"
import { type Answer, normal, sendTo } from "./given/wire.ts"
import { unsendable } from "./onNode/unsendable.ts"

const fine: HttpResponse = { status: 200, headers: [["content-type", "text/plain"]], body: "fine" }

const serve = ({ path }: HttpRequest): HttpResponse | Promise<HttpResponse> => {
  const answer = unsendable[path.replace(/^\/later/, "")] ?? fine
  return path.startsWith("/later") ? Promise.resolve(answer) : answer
}

const targets = Object.keys(unsendable).flatMap((path) => [path, `/later${path}`])

const ask = (port: number, target: string) => sendTo(port)({ method: "GET", target })

/** What every answer carries, and nothing of the one that could not be sent. */
const expectBroken = (answer: Answer, more: HeaderPairs = []) =>
  expect(answer).toEqual({
    status: 500,
    headers: [
      ["cache-control", "no-store"],
      ["content-type", "application/json"],
      ["pragma", "no-cache"],
      ...more,
      ["x-content-type-options", "nosniff"],
      ["x-request-id", "the-request"]
    ],
    body: '{"error":"server_error","error_description":"Something went wrong on our side."}'
  })

const listening = async (listener: RequestListener, body: (port: number) => Promise<void>) => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  try {
    await body(typeof address === "object" && address !== null ? address.port : 0)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** A logger, and what it was told. */
const eavesdropper = () => {
  const said: Array<string> = []
  const logger = Logger.make(({ cause, message }) => {
    said.push(`${JSON.stringify(message)} ${String(cause)}`)
  })
  return { said, logger }
}

describe("an answer that Node refuses to send", () => {
  test("is answered with 500 and said in the log, under the request's id, and the server goes on", () => {
    const { logger, said } = eavesdropper()
    return Effect.gen(function* () {
      const port = yield* freePort
      const limits = { requestTimeout: 10_000, shutdownTimeout: 1000 }
      yield* listen({ host: "127.0.0.1", port, serve, trustedProxies: noProxies, ...limits })
      for (const target of targets) {
        expectBroken(yield* Effect.promise(() => ask(port, target)))
        expect(said.length).toBe(1)
        expect(said.pop()).toMatch(/a defect.*the-request.*(?:ERR_|Invalid|must be)/)
        expect((yield* Effect.promise(() => ask(port, "/fine"))).body).toBe("fine")
      }
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])), Effect.runPromise)
  })

  test("leaves the app's own headers where they were, and none of its own", () => {
    const listener = ofNode.handler(serve, { log: () => undefined })
    return listening(
      (request, response) => {
        response.setHeader("x-app", "kept")
        listener(request, response)
      },
      async (port) => {
        for (const target of targets) expectBroken(await ask(port, target), [["x-app", "kept"]])
      }
    )
  })

  test("ends the connection where no answer at all can be written, and the server goes on", () => {
    let logged = 0
    const listener = ofNode.handler(serve, {
      log: () => {
        logged++
      }
    })
    return listening(
      (request, response) => {
        if (request.url !== "/fine") {
          response.writeHead = () => {
            throw new Error("the app's own writeHead")
          }
        }
        listener(request, response)
      },
      async (port) => {
        for (const target of ["/", "/later/"]) {
          await expect(ask(port, target)).rejects.toThrow("no answer to GET")
        }
        expect(logged).toBe(2)
        expect((await ask(port, "/fine")).body).toBe("fine")
      }
    )
  })
})

describe("an answer that no `Response` can be made of", () => {
  const paths = ["/unsendable/value", "/unsendable/name", "/unsendable/status", "/unsendable/id"]
  const nameless: HttpResponse = { status: 200, headers: [["x-request-id", "a\nb"]], body: "" }
  const serveAny = (request: HttpRequest) => {
    const { path } = request
    if (!path.endsWith("/unsendable/id")) return serve(request)
    return path.startsWith("/later") ? Promise.resolve(nameless) : nameless
  }
  const spoken = async (answered: Response | Promise<Response>): Promise<Answer> => {
    const { body, headers, status } = await answered
    return normal(status, headers, await new Response(body).text(), false)
  }
  const asked = (path: string, method: string) => new Request(`http://localhost${path}`, { method })
  const nobody = { requestIP: () => null }

  for (const how of ["", "/later"]) {
    for (const method of ["GET", "POST"]) {
      test(`is answered with 500, and costs no other of its crowd its own: ${method} ${how}`, async () => {
        const logged: Array<string> = []
        const { fetch } = ofBun.server(serveAny, { log: (entry) => void logged.push(String(entry)) })
        for (const path of paths) {
          const crowd = ["/a", "/b", how + path, "/c"].map((one) => spoken(fetch(asked(one, method), nobody)))
          const [a, b, unsent, c] = await Promise.all(crowd)
          expect([a?.body, b?.body, c?.body]).toEqual(["fine", "fine", "fine"])
          const id = path === "/unsendable/id" ? "" : "the-request"
          expect(unsent?.status).toBe(500)
          expect(unsent?.headers).toContainEqual(["x-request-id", id])
          expect(unsent?.headers.map(([name]) => name)).not.toContain("set-cookie")
          expect(logged.length).toBe(1)
          logged.length = 0
        }
      })
    }
  }

  test("is answered with 500 by a handler for frameworks, too", async () => {
    const handle = ofFetch.handler(serveAny)
    for (const path of paths.slice(0, 3)) expectBroken(await spoken(handle(asked(path, "GET"))))
    for (const path of paths.slice(0, 3)) expectBroken(await spoken(handle(asked(`/later${path}`, "POST"))))
  })

  test("is said in the server's own log", () => {
    const { logger, said } = eavesdropper()
    return Effect.gen(function* () {
      const port = yield* freePort
      const limits = { requestTimeout: 10_000, shutdownTimeout: 1000 }
      yield* listenOnBun({ host: "127.0.0.1", port, serve, trustedProxies: noProxies, ...limits })
      expectBroken(yield* Effect.promise(() => ask(port, "/unsendable/name")))
      expect(said).toEqual([expect.stringMatching(/a defect.*the-request/)])
      expect((yield* Effect.promise(() => ask(port, "/fine"))).body).toBe("fine")
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([logger])), Effect.runPromise)
  })
})

describe("what is no answer at all, from a host without types", () => {
  // What a forgotten `return` gives, and headers as other frameworks have them.
  const nothings: Readonly<Record<string, unknown>> = {
    "/nothing": undefined,
    "/null": null,
    "/object": { status: 200, headers: { "x-request-id": "a" }, body: "abc" },
    "/pairs": { status: 200, headers: ["x-request-id", null], body: "abc" },
    "/bodiless": { status: 200, headers: [["x-request-id", "the-request"]] }
  }
  const wanting = (request: HttpRequest): HttpResponse | Promise<HttpResponse> => {
    const path = request.path.replace(/^\/later/, "")
    if (!(path in nothings)) return serve(request)
    // The very thing that no type allows.
    const nothing = nothings[path] as HttpResponse
    return request.path.startsWith("/later") ? Promise.resolve(nothing) : nothing
  }
  const paths = Object.keys(nothings).flatMap((path) => [path, `/later${path}`])

  test("is answered with 500 over node:http, and the server goes on", async () => {
    let logged = 0
    const log = () => void logged++
    await listening(ofNode.handler(wanting, { log }), async (port) => {
      for (const path of paths) {
        const [a, wrong, c] = await Promise.all(["/a", path, "/c"].map((one) => ask(port, one)))
        expect([path, a?.body, wrong?.status, c?.body]).toEqual([path, "fine", 500, "fine"])
      }
    })
    expect(logged).toBe(paths.length)
  })

  // Without a body, or with an object of headers, a `Response` can be made.
  for (const path of paths.filter((path) => !/\/(?:bodiless|object)$/.test(path))) {
    test(`is answered with 500 where a \`Response\` is wanted, and costs no other an answer: ${path}`, async () => {
      let logged = 0
      const { fetch } = ofBun.server(wanting, { log: () => void logged++ })
      const asked = (one: string) => new Request(`http://localhost${one}`, { method: "POST" })
      const crowd = ["/a", path, "/c"].map((one) => Promise.resolve(fetch(asked(one), { requestIP: () => null })))
      expect((await Promise.all(crowd)).map(({ status }) => status)).toEqual([200, 500, 200])
      expect(logged).toBe(1)
      expect((await ofFetch.handler(wanting)(asked(path))).status).toBe(500)
    })
  }
})

describe("a host's own `Serve` that throws, or rejects", () => {
  const serveOrThrow = (request: HttpRequest): HttpResponse | Promise<HttpResponse> => {
    if (request.path === "/throws") throw new Error("the host's own trouble")
    return request.path === "/rejects" ? Promise.reject(new Error("the host's own trouble")) : serve(request)
  }
  const said: Array<string> = []
  const logger = Logger.make(({ cause, message }) => {
    said.push(`${JSON.stringify(message)} ${String(cause)}`)
  })
  const log = (entry: Effect.Effect<void>) => Effect.runSync(Effect.provide(entry, Logger.layer([logger])))

  /** With an id of its own, under which the log has it. */
  const expectAnswered = ({ body, headers, status }: Answer) => {
    const { "x-request-id": id = "no id", ...others } = Object.fromEntries(headers)
    expect({ status, body: JSON.parse(body), others }).toEqual({
      status: 500,
      body: { error: "server_error", error_description: "Something went wrong on our side." },
      others: {
        "access-control-allow-origin": "*",
        "access-control-expose-headers": "WWW-Authenticate, Retry-After, DPoP-Nonce, X-Request-Id",
        "cache-control": "no-store",
        "content-type": "application/json",
        pragma: "no-cache",
        "x-content-type-options": "nosniff"
      }
    })
    expect(said).toEqual([expect.stringMatching(new RegExp(`a defect.*${id}.*the host's own trouble`))])
    said.length = 0
  }

  test.each(["/throws", "/rejects"])("is answered with 500 over node:http, and the server goes on: %s", (target) =>
    listening(ofNode.handler(serveOrThrow, { log }), async (port) => {
      expectAnswered(await ask(port, target))
      expect((await ask(port, "/fine")).body).toBe("fine")
    })
  )

  test.each(["/throws", "/rejects"])(
    "is answered with 500 over Bun.serve, alone and in a crowd: %s",
    async (target) => {
      const { fetch } = ofBun.server(serveOrThrow, { log })
      const sent = (path: string, method: string) =>
        Promise.resolve(fetch(new Request(`http://localhost${path}`, { method }), { requestIP: () => null })).then(
          async (answered) => normal(answered.status, answered.headers, await answered.text(), false)
        )
      for (const method of ["GET", "POST"]) {
        expectAnswered(await sent(target, method))
        const [a, b, c] = await Promise.all(["/a", target, "/c"].map((path) => sent(path, method)))
        expect([a?.body, c?.body]).toEqual(["fine", "fine"])
        if (b !== undefined) expectAnswered(b)
      }
    }
  )
})
