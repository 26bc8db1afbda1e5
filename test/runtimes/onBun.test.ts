import { describe, expect, test } from "bun:test"
import { SharedAnswer } from "../../core/http/answer.ts"
import type { HeaderPairs } from "../../core/http/Http.ts"
import { serveWith } from "../../core/serve.ts"
import * as ofBun from "../../runtimes/bun.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import { bodyLimit } from "../../runtimes/serve/request.ts"
import { app } from "./given/app.ts"

const issuer = "http://127.0.0.1:3000"

/** A server as an embedder has it: a route of its own, and all else for Tessera. */
const withServer = async (options: ofBun.ServerOptions | undefined, body: (url: string) => Promise<void>) => {
  const runtime = app(issuer)
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: { "/mine": new Response("mine") },
    ...ofBun.server(serveWith(runtime), options)
  })
  try {
    await body(`http://127.0.0.1:${server.port}`)
  } finally {
    await server.stop(true)
    await runtime.dispose()
  }
}

const peerAt = async (url: string) => (await (await fetch(`${url}/test/echo`)).json()).peer

describe("a server on Bun", () => {
  test("answers beside routes of the host's own, and knows the socket's address", () =>
    withServer(undefined, async (url) => {
      expect(await (await fetch(`${url}/mine`)).text()).toBe("mine")
      expect(await peerAt(url)).toBe("127.0.0.1")
    }))

  test("gives each answer its own headers, of those that many share too, whichever came before", async () => {
    const [kept, secret]: ReadonlyArray<HeaderPairs> = [[["cache-control", "public"]], [["cache-control", "no-store"]]]
    let count = 0
    const handle = ofFetch.handler(({ path }) => {
      count++
      return new SharedAnswer(200, "", (path === "/token" ? secret : kept) ?? [], String(count))
    })
    const answers: Array<Response> = []
    for (const path of ["/keys", "/token", "/token", "/keys"]) answers.push(await handle(new Request(issuer + path)))
    // All of them are out by now: what the next one was given is not to be seen in the one before.
    expect(answers.map(({ headers }) => [headers.get("cache-control"), headers.get("x-request-id")])).toEqual([
      ["public", "1"],
      ["no-store", "2"],
      ["no-store", "3"],
      ["public", "4"]
    ])
  })

  test("shares its port with no other server", () =>
    withServer(undefined, async (url) => {
      const again = { hostname: "127.0.0.1", port: Number(new URL(url).port), ...ofBun.server(serveWith(app(issuer))) }
      expect(() => Bun.serve(again)).toThrow("in use")
    }))

  test("takes the address that the host says", () =>
    withServer({ peer: (request, socketPeer) => `${socketPeer} by ${new URL(request.url).hostname}` }, async (url) => {
      expect(await peerAt(url)).toBe("127.0.0.1 by 127.0.0.1")
    }))

  test("answers too much as OAuth does, and not as Bun would", () =>
    withServer(undefined, async (url) => {
      const response = await fetch(`${url}/oauth/token`, { method: "POST", body: "a".repeat(bodyLimit + 1) })
      expect([response.status, (await response.json()).error]).toEqual([413, "invalid_request"])
    }))

  test("counts patience in Bun's seconds", () => {
    const idle = (requestTimeout?: number) =>
      ofBun.server(serveWith(app(issuer)), requestTimeout === undefined ? {} : { requestTimeout }).idleTimeout
    expect([idle(), idle(1), idle(10_500), idle(3_600_000)]).toEqual([20, 5, 11, 255])
  })
})

describe("a body that another reader has read already", () => {
  const inPieces = () =>
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode("a=b"))
        controller.close()
      }
    })
  const bodies: ReadonlyArray<
    readonly [how: string, body: () => string | ReadableStream<Uint8Array>, length: boolean]
  > = [
    ["of a length that is told", () => "a=b", true],
    ["of one that is not", () => "a=b", false],
    ["in pieces", inPieces, false]
  ]

  test.each(bodies)("is answered with 400, %s", async (_how, body, length) => {
    const handle = ofFetch.handler(serveWith(app(issuer)))
    const read = new Request(`${issuer}/test/echo`, {
      method: "POST",
      body: body(),
      headers: length ? { "content-length": "3" } : {}
    })
    await read.text()
    const answered = await handle(read)
    expect([answered.status, (await answered.json()).error]).toEqual([400, "invalid_request"])
  })
})

describe("a body of a request that a program made", () => {
  const post = (body: string | ReadableStream<Uint8Array>, headers: Record<string, string> = {}) =>
    ofFetch.handler(serveWith(app(issuer)))(new Request(`${issuer}/test/echo`, { method: "POST", body, headers }))

  test("is too large by what it is, whatever it says of its length", async () => {
    const length = { "content-length": "3" }
    expect((await post("a".repeat(bodyLimit), length)).status).toBe(200)
    expect((await post("a".repeat(bodyLimit + 1), length)).status).toBe(413)
  })

  test("is no longer made once it is too large", async () => {
    const { promise: cancelled, resolve: cancel } = Promise.withResolvers<string>()
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(bodyLimit)),
      cancel: () => cancel("cancelled")
    })
    expect((await post(endless)).status).toBe(413)
    expect(await cancelled).toBe("cancelled")
  })
})
