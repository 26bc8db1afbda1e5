import { afterAll, describe, expect, test } from "bun:test"
import { Effect, type Scope } from "effect"
import { layer as redis } from "../../adapters/redis/Redis.ts"
import { meddler } from "../adapters/postgres/withStore.ts"
import { call, commandCounts, openAdmin } from "../adapters/redisGiven.ts"
import { type Holder, holderOf, proofFor } from "../given/dpop.ts"
import { form } from "../given/flow.ts"
import type { Server, ServerFailed } from "../harness/Server.ts"
import { startRedis } from "../harness/startRedis.ts"
import { startRedisCluster } from "../harness/startRedisCluster.ts"
import {
  type Application,
  clientCredentials,
  companies,
  redeem,
  redirectUri,
  refresh,
  register,
  revoke,
  verifier
} from "./Application.ts"
import { openMint } from "./Mint.ts"
import { field, type Reply } from "./Reply.ts"
import { issuer, type ServerProcess, startTessera } from "./ServerProcess.ts"
import { registerSigner } from "./Signer.ts"
import { postgresStore, type Store } from "./Store.ts"

/** What the database counted, by what it was asked. */
type Counts = Readonly<Record<string, number>>

/** A store whose server counts for itself. */
interface Counting {
  readonly store: Store
  readonly reset: Effect.Effect<unknown>
  readonly counts: Effect.Effect<Counts>
}

interface RedisServers {
  readonly url: string
  readonly nodes: ReadonlyArray<Server>
}

const inPostgres = Effect.gen(function* () {
  const store = yield* postgresStore
  const server = yield* meddler(store.databaseUrl)
  yield* server.say("CREATE EXTENSION pg_stat_statements")
  const statements = `SELECT sum(s.calls)::int AS calls, split_part(s.query, ' ', 1) AS verb,
      substring(s.query from 'tessera"?[.]([a-z]+)') AS "table"
    FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid AND d.datname = current_database()
    WHERE s.query LIKE '%"tessera".%' GROUP BY verb, "table"`
  return {
    store,
    reset: server.say("SELECT pg_stat_statements_reset(0, oid, 0) FROM pg_database WHERE datname = current_database()"),
    counts: Effect.map(server.say(statements), (rows) =>
      Object.fromEntries(rows.map(({ calls, table, verb }) => [`${verb} ${table}`, Number(calls)]))
    )
  } satisfies Counting
})

