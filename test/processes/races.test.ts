import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Effect, Exit, Scope } from "effect"
import { type Application, companies, redeem, refresh, register } from "./Application.ts"
import { openMint } from "./Mint.ts"
import { field, type Reply } from "./Reply.ts"
import { type ServerProcess, startTessera } from "./ServerProcess.ts"
import { clusterStore, postgresStore, redisStore, type Store, sqliteStore } from "./Store.ts"

const clients = 32

interface Setting {
  readonly name: string
  readonly open: Effect.Effect<Store, never, Scope.Scope>
  readonly processes: number
  readonly grace: "no grace" | "60 seconds"
  readonly codes: number
}

/** Five hundred codes in all, each for 32 clients: the more where the store and the machine are quick about it. */
const settings: ReadonlyArray<Setting> = [
  { name: "SQLite", open: sqliteStore, processes: 2, grace: "no grace", codes: 50 },
  { name: "SQLite", open: sqliteStore, processes: 2, grace: "60 seconds", codes: 50 },
  { name: "PostgreSQL", open: postgresStore, processes: 2, grace: "no grace", codes: 50 },
  { name: "PostgreSQL", open: postgresStore, processes: 4, grace: "60 seconds", codes: 50 },
  { name: "Redis", open: redisStore, processes: 2, grace: "no grace", codes: 100 },
  { name: "Redis", open: redisStore, processes: 4, grace: "60 seconds", codes: 100 },
  { name: "a Redis Cluster", open: clusterStore, processes: 2, grace: "no grace", codes: 50 },
  { name: "a Redis Cluster", open: clusterStore, processes: 4, grace: "60 seconds", codes: 50 }
]
const lines = 8
/** So many codes or lines are fought for at the same time. */
const atOnce = { concurrency: 3 }

interface Scene {
  readonly servers: ReadonlyArray<ServerProcess>
  readonly application: Application
  readonly code: Effect.Effect<string>
}

const openScene = Effect.fnUntraced(function* ({ grace, open, processes }: Setting) {
  const store = yield* open
  const environment = { REFRESH_GRACE: grace === "no grace" ? "0" : grace }
  const servers = yield* Effect.all(
    Array.from({ length: processes }, () => startTessera(store, environment)),
    { concurrency: "unbounded" }
  )
  const application = yield* register(at(servers, 0))
  const mint = yield* openMint(store)
  return { servers, application, code: Effect.orDie(mint.code(application)) } satisfies Scene
})

const at = (servers: ReadonlyArray<ServerProcess>, n: number): ServerProcess => {
  const server = servers[n % servers.length]
  if (server === undefined) throw new Error("no server")
  return server
}

/** All of them at once, each at the next process. */
const crowd = ({ servers }: Scene, ask: (server: ServerProcess) => Effect.Effect<Reply>) =>
  Effect.forEach(
    Array.from({ length: clients }, (_, n) => at(servers, n)),
    ask,
    { concurrency: "unbounded" }
  )

const outcome = (reply: Reply) => `${reply.status} ${field(reply, "error")}`.trim()

const outcomes = (replies: ReadonlyArray<Reply>): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const reply of replies) counts[outcome(reply)] = (counts[outcome(reply)] ?? 0) + 1
  return counts
}

const onlyOne = { 200: 1, "400 invalid_grant": clients - 1 }

/** The one answer that has something in it. */
const winner = (replies: ReadonlyArray<Reply>): Reply => {
  const [found] = replies.filter(({ status }) => status === 200)
  if (found === undefined) throw new Error("nobody won")
  return found
}

/** Nothing that the grant has ever given out opens anything any more, at any process. */
const expectDead = Effect.fnUntraced(function* (scene: Scene, tokens: Reply) {
  for (const server of scene.servers) {
    expect((yield* companies(server, field(tokens, "access_token"))).status).toBe(401)
    expect(outcome(yield* refresh(server, scene.application, field(tokens, "refresh_token")))).toBe("400 invalid_grant")
  }
})

const raceForCode = Effect.fnUntraced(function* (scene: Scene) {
  const code = yield* scene.code
  const replies = yield* crowd(scene, (server) => redeem(server, scene.application, code))
  expect(outcomes(replies)).toEqual(onlyOne)
  // Another client had the code too (RFC 6749 §4.1.2).
  yield* expectDead(scene, winner(replies))
})

const newLine = Effect.fnUntraced(function* (scene: Scene) {
  const tokens = yield* redeem(at(scene.servers, 0), scene.application, yield* scene.code)
  expect(tokens.status).toBe(200)
  return tokens
})

const raceWithoutGrace = Effect.fnUntraced(function* (scene: Scene) {
  const first = yield* newLine(scene)
  const text = field(first, "refresh_token")
  const replies = yield* crowd(scene, (server) => refresh(server, scene.application, text))
  expect(outcomes(replies)).toEqual(onlyOne)
  yield* expectDead(scene, first)
  yield* expectDead(scene, winner(replies))
})

const raceWithinGrace = Effect.fnUntraced(function* (scene: Scene) {
  const first = yield* newLine(scene)
  const present = (tokens: Reply) =>
    crowd(scene, (server) => refresh(server, scene.application, field(tokens, "refresh_token")))

  const replies = yield* present(first)
  expect(outcomes(replies)).toEqual({ 200: clients })
  const successors = new Set(replies.map((reply) => field(reply, "refresh_token")))
  expect(successors.size).toBe(1)
  expect(successors.has(field(first, "refresh_token"))).toBe(false)
  // Each client has an access token of its own, and all of them are good everywhere.
  expect(new Set(replies.map((reply) => field(reply, "access_token"))).size).toBe(clients)
  const checks = yield* Effect.forEach(replies.entries(), ([n, reply]) =>
    companies(at(scene.servers, n + 1), field(reply, "access_token"))
  )
  expect(outcomes(checks)).toEqual({ 200: clients })

  const second = winner(replies)
  const third = winner(yield* present(second))
  // The first one is two behind now, so its moment is over, whatever the clock says: it was stolen.
  expect(outcomes(yield* present(first))).toEqual({ "400 invalid_grant": clients })
  yield* expectDead(scene, second)
  yield* expectDead(scene, third)
})

for (const setting of settings) {
  const { codes, grace, name, processes } = setting
  describe(`${processes} server processes over ${name}, with ${grace}`, () => {
    const scope = Scope.makeUnsafe()
    let scene: Scene
    beforeAll(async () => {
      scene = await Effect.runPromise(Scope.provide(openScene(setting), scope))
    }, 60_000)
    afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)), 60_000)

    const all = (times: number, race: (scene: Scene) => Effect.Effect<void>) =>
      Effect.runPromise(Effect.forEach(Array(times), () => race(scene), { ...atOnce, discard: true }))

    test(`each of ${codes} codes is redeemed by one of ${clients} clients`, () => all(codes, raceForCode), 120_000)

    test(
      grace === "no grace"
        ? `a refresh token of ${clients} clients has one successor, and its line ends`
        : `a refresh token of ${clients} clients has one successor, the same for all, until it is spent as well`,
      () => all(lines, grace === "no grace" ? raceWithoutGrace : raceWithinGrace),
      120_000
    )
  })
}
