import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { Elysia } from "elysia"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import { decodeJwt } from "jose"
import Koa from "koa"
import * as ofElysia from "../../runtimes/elysia.ts"
import * as ofExpress from "../../runtimes/express.ts"
import * as ofFastify from "../../runtimes/fastify.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import { type Guard, jwtGuard } from "../../runtimes/guard.ts"
import * as ofHono from "../../runtimes/hono.ts"
import * as ofKoa from "../../runtimes/koa.ts"
import * as ofNode from "../../runtimes/node.ts"
import { type Holder, holderOf, proofFor, tokenProof } from "../given/dpop.ts"
import { form, formHeaders, header, jsonOf, registerClient, text } from "../given/flow.ts"
import { inWorld, realSignatures, theWorkspace } from "../given/World.ts"
import { listening, type Running } from "./listening.ts"
import { withRemote } from "./remote.ts"

/** The guards that an app puts before its routes: that of the server beside it, and two of an API elsewhere. */
type Guards = Readonly<Record<"local" | "remote" | "jwt", Guard>>

const needs = { scopes: ["api"] }
const required = { ...needs, dpop: "required" } as const

/** A route for each guard, `/api/local` and so on, and one that admits no token but a bound one, `/api/local/bound`. */
const routesOf = (guards: Guards) =>
  Object.entries(guards).flatMap(([name, guard]) => [
    { path: `/api/${name}`, guard, asks: needs },
    { path: `/api/${name}/bound`, guard, asks: required }
  ])

const onBun = (fetch: (request: Request) => Response | Promise<Response>): Running => {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch })
  return { port: server.port ?? 0, stop: () => server.stop(true) }
}

const frameworks: ReadonlyArray<readonly [name: string, start: (guards: Guards) => Promise<Running>]> = [
  [
    "Elysia",
    async (guards) => {
      const app = new Elysia()
      for (const { asks, guard, path } of routesOf(guards)) {
        app.group(path, (api) => api.resolve(ofElysia.guard(guard, asks)).all("", ({ principal }) => principal._tag))
      }
      return onBun((request) => app.fetch(request))
    }
  ],
  [
    "Express",
    (guards) => {
      const app = express()
      for (const { asks, guard, path } of routesOf(guards)) {
        app.all(path, ofExpress.guard(guard, asks), (_, response) => response.end("in"))
      }
      return listening(app)
    }
  ],
  [
    "Fastify",
    async (guards) => {
      const app = fastify()
      for (const { asks, guard, path } of routesOf(guards)) {
        app.all(path, { onRequest: ofFastify.guard(guard, asks) }, () => "in")
      }
      await app.listen({ port: 0, host: "127.0.0.1" })
      return { port: Number(new URL(app.listeningOrigin).port), stop: () => app.close() }
    }
  ],
  [
    "Koa",
    (guards) => {
      const app = new Koa()
      for (const { asks, guard, path } of routesOf(guards)) {
        const guarded = ofKoa.guard(guard, asks)
        app.use((context, next) => (context.path === path ? guarded(context, next) : next()))
      }
      app.use((context) => {
        context.body = "in"
      })
      return listening(app.callback())
    }
  ],
  [
    "Hono",
    async (guards) => {
      const app = new Hono()
      for (const { asks, guard, path } of routesOf(guards)) {
        app.all(path, ofHono.guard(guard, asks), (context) => context.text("in"))
      }
      return onBun((request) => app.fetch(request))
    }
  ],
  [
    "fetch",
    async (guards) => {
      const handlers = new Map(
        routesOf(guards).map(({ asks, guard, path }) => [path, ofFetch.guard(guard, asks, () => new Response("in"))])
      )
      const none = () => new Response(null, { status: 404 })
      return onBun((request) => (handlers.get(new URL(request.url).pathname) ?? none)(request))
    }
  ],
  [
    "Node's own server",
    (guards) => {
      const middlewares = new Map(
        routesOf(guards).map(({ asks, guard, path }) => [path, ofNode.guard(guard, asks)] as const)
      )
      return listening((request, response) => {
        const path = request.url?.split("?", 1)[0] ?? ""
        middlewares.get(path)?.(request, response, () => response.end("in"))
      })
    }
  ]
]

