import { afterAll, describe, expect, test } from "bun:test"
import type { Socket } from "node:net"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { listen } from "../../runtimes/bun/listen.ts"
import { noProxies } from "../../runtimes/serve/peer.ts"
import { freePort } from "../harness/freePort.ts"
import { node } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { runProgram } from "../harness/runProgram.ts"
import { scoped } from "../harness/scoped.ts"
import { startChild } from "./given/Child.ts"
import { nodeBuild } from "./given/nodeBuild.ts"
import { head, open, parseAnswer, sendTo, untilClosed } from "./given/wire.ts"
import { unsendable } from "./onNode/unsendable.ts"

/** A server whose `/held` answers only when it is let go; everything else answers at once. */
interface Holding {
  readonly port: number
  /** A request for `/held` has arrived. */
  readonly began: () => Promise<unknown>
  readonly release: () => void
  /** Begins the shutdown; resolves when it is over. */
  readonly close: () => Promise<unknown>
}

interface Candidate {
  readonly name: string
  readonly start: (requestTimeout: number, shutdownTimeout: number) => Effect.Effect<Holding, unknown, Scope.Scope>
}

/** For a shutdown that ends by itself or not at all. */
const hour = 3_600_000

const answer: HttpResponse = { status: 200, headers: [["content-type", "text/plain"]], body: "held" }

const onBun: Candidate = {
  name: "Bun.serve",
  start: (requestTimeout, shutdownTimeout) =>
    Effect.gen(function* () {
      const port = yield* freePort
      const scope = Scope.makeUnsafe()
      let release: () => void = () => undefined
      let arrived: () => void = () => undefined
      const began = new Promise<void>((resolve) => {
        arrived = resolve
      })
      const serve = (request: HttpRequest) => {
        if (request.path !== "/held") return answer
        return new Promise<HttpResponse>((resolve) => {
          release = () => resolve(answer)
          arrived()
        })
      }
      yield* Scope.provide(
        listen({ host: "127.0.0.1", port, serve, trustedProxies: noProxies, requestTimeout, shutdownTimeout }),
        scope
      )
      const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
      yield* Effect.addFinalizer(() => Effect.promise(close))
      return { port, began: () => began, release: () => release(), close }
    })
}

const buildScope = Scope.makeUnsafe()
let built: string | undefined
afterAll(() => Effect.runPromise(Scope.close(buildScope, Exit.void)))

const onNode: Candidate = {
  name: "node:http, in Node",
  start: (requestTimeout, shutdownTimeout) =>
    Effect.gen(function* () {
      built ??= yield* Scope.provide(nodeBuild, buildScope)
      const child = yield* startChild(node(), [
        join(built, "test/runtimes/onNode/main.js"),
        "http://localhost:3000",
        String(requestTimeout),
        String(shutdownTimeout)
      ])
      const [, port] = yield* Effect.promise(() => child.says(/^(\d+)$/m))
      return {
        port: Number(port),
        began: () => child.says(/began/),
        release: () => void child.process.stdin?.write("go\n"),
        close: async () => {
          child.process.kill("SIGTERM")
          await child.says(/closed/)
          expect((await child.ended).status).toBe(0)
        }
      }
    })
}

const get = (target: string) => head({ method: "GET", target })

/** A request that is under way until it is released, and its answer. */
const hold = Effect.fnUntraced(function* (port: number, began: Holding["began"]) {
  const socket = open(port)
  const answered = untilClosed(socket)
  socket.write(get("/held"))
  yield* Effect.promise(began)
  return Effect.map(
    Effect.promise(() => answered),
    (raw) => ({ ...parseAnswer(raw, "GET"), isLast: /^connection: close\r$/im.test(raw.toString()) })
  )
})

const isRefused = (port: number) =>
  Effect.callback<boolean>((resume) => {
    const socket = open(port)
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(false))
    })
    socket.once("error", () => resume(Effect.succeed(true)))
  })

/** Sends the rest slowly, a byte at a time, for as long as the server listens. */
const drip = (socket: Socket) => {
  const timer = setInterval(() => socket.write("a"), 100)
  socket.once("close", () => clearInterval(timer))
}

/**
 * Asks over one connection, far more often than a server gives one up, and not so often that it takes the processor; the
 * result asks no more, and tells what became of it.
 */
