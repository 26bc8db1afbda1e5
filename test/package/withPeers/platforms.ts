import { createServer } from "node:http"
import { Redacted } from "effect"
import { Elysia } from "elysia"
import { Hono } from "hono"
import { createTessera } from "tessera"
import * as ofElysia from "tessera/elysia"
import * as ofExpress from "tessera/express"
import * as ofFastify from "tessera/fastify"
import { localGuard } from "tessera/guard"
import * as ofHono from "tessera/hono"
import * as ofKoa from "tessera/koa"
import * as ofNode from "tessera/node"
import * as postgres from "tessera/storage/postgres"
import * as redis from "tessera/storage/redis"
import * as sqlite from "tessera/storage/sqlite"

const stores = {
  postgres: postgres.layer({ url: Redacted.make("postgres://127.0.0.1/tessera") }),
  redis: redis.layer({ url: "redis://127.0.0.1" }),
  sqlite: sqlite.layer({ path: "tessera.db" })
}

/** What only they need who have the drivers and frameworks for it. */
export const platforms = Object.values(stores).map((storage) => {
  const auth = createTessera({
    issuer: "https://auth.example.com",
    storage,
    keys: process.env.SEAL_KEYS ?? "",
    owner: { signedIn: () => undefined, signInAt: () => "/sign-in" }
  })
  return {
    elysia: new Elysia().use(ofElysia.mount(auth)),
    express: ofExpress.mount(auth),
    fastify: ofFastify.mount(auth),
    koa: ofKoa.mount(auth),
    node: createServer(ofNode.handler(auth.serve))
  }
})

const local = localGuard(() => Promise.reject(new Error("nothing is asked here")))
const needs = { scopes: ["api"] }

// A project that writes declarations has to find a name for the type of each of these.
export const onElysia = ofElysia.guard(local, needs)
export const onExpress = ofExpress.guard(local, needs)
export const onFastify = ofFastify.guard(local, needs)
export const onKoa = ofKoa.guard(local, needs)
export const onNode = ofNode.guard(local, needs)
export const onHono = ofHono.guard(local, needs)

// An app takes the guards of its own callers, and one that says nothing of them takes any.
const people = ofHono.guard(local, { scopes: ["api"], callers: ["User"] })
const shop = new Hono<{ Variables: ofHono.GuardVariables<"User"> }>().use(people)
shop.get("/orders/:id", people, (c) => c.json({ user: c.get("principal").user, order: c.req.param("id") }))
new Hono().use(onHono, people)
new Hono<{ Variables: { id: string } }>().use(onHono).get("/", people, (c) => c.text(c.get("id")))
new Hono<{ Variables: ofHono.GuardVariables }>().use(people).get("/", onHono, (c) => c.json(c.get("principal")))
// @ts-expect-error: a guard that admits any caller does not compile before routes of people
shop.use(onHono)
// @ts-expect-error: where it stands does not say whom it admits
shop.get("/carts", ofHono.guard(local, { scopes: ["api"] }), (c) => c.json(c.get("principal").user))
// @ts-expect-error: nor does one that admits others beside them
shop.use(ofHono.guard(local, { scopes: ["api"], callers: ["User", "ApiKey"] }))