const ada = await holderOf("ES256")
const eve = await holderOf("ES256")

/** What a caller has: a token that is bound to the key of Ada, and one that is bound to nothing. */
interface Tokens {
  readonly bound: string
  readonly bare: string
}

interface Call {
  readonly scheme?: string
  readonly token?: keyof Tokens
  /** Behind the route's path. */
  readonly query?: string
  /** Whose key signs the proof; `null`: there is none. */
  readonly by?: Holder | null
  /** Where the call is no GET. */
  readonly sends?: "POST"
  /** What the proof is for, where it is not for this call. */
  readonly method?: string
  readonly at?: string
  readonly ath?: keyof Tokens
  readonly twice?: true
}

/** What is sent to a route of this origin. */
const headersOf = async (origin: string, path: string, tokens: Tokens, sent: Call): Promise<Headers> => {
  const { at, ath, by = ada, method = "GET", scheme = "DPoP", token = "bound", twice } = sent
  const headers = new Headers({ authorization: `${scheme} ${tokens[token]}` })
  const address = new URL(at ?? path, origin).href
  for (const _ of by === null ? [] : twice === true ? [1, 2] : [1]) {
    headers.append("dpop", await Effect.runPromise(proofFor(by ?? ada, method, address, tokens[ath ?? token])))
  }
  return headers
}

const namesDpop = (challenge: string | null | undefined): boolean =>
  /\bDPoP (?:.*, )?algs="[^"]*\bES256\b/.test(challenge ?? "")

const rows: ReadonlyArray<readonly [what: string, call: Call, status: 200 | 401]> = [
  ["a token with the proof of its key", {}, 200],
  ["the scheme in lower case", { scheme: "dpop" }, 200],
  ["a query, which no proof names", { query: "?page=2" }, 200],
  ["no proof", { by: null }, 401],
  ["no proof, as Bearer", { by: null, scheme: "Bearer" }, 401],
  ["its proof, as Bearer", { scheme: "Bearer" }, 401],
  ["a proof of another key", { by: eve }, 401],
  ["a proof for another method", { method: "POST" }, 401],
  ["a proof for another path", { at: "/api/other" }, 401],
  ["a proof for another host", { at: "https://evil.example/api/local" }, 401],
  ["a proof for another token", { ath: "bare" }, 401],
  ["two proofs", { twice: true }, 401],
  ["a token that is bound to nothing, with a proof", { token: "bare" }, 401]
]

const posted: typeof rows = [
  ["POST, with a proof for it", { sends: "POST", method: "POST" }, 200],
  ["POST, with a proof for GET", { sends: "POST" }, 401]
]