const keepsAsking = (port: number): (() => Promise<"still open" | "closed">) => {
  const socket = open(port)
  const timer = setInterval(() => socket.write(get("/test/unicode")), 20)
  // It is closed while nobody listens otherwise.
  socket.resume()
  return async () => {
    clearInterval(timer)
    const isOpen = !socket.closed && !socket.readableEnded
    socket.destroy()
    return isOpen ? "still open" : "closed"
  }
}

/** Asks over one connection again as soon as it is answered, until an answer says that it is the last. */
const asksUntilTold = (port: number) => {
  const socket = open(port)
  const count = { requests: 0, answers: 0, told: false }
  const ask = () => {
    count.requests++
    socket.write(get("/test/unicode"))
  }
  let rest = ""
  const answered = Promise.withResolvers<void>()
  socket.on("data", (part) => {
    rest += part.toString("latin1")
    const [, head, length] = /^(HTTP\/1\.1 200 .*?content-length: (\d+).*?\r\n\r\n)/is.exec(rest) ?? []
    if (head === undefined || rest.length < head.length + Number(length)) return
    rest = rest.slice(head.length + Number(length))
    count.answers++
    count.told = /^connection: close\r$/im.test(head)
    answered.resolve()
    if (!count.told) ask()
  })
  ask()
  const ended = new Promise<typeof count>((resolve) => socket.once("close", () => resolve(count)))
  return { answered: answered.promise, ended }
}

for (const { name, start } of [onBun, onNode]) {
  describe(`connections of ${name}`, () => {
    test("that are half sent, or sent a byte at a time, are given up, and one that is in use meanwhile is not", () =>
      scoped(function* () {
        const { port } = yield* start(1000, 1000)
        const used = keepsAsking(port)
        const half = (text: string, dripping = false) => {
          const socket = open(port)
          socket.write(text)
          if (dripping) drip(socket)
          return untilClosed(socket)
        }
        const post = head({ method: "POST", target: "/", headers: [["content-length", "50000"]] })
        const ended = yield* Effect.promise(() =>
          Promise.all([
            half("GET / HT"),
            half("GET / HTTP/1.1\r\nhost: a\r\nx-half: "),
            half("GET / HTTP/1.1\r\nhost: a\r\nx-drip: ", true),
            half(`${post}abc`),
            half(`${post}abc`, true)
          ])
        )
        expect(ended.map((raw) => parseAnswer(raw, "GET")?.status ?? 408)).toEqual([408, 408, 408, 408, 408])
        expect(yield* Effect.promise(used)).toBe("still open")
        expect((yield* Effect.promise(() => sendTo(port)({ method: "GET", target: "/test/unicode" }))).status).toBe(200)
      }))

    test("serve one request after another", () =>
      scoped(function* () {
        const { port } = yield* start(5000, 1000)
        const socket = open(port)
        const ask = (text: string) =>
          Effect.promise(() => {
            const answered = new Promise<Buffer>((resolve) => socket.once("data", resolve))
            socket.write(text)
            return answered
          })
        const post = head({ method: "POST", target: "/test/unicode", headers: [["content-length", "3"]] })
        for (const text of [`${post}abc`, get("/test/unicode"), `${post}abc`]) {
          expect((yield* ask(text)).toString()).toStartWith("HTTP/1.1 200 ")
        }
        socket.destroy()
      }))

    test("serve plain requests that are sent before the first is answered", () =>
      scoped(function* () {
        const { port } = yield* start(5000, 1000)
        const socket = open(port)
        const all = untilClosed(socket)
        const plain = get("/test/unicode")
        socket.write(`${plain}${plain}${head({ method: "GET", target: "/test/unicode" }, ["connection: close"])}`)
        const raw = yield* Effect.promise(() => all)
        expect(raw.toString().match(/HTTP\/1\.1 200/g)).toHaveLength(3)
      }))

    test("end after a body that is too large, whose rest stays unread", () =>
      scoped(function* () {
        // Longer than a test may take: what ends it is not that it was given up.
        const { port } = yield* start(200_000, 1000)
        const socket = open(port)
        const all = untilClosed(socket)
        socket.write(head({ method: "POST", target: "/", headers: [["content-length", "10000000000"]] }))
        socket.write("a".repeat(100_000))
        const raw = yield* Effect.promise(() => all)
        expect(raw.toString()).toStartWith("HTTP/1.1 413 ")
        expect(raw.toString()).toMatch(/^connection: close\r$/im)
        expect(raw.toString()).toContain('"error":"invalid_request"')
      }))

    test("have their answer before the server goes, and no new one is taken", () =>
      scoped(function* () {
        const { began, close, port, release } = yield* start(10_000, 10_000)
        const idle = open(port)
        const idleAnswers = untilClosed(idle)
        const idleAnswered = new Promise((resolve) => idle.once("data", resolve))
        idle.write(get("/test/unicode"))
        yield* Effect.promise(() => idleAnswered)
        const heldAnswer = yield* hold(port, began)
        const closed = close()
        expect(yield* pollUntil(isRefused(port), 10_000)).toBe(true)
        // It has gone for newcomers and for who had nothing to wait for, and waits for the one.
        expect((yield* Effect.promise(() => idleAnswers)).toString()).toContain("200")
        release()
        // Who is not told sends the next request over this connection, and gets no answer.
        expect(yield* heldAnswer).toMatchObject({ status: 200, body: "held", isLast: true })
        yield* Effect.promise(() => closed)
      }))

    test("that are in use when the shutdown begins lose no request, and are told which answer is the last", () =>
      scoped(
        Effect.gen(function* () {
          const { close, port } = yield* start(10_000, 10_000)
          const used = asksUntilTold(port)
          yield* Effect.promise(() => used.answered)
          yield* Effect.promise(close)
          const { answers, requests, told } = yield* Effect.promise(() => used.ended)
          expect([answers, told]).toEqual([requests, true])
        })
      ))

    test("that never asked for anything hold up no shutdown", () =>
      scoped(function* () {
        const { began, close, port, release } = yield* start(10_000, hour)
        const silent = open(port)
        yield* Effect.promise(() => new Promise((resolve) => silent.once("connect", resolve)))
        const heldAnswer = yield* hold(port, began)
        const closed = close()
        expect(yield* pollUntil(isRefused(port), 10_000)).toBe(true)
        release()
        expect(yield* heldAnswer).toMatchObject({ status: 200, body: "held" })
        yield* Effect.promise(() => closed)
        silent.destroy()
      }))

    test("are cut off when the time for the shutdown is over", () =>
      scoped(function* () {
        const { began, close, port } = yield* start(10_000, 100)
        const held = open(port)
        const heldAnswer = untilClosed(held)
        held.write(get("/held"))
        yield* Effect.promise(began)
        yield* Effect.promise(close)
        expect((yield* Effect.promise(() => heldAnswer)).toString()).toBe("")
      }))
  })
}

