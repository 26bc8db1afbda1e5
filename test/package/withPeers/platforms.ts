import { createServer } from "node:http"
import { Redacted } from "effect"
import { Elysia } from "elysia"
import { createTessera } from "tessera"
import * as ofElysia from "tessera/elysia"
import * as ofExpress from "tessera/express"
import * as ofFastify from "tessera/fastify"
import { localGuard } from "tessera/guard"
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