describe("a guarded route takes a bound token with its key alone (RFC 9449 §7)", () => {
  test.each(frameworks)("in %s, by each kind of guard", (_, start) =>
    withRemote({}, async ({ auth, clock, guard: remote, resource }) => {
      const { client, secret } = await auth.clients.register({
        client_name: "Machine",
        grant_types: ["client_credentials"],
        token_endpoint_auth_method: "client_secret_post"
      })
      await auth.clients.setAccessTokenFormat(client.id, "jwt")
      const tokenBy = async (headers: Record<string, string>) => {
        const fields = { grant_type: "client_credentials", client_id: client.id, client_secret: secret ?? "" }
        const sent = { method: "POST", headers, body: new URLSearchParams(fields) }
        return (await (await auth.handle(new Request(`${resource}/oauth/token`, sent))).json()) as {
          readonly access_token: string
          readonly token_type: string
        }
      }
      const dpop = await Effect.runPromise(proofFor(ada, "POST", `${resource}/oauth/token`))
      const first = await tokenBy({ dpop })
      const second = await tokenBy({})
      expect([first.token_type, second.token_type]).toEqual(["DPoP", "Bearer"])
      const tokens: Tokens = { bound: first.access_token, bare: second.access_token }
      expect([decodeJwt(tokens.bound).cnf, decodeJwt(tokens.bare).cnf]).toEqual([{ jkt: ada.jkt }, undefined])

      const jwt = jwtGuard({ issuer: resource, resource, clock })
      const app = await start({ local: auth, remote, jwt })
      const call = async (path: string, sent: Call) => {
        const headers = await headersOf(resource, path, tokens, sent)
        const ask = async () => {
          const init = { method: sent.sends ?? "GET", headers }
          const answer = await fetch(`http://127.0.0.1:${app.port}${path}${sent.query ?? ""}`, init)
          await answer.text()
          return { status: answer.status, names: namesDpop(answer.headers.get("www-authenticate")) }
        }
        return { ask }
      }
      try {
        for (const path of ["/api/local", "/api/remote", "/api/jwt"]) {
          for (const [what, how, status] of [...rows, ...posted]) {
            const told = await (await call(path, how)).ask()
            expect([path, what, told]).toEqual([path, what, { status, names: status === 401 }])
          }
          const once = await call(path, {})
          expect([path, (await once.ask()).status, (await once.ask()).status]).toEqual([path, 200, 401])
          const bare = await call(path, { token: "bare", scheme: "Bearer", by: null })
          expect([path, (await bare.ask()).status]).toEqual([path, 200])
          const asked = `${path}/bound`
          const unbound = await call(asked, { token: "bare", scheme: "Bearer", by: null })
          expect([asked, (await unbound.ask()).status, (await (await call(asked, {})).ask()).status]).toEqual([
            asked,
            401,
            200
          ])
        }
      } finally {
        await app.stop()
      }
    })
  )

  test.each(frameworks)("in %s, with a nonce of the server's where it asks for one (RFC 9449 §9)", (_, start) =>
    withRemote({ host: { dpop: { nonces: "all" } } }, async ({ auth, clock, guard: remote, resource }) => {
      const { client, secret } = await auth.clients.register({
        client_name: "Machine",
        grant_types: ["client_credentials"],
        token_endpoint_auth_method: "client_secret_post"
      })
      const nonceFor = async (ask: (nonce: string | undefined) => Promise<Response>) => {
        const told = await ask(undefined)
        return told.headers.get("dpop-nonce") ?? ""
      }
      const address = `${resource}/oauth/token`
      const tokenBy = async (nonce: string | undefined) => {
        const dpop = await Effect.runPromise(proofFor(ada, "POST", address, undefined, { claims: { nonce } }))
        const fields = { grant_type: "client_credentials", client_id: client.id, client_secret: secret ?? "" }
        return auth.handle(
          new Request(address, { method: "POST", headers: { dpop }, body: new URLSearchParams(fields) })
        )
      }
      const nonce = await nonceFor(tokenBy)
      // RFC 6749 §5.1: what the token endpoint answers; a wrong shape fails what follows.
      const { access_token } = (await (await tokenBy(nonce)).json()) as { readonly access_token: string }
      const app = await start({ local: auth, remote, jwt: jwtGuard({ issuer: resource, resource, clock }) })
      const call = async (nonce: string | undefined) => {
        const claims = { claims: { nonce } }
        const dpop = await Effect.runPromise(proofFor(ada, "GET", `${resource}/api/local`, access_token, claims))
        const headers = { authorization: `DPoP ${access_token}`, dpop }
        return fetch(`http://127.0.0.1:${app.port}/api/local`, { headers })
      }
      try {
        const first = await call(undefined)
        expect([first.status, first.headers.get("www-authenticate")]).toEqual([
          401,
          expect.stringMatching(/^DPoP algs="[^"]+", error="use_dpop_nonce"/)
        ])
        expect((await call(`${nonce.slice(0, -1)}${nonce.endsWith("A") ? "B" : "A"}`)).status).toBe(401)
        expect((await call(await nonceFor(call))).status).toBe(200)
        expect((await call(nonce)).status).toBe(200)
      } finally {
        await app.stop()
      }
    })
  )

  test.each(frameworks)("in %s, and tells the next one (RFC 9449 §8.2): who is busy is refused once", (_, start) =>
    withRemote({ host: { dpop: { nonces: "all" } } }, async ({ auth, clock, guard: remote, resource, wait }) => {
      const { client, secret } = await auth.clients.register({
        client_name: "Machine",
        grant_types: ["client_credentials"],
        token_endpoint_auth_method: "client_secret_post"
      })
      let nonce: string | undefined
      const shown = async (method: string, path: string, token?: string) => {
        const claims = { nonce, iat: clock.currentTimeMillisUnsafe() / 1000 }
        return Effect.runPromise(proofFor(ada, method, `${resource}${path}`, token, { claims }))
      }
      const told = (answer: Response) => {
        nonce = answer.headers.get("dpop-nonce") ?? nonce
        return answer
      }
      const tokenBy = async () => {
        const fields = { grant_type: "client_credentials", client_id: client.id, client_secret: secret ?? "" }
        const headers = { dpop: await shown("POST", "/oauth/token") }
        const sent = { method: "POST", headers, body: new URLSearchParams(fields) }
        return told(await auth.handle(new Request(`${resource}/oauth/token`, sent)))
      }
      await tokenBy()
      // RFC 6749 §5.1: what the token endpoint answers; a wrong shape fails what follows.
      const { access_token } = (await (await tokenBy()).json()) as { readonly access_token: string }
      const app = await start({ local: auth, remote, jwt: jwtGuard({ issuer: resource, resource, clock }) })
      const statuses: Array<number> = []
      nonce = undefined
      try {
        for (let call = 0; call < 10; call++) {
          const dpop = await shown("GET", "/api/local", access_token)
          const headers = { authorization: `DPoP ${access_token}`, dpop }
          const answer = told(await fetch(`http://127.0.0.1:${app.port}/api/local`, { headers }))
          statuses.push(answer.status)
          const body = await answer.text()
          if (answer.status === 200) expect(["in", "Workspace"]).toContain(body)
          await wait(30_000)
        }
        expect(statuses).toEqual([401, ...Array<number>(9).fill(200)])
      } finally {
        await app.stop()
      }
    })
  )

  test("in an Effect program, by the guard of `Tessera`", () =>
    inWorld(
      function* (world) {
        const { id, secret } = yield* registerClient(world, {
          grant_types: ["client_credentials"],
          redirect_uris: [],
          token_endpoint_auth_method: "client_secret_post"
        })
        const tokenBy = (headers: Readonly<Record<string, string>>) =>
          Effect.map(
            world.send("POST", "/oauth/token", {
              headers: { ...formHeaders, ...headers },
              body: form({ grant_type: "client_credentials", client_id: id, client_secret: secret })
            }),
            (answer) => text(jsonOf(answer).access_token)
          )
        const tokens = { bound: yield* tokenBy({ dpop: yield* tokenProof(ada) }), bare: yield* tokenBy({}) }
        const told = Effect.fnUntraced(function* (headers: Headers, asks: object, query = "") {
          const guarded = yield* world.guard(`/api/local${query}`, { ...needs, ...asks }, Object.fromEntries(headers))
          if (guarded._tag === "Admitted") return { status: 200, names: false }
          const { response } = guarded
          return { status: response.status, names: namesDpop(header(response, "www-authenticate")) }
        })
        const sent = (how: Call) => Effect.promise(() => headersOf(theWorkspace.issuer, "/api/local", tokens, how))
        for (const [what, how, status] of rows) {
          const answer = yield* told(yield* sent(how), {}, how.query)
          expect([what, answer]).toEqual([what, { status, names: status === 401 }])
        }
        const once = yield* sent({})
        expect([(yield* told(once, {})).status, (yield* told(once, {})).status]).toEqual([200, 401])
        const bare = yield* sent({ token: "bare", scheme: "Bearer", by: null })
        expect([(yield* told(bare, {})).status, (yield* told(bare, required)).status]).toEqual([200, 401])
        expect((yield* told(yield* sent({}), required)).status).toBe(200)
      },
      { signatures: realSignatures }
    ))
})