test("a first request that came while a Node that ends was busy is answered", () =>
  scoped(function* () {
    built ??= yield* Scope.provide(nodeBuild, buildScope)
    const { stdout } = yield* runProgram(node(), [join(built, "test/runtimes/onNode/busyEnd.js")])
    expect(stdout).toStartWith("HTTP/1.1 200 OK")
  }))

test("a request that a host's own `Serve` throws at is a 500, in Node too, and the process goes on", () =>
  scoped(function* () {
    const { close, port } = yield* onNode.start(10_000, 1000)
    for (const target of ["/throws", "/rejects"]) {
      const answered = yield* Effect.promise(() => sendTo(port)({ method: "GET", target }))
      expect([answered.status, JSON.parse(answered.body).error]).toEqual([500, "server_error"])
    }
    expect((yield* Effect.promise(() => sendTo(port)({ method: "GET", target: "/test/unicode" }))).status).toBe(200)
    yield* Effect.promise(close)
  }))

test("an answer that Node refuses to send is a 500, in Node too, and the process goes on", () =>
  scoped(function* () {
    const { close, port } = yield* onNode.start(10_000, 1000)
    for (const path of Object.keys(unsendable)) {
      for (const target of [path, `${path}?later`]) {
        const refused = yield* Effect.promise(() => sendTo(port)({ method: "GET", target }))
        expect([target, refused.status, refused.headers.map(([name]) => name)]).toEqual([
          target,
          500,
          ["cache-control", "content-type", "pragma", "x-content-type-options", "x-request-id"]
        ])
        expect(JSON.parse(refused.body)).toMatchObject({ error: "server_error" })
      }
    }
    const socket = open(port)
    const all = untilClosed(socket)
    // On one connection: the next answer is its own, not what is left of the one before.
    socket.write(
      `${get("/unsendable/value")}${head({ method: "GET", target: "/test/unicode" }, ["connection: close"])}`
    )
    const raw = (yield* Effect.promise(() => all)).toString()
    expect(raw.match(/HTTP\/1\.1 .*/g)).toEqual(["HTTP/1.1 500 Internal Server Error", "HTTP/1.1 200 OK"])
    // With status 0, or it fails.
    yield* Effect.promise(close)
  }))
