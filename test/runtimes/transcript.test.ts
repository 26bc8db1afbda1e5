import { afterAll, expect } from "bun:test"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { Elysia } from "elysia"
import { serveWith } from "../../core/serve.ts"
import { listen } from "../../runtimes/bun/listen.ts"
import * as ofElysia from "../../runtimes/elysia.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import * as ofNode from "../../runtimes/node.ts"
import { noProxies } from "../../runtimes/serve/peer.ts"
import { freePort } from "../harness/freePort.ts"
import { node } from "../harness/given.ts"
import { embedded, type Hosts } from "./frameworks/embedded.ts"
import { app } from "./given/app.ts"
import { startChild } from "./given/Child.ts"
import { nodeBuild } from "./given/nodeBuild.ts"
import { normal, type Send, sendTo } from "./given/wire.ts"
import { type Candidate, playEverywhere } from "./playEverywhere.ts"

const inProcess = (issuer: string) =>
  Effect.sync((): Send => {
    const handle = ofFetch.handler(serveWith(app(issuer)))
    return async ({ method, target, headers = [], body }) => {
      const request = new Request(`http://localhost:3000${target}`, {
        method,
        headers: headers.map(([name, value]) => [name, value] satisfies [string, string]),
        ...(body === undefined ? {} : { body: typeof body === "string" ? body : new Blob([new Uint8Array(body)]) })
      })
      const response = await handle(request, () => "127.0.0.1")
      return normal(response.status, response.headers, await response.text(), method === "HEAD")
    }
  })

const onBun = (issuer: string) =>
  Effect.gen(function* () {
    const port = yield* freePort
    const server = yield* listen({
      host: "127.0.0.1",
      port,
      serve: serveWith(app(issuer)),
      trustedProxies: noProxies,
      requestTimeout: 10_000,
      shutdownTimeout: 1000
    })
    return sendTo(server.port)
  })

const onNodeServer = (issuer: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const made = ofNode.server(serveWith(app(issuer)), { requestTimeout: 10_000 })
      await new Promise<void>((resolve) => made.server.listen(0, "127.0.0.1", resolve))
      return made
    }),
    ({ close }) => Effect.promise(() => close(1000))
  ).pipe(
    Effect.map(({ server }) => {
      const address = server.address()
      return sendTo(typeof address === "object" && address !== null ? address.port : 0)
    })
  )

let built: string | undefined
const buildScope = Scope.makeUnsafe()
afterAll(() => Effect.runPromise(Scope.close(buildScope, Exit.void)))

const onNode = (issuer: string) =>
  Effect.gen(function* () {
    built ??= yield* Scope.provide(nodeBuild, buildScope)
    const folder = built
    const child = yield* startChild(node(), [join(folder, "test/runtimes/onNode/main.js"), issuer])
    const [, port] = yield* Effect.promise(() => child.says(/^(\d+)$/m))
    return sendTo(Number(port))
  })

/** A host's own app: its own routes before and behind, its own hooks, and its own opinion on bodies. */
const onElysia =
  (aot = true, hosts: Hosts = "one") =>
  (issuer: string) =>
    Effect.gen(function* () {
      const { mount } = yield* Effect.promise(() => embedded(issuer, hosts))
      const host = new Elysia({ aot })
        .onRequest(() => undefined)
        .get("/", () => "home")
        .use(ofElysia.mount(mount))
        .post("/own", ({ body }) => ({ body }))
        .get("/users/:id", ({ params }) => params.id)
      yield* Effect.acquireRelease(
        Effect.sync(() => host.listen({ port: 0, hostname: "127.0.0.1" })),
        () => Effect.promise(() => host.stop(true))
      )
      const send = sendTo(host.server?.port ?? 0)
      yield* Effect.promise(async () => {
        expect((await send({ method: "GET", target: "/" })).body).toBe("home")
        expect((await send({ method: "GET", target: "/users/7" })).body).toBe("7")
        const own = {
          method: "POST",
          target: "/own",
          headers: [["content-type", "application/json"]],
          body: '{"a":1}'
        } as const
        expect((await send(own)).body).toBe('{"body":{"a":1}}')
      })
      return send
    })

const candidates: ReadonlyArray<Candidate> = [
  { name: "fetch", prefix: "", has: ["own", "stray", "second"], start: inProcess },
  { name: "Bun.serve", prefix: "", has: ["own", "wire", "stray", "second"], start: onBun },
  { name: "node:http, in Bun", prefix: "", has: ["own", "stray", "second"], start: onNodeServer },
  { name: "node:http, in Node", prefix: "", has: ["own", "wire", "stray", "second"], start: onNode },
  { name: "Elysia", prefix: "", has: ["wire", "stray"], start: onElysia() },
  { name: "Elysia, with many workspaces", prefix: "", has: ["wire", "stray", "second"], start: onElysia(true, "many") },
  { name: "Elysia, not compiled", prefix: "", has: ["wire", "stray"], start: onElysia(false) },
  { name: "fetch, below a path", prefix: "/auth", has: ["own", "stray", "second"], start: inProcess },
  { name: "Bun.serve, below a path", prefix: "/auth", has: ["own", "wire", "stray", "second"], start: onBun },
  { name: "node:http, in Node, below a path", prefix: "/auth", has: ["own", "wire", "stray", "second"], start: onNode },
  { name: "Elysia, below a path", prefix: "/auth", has: ["wire", "stray"], start: onElysia() },
  {
    name: "Elysia, with many workspaces below a path",
    prefix: "/auth",
    has: ["wire", "stray", "second"],
    start: onElysia(true, "many")
  }
]

playEverywhere(candidates)
