import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createServer } from "node:net"
import { Effect, Exit, Fiber, type Layer, Redacted, Scope } from "effect"
import { layer as postgres } from "../../adapters/postgres/Postgres.ts"
import { layer as redis } from "../../adapters/redis/Redis.ts"
import type { Storage, StorageScan } from "../../core/ports/Storage.ts"
import { tell } from "../adapters/postgres/freshDatabase.ts"
import { call, openAdmin } from "../adapters/redisGiven.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import type { Server, ServerFailed } from "../harness/Server.ts"
import { startPostgres } from "../harness/startPostgres.ts"
import { startRedis } from "../harness/startRedis.ts"
import { startRedisCluster } from "../harness/startRedisCluster.ts"
import { type Application, companies, redeem, refresh, register } from "./Application.ts"
import { makeLoad } from "./Load.ts"
import { openMint } from "./Mint.ts"
import { field } from "./Reply.ts"
import { environmentOver, type ServerProcess, startTessera, tessera } from "./ServerProcess.ts"

const limit = 60_000

/** A store of one's own, that may be harmed. */
interface Victim {
  /** For a test that meddles. */
  readonly adminUrl: string
  readonly databaseUrl: string
  readonly layer: Layer.Layer<Storage | StorageScan, { readonly message: string }>
  /** One of its servers. */
  readonly server: Server
}

const cutAll = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'oauth'"

const postgresVictim = Effect.gen(function* () {
  const server = yield* startPostgres()
  // The servers are no superusers, whom limits do not bind.
  yield* tell(server.url, "CREATE ROLE oauth LOGIN PASSWORD 'oauth'", "CREATE DATABASE oauth OWNER oauth")
  const database = new URL(server.url)
  database.pathname = "/oauth"
  const own = new URL(database)
  own.username = own.password = "oauth"
  return {
    adminUrl: database.href,
    databaseUrl: own.href,
    layer: postgres({ url: Redacted.make(own.href) }),
    server
  }
})

const redisVictim = Effect.gen(function* () {
  // So that what was acknowledged is on the disk.
  const server = yield* startRedis({ settings: { appendfsync: "always" } })
  return { adminUrl: server.url, databaseUrl: server.url, layer: redis({ url: server.url }), server }
})

const clusterVictim = Effect.gen(function* () {
  const { nodes, url } = yield* startRedisCluster({ settings: { appendfsync: "always" } })
  const [server] = nodes
  if (server === undefined) throw new Error("a cluster without nodes")
  return { adminUrl: server.url, databaseUrl: url, layer: redis({ url }), server }
})

interface Scene {
  readonly victim: Victim
  readonly servers: ReadonlyArray<ServerProcess>
  readonly first: ServerProcess
  readonly application: Application
  readonly codes: (count: number) => Effect.Effect<ReadonlyArray<string>>
}

const openScene = Effect.fnUntraced(function* (opening: Effect.Effect<Victim, ServerFailed, Scope.Scope>) {
  const victim = yield* opening
  const environment = { STORAGE_TIMEOUT: "1500 millis" }
  const small = victim.databaseUrl.startsWith("postgres:") ? "?pool_size=4" : ""
  const store = { databaseUrl: `${victim.databaseUrl}${small}`, environment }
  const first = yield* startTessera(store)
  const servers = [first, yield* startTessera(store)]
  const application = yield* register(first)
  // Closed again after use: no failure cuts its connections.
  const codes = (count: number) =>
    Effect.gen(function* () {
      const mint = yield* openMint(victim)
      return yield* Effect.forEach(Array(count), () => mint.code(application), { concurrency: 16 })
    }).pipe(Effect.scoped, Effect.orDie)
  return { victim, servers, first, application, codes } satisfies Scene
})

const answers = (server: ServerProcess, path: string, status: number) =>
  Effect.map(server.get(path), (reply) => reply.status === status)

const eventually = Effect.fnUntraced(function* (what: string, holds: Effect.Effect<boolean>) {
  expect({ what, happened: yield* pollUntil(holds, limit) }).toEqual({ what, happened: true })
})

const allReady = (scene: Scene) =>
  Effect.forEach(scene.servers, (server) => eventually("ready again", answers(server, "/readyz", 200)), {
    discard: true
  })

/** The store is away: no requests should come here, and no restart. */
const expectUnreadyAndAlive = (scene: Scene) =>
  Effect.forEach(
    scene.servers,
    Effect.fnUntraced(function* (server) {
      yield* eventually(
        "not ready, and says when to ask again",
        Effect.map(server.get("/readyz"), ({ headers, status }) => status === 503 && headers.has("retry-after"))
      )
      expect((yield* server.get("/healthz")).status).toBe(200)
    }),
    { discard: true }
  )

interface Harm {
  readonly name: string
  /** Whether a server of ours dies, too. */
  readonly breaks?: boolean
  /** `progress`: until so many more requests have been answered. */
  readonly harm: (
    scene: Scene,
    progress: (more: number) => Effect.Effect<void>
  ) => Effect.Effect<void, ServerFailed, Scope.Scope>
}