/** Servers of its own, so that their counts hold no other requests. */
const inRedis = (open: Effect.Effect<RedisServers, ServerFailed, Scope.Scope>) =>
  Effect.gen(function* () {
    const { nodes, url } = yield* open
    const store: Store = { name: "Redis", databaseUrl: url, environment: {}, layer: redis({ url }) }
    const admins = yield* Effect.forEach(nodes, (node) => openAdmin(node.url))
    return {
      store,
      reset: Effect.forEach(admins, (admin) => call(admin, "CONFIG", "RESETSTAT")),
      counts: Effect.map(Effect.forEach(admins, commandCounts), (all) => {
        const sum: Record<string, number> = {}
        for (const counts of all) {
          for (const [name, calls] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + calls
        }
        return sum
      })
    } satisfies Counting
  })

const total = (counts: Counts) => Object.values(counts).reduce((sum, calls) => sum + calls, 0)

const tries = 5

/**
 * The least of a few tries: now and then a server also sweeps, notes what was used, or reads a client again that it has
 * kept for five seconds.
 */
const least = Effect.fnUntraced(function* (
  { counts, reset }: Counting,
  prepare: Effect.Effect<string>,
  ask: (text: string) => Effect.Effect<Reply>
) {
  let fewest: Counts | undefined
  for (let n = 0; n < tries; n++) {
    const text = yield* prepare
    yield* reset
    const reply = yield* ask(text)
    expect([reply.status, reply.status === 200 ? "" : reply.body]).toEqual([200, ""])
    const found = yield* counts
    if (fewest === undefined || total(found) < total(fewest)) fewest = found
  }
  return fewest ?? {}
})

/** The same of a client that signs: what it takes for its assertion leaves with what the request reads. */
const signedCounts = Effect.fnUntraced(function* (server: ServerProcess, counting: Counting) {
  const signer = yield* registerSigner(server)
  const mint = yield* openMint(counting.store)
  const ask = (assertion: string, fields: Readonly<Record<string, string>>) =>
    server.post("/oauth/token", signer.form(assertion, fields))
  const own = { grant_type: "client_credentials" }
  yield* Effect.flatMap(signer.assertion, (assertion) => ask(assertion, own))
  let assertion = ""
  const prepared = Effect.map(signer.assertion, (one) => {
    assertion = one
    return one
  })
  const code = Effect.orDie(mint.code({ id: signer.id, secret: "", registrationToken: "" }))
  const refreshToken = Effect.flatMap(code, (text) =>
    Effect.map(
      Effect.flatMap(signer.assertion, (shown) => ask(shown, redeemed(text))),
      (reply) => field(reply, "refresh_token")
    )
  )
  // A code leaves nothing to note of the client but the first time.
  yield* refreshToken
  const holder = yield* Effect.promise(() => holderOf("ES256"))
  let dpop = ""
  const proven = Effect.map(freshProof(holder, "POST", "/oauth/token"), (proof) => {
    dpop = proof
  })
  const refreshed = (text: string) => signer.form(assertion, { grant_type: "refresh_token", refresh_token: text })
  return {
    "signed client_credentials": yield* least(counting, prepared, (shown) => ask(shown, own)),
    "signed authorization_code": yield* least(
      counting,
      Effect.tap(code, () => prepared),
      (text) => ask(assertion, redeemed(text))
    ),
    "signed refresh_token": yield* least(
      counting,
      Effect.tap(refreshToken, () => prepared),
      (text) => server.post("/oauth/token", refreshed(text))
    ),
    "signed and bound refresh_token": yield* least(
      counting,
      Effect.tap(refreshToken, () => Effect.andThen(prepared, proven)),
      (text) => server.post("/oauth/token", refreshed(text), { dpop })
    )
  }
})

/** Each time another. */
const freshProof = (holder: Holder, method: string, path: string, token?: string) =>
  Effect.suspend(() =>
    proofFor(holder, method, issuer + path, token, { claims: { iat: Date.now() / 1000, jti: crypto.randomUUID() } })
  )

/** The same with a key: what is taken for its proof leaves with what the request reads (RFC 9449 §11.1). */
const boundCounts = Effect.fnUntraced(function* (
  server: ServerProcess,
  counting: Counting,
  { id, secret }: Application
) {
  const mint = yield* openMint(counting.store)
  const holder = yield* Effect.promise(() => holderOf("ES256"))
  const ask = (fields: Readonly<Record<string, string>>, dpop: string) =>
    server.post("/oauth/token", form({ client_id: id, client_secret: secret, ...fields }), { dpop })
  let dpop = ""
  const proven = Effect.map(freshProof(holder, "POST", "/oauth/token"), (proof) => {
    dpop = proof
  })
  const code = Effect.orDie(mint.code({ id, secret, registrationToken: "" }))
  const tokens = Effect.gen(function* () {
    yield* proven
    return yield* ask(redeemed(yield* code), dpop)
  })
  const access = Effect.gen(function* () {
    const text = field(yield* tokens, "access_token")
    dpop = yield* freshProof(holder, "GET", "/rest/companies", text)
    return text
  })
  const refreshToken = Effect.map(tokens, (reply) => field(reply, "refresh_token"))
  return {
    "bound authorization_code": yield* least(
      counting,
      Effect.tap(code, () => proven),
      (text) => ask(redeemed(text), dpop)
    ),
    "bound refresh_token": yield* least(
      counting,
      Effect.tap(refreshToken, () => proven),
      (text) => ask({ grant_type: "refresh_token", refresh_token: text }, dpop)
    ),
    "bound client_credentials": yield* least(counting, Effect.as(proven, ""), () =>
      ask({ grant_type: "client_credentials" }, dpop)
    ),
    "bound bearer check": yield* least(counting, access, (text) =>
      server.get("/rest/companies", { authorization: `DPoP ${text}`, dpop })
    )
  }
})

const redeemed = (code: string) => ({
  grant_type: "authorization_code",
  code,
  redirect_uri: redirectUri,
  code_verifier: verifier
})

/** A line of the closing report. */
const report: Array<string> = []

const measure = Effect.fnUntraced(function* (name: string, counting: Counting) {
  const server = yield* startTessera(counting.store)
  const application = yield* register(server, { grant_types: ["authorization_code", "client_credentials"] })
  const mint = yield* openMint(counting.store)
  // Made by another process: what the server wrote itself it need not read before it swaps it.
  const code = Effect.orDie(mint.code(application))
  const line = Effect.flatMap(code, (text) => redeem(server, application, text))
  const access = Effect.map(line, (reply) => field(reply, "access_token"))
  const refreshToken = Effect.map(line, (reply) => field(reply, "refresh_token"))
  // The first request makes the client's own grant and notes that the client has been used.
  yield* clientCredentials(server, application)
  yield* access

  const counts = {
    authorization_code: yield* least(
      counting,
      Effect.tap(code, () => access),
      (text) => redeem(server, application, text)
    ),
    refresh_token: yield* least(counting, refreshToken, (text) => refresh(server, application, text)),
    client_credentials: yield* least(counting, access, () => clientCredentials(server, application)),
    "bearer check": yield* least(counting, access, (text) => companies(server, text)),
    revocation: yield* least(counting, refreshToken, (text) => revoke(server, application, text)),
    ...(yield* signedCounts(server, counting)),
    ...(yield* boundCounts(server, counting, application))
  }
  for (const [what, found] of Object.entries(counts)) {
    const asked = Object.entries(found).sort()
    const told = asked.map(([command, calls]) => `${calls} ${command}`).join(", ")
    report.push(`${name}, ${what}: ${told === "" ? "nothing" : told}`)
  }
  return counts
})

describe("what a request costs, as the database itself counts", () => {
  afterAll(() => console.log(`Round trips:\n  ${report.join("\n  ")}`))

  test("PostgreSQL (pg_stat_statements): one statement for each read and each write", () =>
    Effect.gen(function* () {
      const write = { "UPDATE grants": 1 }
      expect(yield* measure("PostgreSQL", yield* inPostgres)).toEqual({
        authorization_code: { "SELECT grants": 1, ...write },
        refresh_token: write,
        client_credentials: {},
        "bearer check": { "SELECT grants": 1 },
        revocation: write,
        "signed client_credentials": { "INSERT onces": 1 },
        "signed authorization_code": { "SELECT grants": 1, "INSERT onces": 1, ...write },
        "bound authorization_code": { "SELECT grants": 1, "INSERT onces": 1, ...write },
        // What is taken and what is swapped, in one statement.
        "signed refresh_token": { "WITH onces": 1 },
        "bound refresh_token": { "WITH onces": 1 },
        "signed and bound refresh_token": { "WITH onces": 1 },
        "bound client_credentials": { "INSERT onces": 1 },
        "bound bearer check": { "SELECT grants": 1, "INSERT onces": 1 }
      })
    }).pipe(Effect.scoped, Effect.runPromise))

  const oneNode = Effect.map(startRedis(), (server): RedisServers => ({ url: server.url, nodes: [server] }))
  const redises = [
    // The grant, and which clients other processes changed.
    ["Redis", inRedis(oneNode), { mget: 1 }, 1],
    // Sent in one turn to whichever nodes have them.
    ["Redis Cluster", inRedis(startRedisCluster()), { get: 2 }, 2]
  ] as const
  for (const [name, open, check, scripts] of redises) {
    test(`${name} (INFO commandstats): one GET for a read, of two records where a command may name them, and one EVALSHA, whose script calls GET and SET, for a write`, () =>
      Effect.gen(function* () {
        const write = { get: 1, evalsha: 1, set: 1 }
        // The script of an insert: the record, its place in a list and in what expires.
        const taken = { evalsha: 1, exists: 1, set: 1, zadd: 2 }
        expect(yield* measure(name, yield* open)).toEqual({
          authorization_code: { ...write, get: 2 },
          refresh_token: write,
          client_credentials: {},
          "bearer check": check,
          revocation: write,
          "signed client_credentials": taken,
          "signed authorization_code": { ...taken, get: 2, evalsha: 2, set: 2 },
          "bound authorization_code": { ...taken, get: 2, evalsha: 2, set: 2 },
          // One script, where it may name keys of several slots.
          "signed refresh_token": { ...taken, get: 1, evalsha: scripts, set: 2 },
          "bound refresh_token": { ...taken, get: 1, evalsha: scripts, set: 2 },
          "signed and bound refresh_token": { exists: 2, zadd: 4, get: 1, evalsha: 1 + (scripts - 1) * 2, set: 3 },
          "bound client_credentials": taken,
          "bound bearer check": { ...taken, ...check }
        })
      }).pipe(Effect.scoped, Effect.runPromise))
  }
})
