import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { node } from "../harness/given.ts"
import { embedded } from "./frameworks/embedded.ts"
import { honoApp } from "./frameworks/hono.ts"
import { startChild } from "./given/Child.ts"
import { nodeBuild } from "./given/nodeBuild.ts"
import { type Send, type Sent, sendTo } from "./given/wire.ts"
import { type Candidate, playEverywhere } from "./playEverywhere.ts"
import { limit } from "./transcript.ts"

interface Started {
  readonly name: string
  readonly issuer: string
  readonly port: number
}

const prefixes = ["", "/auth"]
const issuerAt = (prefix: string) => `http://localhost:3000${prefix}`

const scope = Scope.makeUnsafe()
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

let started: Promise<ReadonlyArray<Started>> | undefined

/** One Node for all that runs on Node. */
const startNode = async (): Promise<ReadonlyArray<Started>> => {
  const folder = await Effect.runPromise(Scope.provide(nodeBuild, scope))
  const args = [join(folder, "test/runtimes/frameworks/main.js"), ...prefixes.map(issuerAt)]
  const child = await Effect.runPromise(Scope.provide(startChild(node(), args), scope))
  const [, line = ""] = await child.says(/^(\[.*\])$/m)
  // Our own program's words.
  return JSON.parse(line) as ReadonlyArray<Started>
}

const onNode = (name: string) => (issuer: string) =>
  Effect.promise(async (): Promise<Send> => {
    started ??= startNode()
    const found = (await started).find((one) => one.name === name && one.issuer === issuer)
    if (found === undefined) throw new Error(`${name} did not start`)
    return sendTo(found.port)
  })

const honoOnBun = (issuer: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const app = honoApp(await embedded(issuer))
      return Bun.serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" })
    }),
    (server) => Effect.promise(() => server.stop(true))
  ).pipe(Effect.map(({ port = 0 }) => sendTo(port)))

const applications: ReadonlyArray<Omit<Candidate, "prefix">> = [
  { name: "Express 5", has: ["wire", "stray"], adds: ["x-powered-by"], start: onNode("Express 5") },
  // Fastify's router answers for a `%` that escapes nothing before any hook is asked.
  { name: "Fastify 5", has: ["wire"], start: onNode("Fastify 5") },
  { name: "Hono, on Node", has: ["wire", "stray"], start: onNode("Hono, on Node") },
  { name: "Hono, on Bun", has: ["wire", "stray"], start: honoOnBun },
  { name: "Koa", has: ["wire", "stray"], adds: ["x-mine"], start: onNode("Koa") }
]

const candidates: ReadonlyArray<Candidate> = prefixes.flatMap((prefix) =>
  applications.map((one) => ({ ...one, prefix, name: prefix === "" ? one.name : `${one.name}, below a path` }))
)

playEverywhere(candidates)

for (const { name, prefix, start } of candidates) {
  describe(`beside Tessera in ${name}`, () => {
    const own = Scope.makeUnsafe()
    let send: Send
    beforeAll(async () => {
      send = await Effect.runPromise(start(issuerAt(prefix)).pipe(Scope.provide(own)))
    }, 60_000)
    afterAll(() => Effect.runPromise(Scope.close(own, Exit.void)))
    const bodyOf = async (sent: Sent) => (await send(sent)).body

    test("the app's own routes answer", async () => {
      expect(await bodyOf({ method: "GET", target: "/" })).toBe("home")
      expect(await bodyOf({ method: "GET", target: "/users/7" })).toBe("7")
    })

    test("the app's own parsers read its own bodies, and hold them to its own limit", async () => {
      const json = ["content-type", "application/json"] as const
      const form = ["content-type", "application/x-www-form-urlencoded"] as const
      const post = { method: "POST", target: "/own" } as const
      expect(await bodyOf({ ...post, headers: [json], body: '{"a":1}' })).toBe('{"a":1}')
      expect(await bodyOf({ ...post, headers: [form], body: "a=b%20c" })).toBe('{"a":"b c"}')
      const large = JSON.stringify({ a: "b".repeat(limit) })
      expect(await bodyOf({ ...post, headers: [json], body: large })).toBe(large)
    })

    test("what is nobody's is the app's own 404", async () => {
      const elsewhere = prefix === "" ? "/oauth/token/x" : "/oauth/token"
      const paths = ["/nowhere", "/oauth", "/oauth/token/", "/OAuth/token", "/oauth%2Ftoken", "/%6Fauth/token"]
      const targets = [elsewhere, "/authx/oauth/token", "/.well-known/openid-configuration"]
      for (const target of [...paths.map((path) => prefix + path), ...targets]) {
        for (const method of ["GET", "OPTIONS"]) {
          const { body, status } = await send({ method, target })
          expect({ method, target, status, body }).toEqual({ method, target, status: 404, body: "my own 404" })
        }
      }
    })
  })
}