const suffer = Effect.fnUntraced(function* (scene: Scene, { breaks = false, harm }: Harm) {
  yield* allReady(scene)
  const load = makeLoad(scene.servers, scene.application, yield* scene.codes(150), breaks)
  const progress = Effect.fnUntraced(function* (more: number) {
    const enough = load.acknowledged() + more
    yield* eventually(
      `${more} more answers`,
      Effect.sync(() => load.acknowledged() >= enough)
    )
  })
  const running = yield* Effect.forkChild(load.run)
  yield* progress(100)
  yield* harm(scene, progress)
  yield* allReady(scene)
  yield* progress(100)
  load.stop()
  yield* Fiber.join(running)
  yield* load.audit
  expect(load.complaints()).toEqual([])
})

const killServer: Harm = {
  name: "kill -9 of a server process in the middle of load",
  breaks: true,
  harm: Effect.fnUntraced(function* ({ first }, progress) {
    for (let round = 0; round < 2; round++) {
      yield* first.kill
      yield* progress(50)
      yield* first.start
      yield* progress(50)
    }
  })
}

const killStore: Harm = {
  name: "kill -9 of the store, and its return",
  harm: Effect.fnUntraced(function* (scene, progress) {
    for (let round = 0; round < 2; round++) {
      yield* scene.victim.server.kill
      yield* expectUnreadyAndAlive(scene)
      yield* scene.victim.server.start
      yield* allReady(scene)
      yield* progress(100)
    }
  })
}

const freezeStore: Harm = {
  name: "a store that hangs",
  harm: Effect.fnUntraced(function* (scene) {
    const { freeze, thaw } = scene.victim.server
    yield* freeze
    yield* Effect.ensuring(expectUnreadyAndAlive(scene), thaw)
  })
}

/** Bearer checks read, and go on. */
const expectReadOnly = Effect.fnUntraced(function* (
  { application, codes, first }: Scene,
  readOnly: Effect.Effect<unknown>
) {
  const [one = "", two = ""] = yield* codes(2)
  const tokens = yield* redeem(first, application, one)
  yield* readOnly
  yield* eventually(
    "writes are refused",
    Effect.map(redeem(first, application, two), ({ status }) => status === 503)
  )
  yield* eventually(
    "reads go on",
    Effect.map(companies(first, field(tokens, "access_token")), ({ status }) => status === 200)
  )
  const refused = yield* refresh(first, application, field(tokens, "refresh_token"))
  expect({ status: refused.status, retry: refused.headers.has("retry-after") }).toEqual({ status: 503, retry: true })
  yield* eventually("not ready", answers(first, "/readyz", 503))
})

const postgresHarms: ReadonlyArray<Harm> = [
  killServer,
  killStore,
  freezeStore,
  {
    name: "connections cut in the middle of transactions",
    harm: Effect.fnUntraced(function* ({ victim }, progress) {
      for (let round = 0; round < 8; round++) {
        yield* tell(victim.adminUrl, cutAll)
        yield* progress(20)
      }
    })
  },
  {
    name: "a pool that is full, because every statement waits",
    harm: Effect.fnUntraced(function* (scene) {
      // Every connection of both processes comes to wait for this lock, and then for the next.
      const holding = yield* Effect.forkChild(
        tell(
          scene.victim.adminUrl,
          "BEGIN",
          "LOCK TABLE tessera.grants, tessera.clients, tessera.usages IN ACCESS EXCLUSIVE MODE",
          "SELECT pg_sleep(4)",
          "COMMIT"
        )
      )
      yield* expectUnreadyAndAlive(scene)
      yield* Fiber.join(holding)
    })
  },
  {
    name: "a server that has no connection left",
    harm: Effect.fnUntraced(function* (scene) {
      const { adminUrl } = scene.victim
      // A role without superuser rights finds the database full from now on, and so do connections that were cut.
      yield* tell(adminUrl, "ALTER ROLE oauth CONNECTION LIMIT 0", cutAll)
      yield* expectUnreadyAndAlive(scene)
      yield* tell(adminUrl, "ALTER ROLE oauth CONNECTION LIMIT -1")
    })
  },
  {
    name: "a server that only reads",
    harm: Effect.fnUntraced(function* (scene) {
      const { adminUrl } = scene.victim
      yield* expectReadOnly(
        scene,
        tell(adminUrl, "ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()")
      )
      yield* tell(
        adminUrl,
        "SET default_transaction_read_only = off",
        "ALTER SYSTEM RESET default_transaction_read_only",
        "SELECT pg_reload_conf()"
      )
    })
  }
]

