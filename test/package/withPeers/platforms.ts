import { createServer } from "node:http"
import { Redacted } from "effect"
import { Elysia } from "elysia"
import { createTessera } from "tessera"
import { tessera } from "tessera/runtime/elysia"
import { nodeListener } from "tessera/runtime/node"
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
  return { elysia: new Elysia().use(tessera(auth)), node: createServer(nodeListener(auth.serve)) }
})