const redisHarms: ReadonlyArray<Harm> = [
  killServer,
  killStore,
  freezeStore,
  {
    name: "connections cut in the middle of writes",
    harm: Effect.fnUntraced(function* ({ victim }, progress) {
      const admin = yield* openAdmin(victim.adminUrl)
      for (let round = 0; round < 8; round++) {
        yield* call(admin, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        yield* progress(20)
      }
    })
  },
  {
    name: "a replica that refuses writes",
    harm: Effect.fnUntraced(function* (scene) {
      const admin = yield* openAdmin(scene.victim.adminUrl)
      yield* expectReadOnly(scene, call(admin, "REPLICAOF", "127.0.0.1", 1))
      yield* call(admin, "REPLICAOF", "NO", "ONE")
    })
  },
  {
    name: "a server without memory left",
    harm: Effect.fnUntraced(function* (scene) {
      const admin = yield* openAdmin(scene.victim.adminUrl)
      yield* expectReadOnly(scene, call(admin, "CONFIG", "SET", "maxmemory", 1))
      yield* call(admin, "CONFIG", "SET", "maxmemory", 0)
    })
  }
]

const clusterHarms: ReadonlyArray<Harm> = [
  {
    name: "kill -9 of a node, and its return",
    harm: Effect.fnUntraced(function* ({ servers, victim }, progress) {
      yield* victim.server.kill
      for (const server of servers) expect((yield* server.get("/healthz")).status).toBe(200)
      yield* victim.server.start
      yield* progress(100)
    })
  }
]

const scenes: ReadonlyArray<readonly [string, Effect.Effect<Victim, ServerFailed, Scope.Scope>, ReadonlyArray<Harm>]> =
  [
    ["PostgreSQL", postgresVictim, postgresHarms],
    ["Redis", redisVictim, redisHarms],
    ["a Redis Cluster", clusterVictim, clusterHarms]
  ]

for (const [name, open, harms] of scenes) {
  describe(`two server processes over ${name} lose nothing, give nothing twice, and go on by themselves, after`, () => {
    const scope = Scope.makeUnsafe()
    let scene: Scene
    beforeAll(async () => {
      scene = await Effect.runPromise(Scope.provide(openScene(open), scope))
    }, limit)
    afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)), limit)

    for (const harm of harms) {
      test(harm.name, () => Effect.runPromise(Effect.scoped(suffer(scene, harm))), 2 * limit)
    }
  })
}

/** In the store's place, until a client has come in vain. */
const someoneKnocks = (port: number) =>
  Effect.callback<void>((resume) => {
    const door = createServer((visitor) => {
      visitor.destroy()
      door.close(() => resume(Effect.void))
    })
    door.listen(port, "127.0.0.1")
  })

describe("a store that is away when a server starts", () => {
  const nowhere = [
    ["PostgreSQL", "postgres://tessera:hunter2@127.0.0.1:1/tessera"],
    ["Redis", "redis://:hunter2@127.0.0.1:1"],
    ["a Redis Cluster", "redis+cluster://:hunter2@127.0.0.1:1,127.0.0.1:2"]
  ] as const
  for (const [name, databaseUrl] of nowhere) {
    test.concurrent(`${name}: it says why it waits, and gives up with the reason and status 1`, () =>
      Effect.gen(function* () {
        const environment = environmentOver({ databaseUrl, environment: {} })
        const { status, stderr, stdout } = yield* tessera(["serve"], {
          ...environment,
          STORAGE_TIMEOUT: "500 millis"
        })
        expect({ status, stdout }).toEqual({ status: 1, stdout: "" })
        const lines = stderr.trim().split("\n")
        expect(lines.length).toBeGreaterThan(1)
        const [first = ""] = lines
        expect(JSON.parse(first)).toMatchObject({
          level: "Warn",
          message: expect.stringMatching(/Waiting for PostgreSQL|The storage does not answer, trying again/)
        })
        // One line for an operator who looks only at the last.
        expect(lines.at(-1)).toMatch(/^(?:PostgreSQL|Redis) at \S+127\.0\.0\.1:1\S*: \S/)
        expect(stderr).not.toContain("hunter2")
      }).pipe(Effect.runPromise))
  }

  const late: ReadonlyArray<readonly [string, Effect.Effect<Victim, ServerFailed, Scope.Scope>]> = [
    ["PostgreSQL", postgresVictim],
    ["Redis", redisVictim]
  ]
  for (const [name, open] of late) {
    test.concurrent(`${name}: it waits for one that comes late`, () =>
      Effect.gen(function* () {
        const victim = yield* open
        yield* victim.server.kill
        const starting = yield* Effect.forkChild(startTessera({ databaseUrl: victim.databaseUrl, environment: {} }))
        yield* someoneKnocks(victim.server.port)
        yield* victim.server.start
        const server = yield* Fiber.join(starting)
        expect((yield* server.get("/readyz")).status).toBe(200)
        expect(server.log()).toMatch(/Waiting for PostgreSQL|The storage does not answer, trying again/)
      }).pipe(Effect.scoped, Effect.runPromise))
  }
})
