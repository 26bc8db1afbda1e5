import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { Redis } from "ioredis"
import { digestOf } from "../../core/rules/Secret.ts"
import { postgresBin, redisCli, redisClusterUrl } from "../harness/given.ts"
import { runProgram } from "../harness/runProgram.ts"
import type { Server } from "../harness/Server.ts"
import { startRedis } from "../harness/startRedis.ts"
import { clientCredentials, redeem, refresh, register, revoke } from "./Application.ts"
import { makeBrowser } from "./Browser.ts"
import { foundIn, holdsPrivateKey, needlesOf } from "./Needles.ts"
import { field } from "./Reply.ts"
import { environmentOver, sealKeys, startTessera, tessera } from "./ServerProcess.ts"
import { clusterStore, postgresStore, type Store, sqliteStore } from "./Store.ts"

const password = "a-password-of-the-owner"
const wrongPassword = "a-password-that-is-wrong"

/** Everything that one server after another hands out, by what it is. */
const busyTime = Effect.fnUntraced(function* (store: Pick<Store, "databaseUrl" | "environment">) {
  const secrets = new Map<string, string>([
    ["a seal key", sealKeys],
    ["a password", password],
    ["a wrong password", wrongPassword]
  ])
  const keep = (what: string, text: string) => {
    if (text.length < 16) throw new Error(`${what} was not handed out`)
    secrets.set(`${what} (${secrets.size})`, text)
    return text
  }
  // With rate limits: what they keep is searched, too.
  const servers = [
    yield* startTessera(store, { RATE_LIMITS: "on" }),
    yield* startTessera(store, { RATE_LIMITS: "on" })
  ] as const
  const [one, two] = servers

  const link = /\/set-up\?token=([A-Za-z0-9_-]+)/.exec(one.log())?.[1] ?? ""
  keep("a set-up link", link)
  const browser = makeBrowser()
  const setUp = yield* browser.open(one, `/set-up?token=${link}`)
  const made = yield* browser.submit(one, "/set-up", setUp, { name: "Ada", email: "ada@example.com", password })
  expect(made.status).toBe(303)
  const signIn = yield* browser.open(two, "/login")
  for (const typed of [wrongPassword, password]) {
    yield* browser.submit(two, "/login", signIn, { email: "ada@example.com", password: typed })
  }
  for (const [name, value] of browser.cookies) keep(`a cookie, ${name}`, value)

  const application = yield* register(one, { grant_types: ["authorization_code", "client_credentials"] })
  keep("a client secret", application.secret)
  keep("a registration access token", application.registrationToken)
  for (let n = 0; n < 4; n++) {
    const code = keep("a code", yield* browser.approve(servers[n % 2] ?? one, application))
    // One is never redeemed, one is redeemed twice, one is revoked.
    if (n === 0) continue
    let tokens = yield* redeem(two, application, code)
    keep("an access token", field(tokens, "access_token"))
    keep("a refresh token", field(tokens, "refresh_token"))
    for (const server of servers) {
      tokens = yield* refresh(server, application, field(tokens, "refresh_token"))
      keep("an access token", field(tokens, "access_token"))
      keep("a refresh token", field(tokens, "refresh_token"))
    }
    if (n === 1) expect((yield* redeem(one, application, code)).status).toBe(400)
    if (n === 2) expect((yield* revoke(one, application, field(tokens, "access_token"))).status).toBe(200)
    if (n === 3) expect((yield* revoke(one, application, field(tokens, "refresh_token"))).status).toBe(200)
  }
  keep("an access token", field(yield* clientCredentials(two, application), "access_token"))
  const key = yield* tessera(["key", "create", "--name", "dump"], environmentOver(store))
  keep("an API key", key.stdout.split("\n")[0] ?? "")

  const jwt = yield* tessera(["client", "access-tokens", application.id, "jwt"], environmentOver(store))
  expect(jwt.status).toBe(0)
  const third = yield* startTessera(store)
  const signed = field(yield* clientCredentials(third, application), "access_token")
  for (const [n, text] of signed.split(".").entries()) keep(`a JWT, its part ${n}`, text)

  const log = Buffer.from(servers.map((server) => server.log().replaceAll(link, "")).join("\n"))
  return { application, secrets, log }
})

/** A dump, in as many ways as the store has. */
interface Dumped {
  readonly store: Pick<Store, "databaseUrl" | "environment">
  readonly dump: Effect.Effect<Buffer>
}

const inFile = Effect.map(sqliteStore, (store): Dumped => {
  const path = store.databaseUrl.slice("sqlite:".length)
  // While servers run, most of it is in the log.
  const files = ["", "-wal", "-shm"].map((suffix) => path + suffix)
  return {
    store,
    dump: Effect.sync(() => Buffer.concat(files.filter((file) => existsSync(file)).map((file) => readFileSync(file))))
  }
})

const inPostgres = Effect.map(postgresStore, (store): Dumped => {
  const dumpAs = (...options: ReadonlyArray<string>) =>
    Effect.map(
      runProgram(join(postgresBin(), "pg_dump"), [...options, store.databaseUrl]),
      ({ status, stderr, stdout }) => {
        if (status !== 0) throw new Error(stderr)
        return Buffer.from(stdout)
      }
    )
  return { store, dump: Effect.map(Effect.all([dumpAs(), dumpAs("--inserts")]), (dumps) => Buffer.concat(dumps)) }
})

/** Every value of one node, by way of `redis-cli --scan`. */
const valuesOf = Effect.fnUntraced(function* (port: number, pattern: string) {
  const { stdout } = yield* runProgram(redisCli(), ["-p", `${port}`, "--scan", "--pattern", pattern])
  const keys = stdout.split("\n").filter((name) => name !== "")
  return yield* Effect.promise(async () => {
    const redis = new Redis({ port, host: "127.0.0.1", protocol: 2 })
    const values = await Promise.all(
      keys.map(async (name) => {
        const type = await redis.type(name)
        if (type === "string") return `${name} ${await redis.get(name)}\n`
        if (type === "zset") return `${name} ${await redis.zrange(name, "0", "-1", "WITHSCORES")}\n`
        throw new Error(`${name} is a ${type}, which this test does not read`)
      })
    )
    redis.disconnect()
    return Buffer.from(values.join(""))
  })
})

const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())

const inRedis = Effect.gen(function* () {
  const { folder, port, url }: Server = yield* startRedis()
  // Its append-only file holds every command that ever wrote.
  const files = Effect.sync(() => Buffer.concat(filesBelow(folder).map((path) => readFileSync(path))))
  return {
    store: { databaseUrl: url, environment: {} },
    dump: Effect.map(Effect.all([valuesOf(port, "*"), files]), (services) => Buffer.concat(services))
  } satisfies Dumped
})

const inCluster = Effect.map(clusterStore, (store): Dumped => {
  const ports = [...redisClusterUrl().matchAll(/:(\d+)/g)].map(([, port]) => Number(port))
  const pattern = `${store.prefix}:*`
  return {
    store,
    dump: Effect.map(
      Effect.forEach(ports, (port) => valuesOf(port, pattern)),
      (services) => Buffer.concat(services)
    )
  }
})

const stores: ReadonlyArray<readonly [string, Effect.Effect<Dumped, { readonly message: string }, Scope.Scope>]> = [
  ["the SQLite file and its log", inFile],
  ["pg_dump", inPostgres],
  ["every value of Redis and its append-only file", inRedis],
  ["every value of a Redis Cluster", inCluster]
]

describe("after a busy time, no secret and no token that was handed out is in", () => {
  for (const [name, open] of stores) {
    test(name, () =>
      Effect.gen(function* () {
        const { dump, store } = yield* open
        const { application, log, secrets } = yield* busyTime(store)
        const haystack = yield* dump

        // It is the right haystack: what is no secret is in it, and so are digests of what is.
        const known = [application.id, "ada@example.com", digestOf(application.secret)]
        for (const text of known) expect(haystack.includes(text)).toBe(true)

        const sought = [...secrets].flatMap(([what, text]) => needlesOf(what, text))
        expect(secrets.size).toBeGreaterThan(25)
        expect(foundIn(haystack, sought)).toEqual([])
        expect(foundIn(log, sought)).toEqual([])
        // The keys that sign are there, and no readable private part of theirs.
        expect(haystack.includes('"P-256"')).toBe(true)
        expect(holdsPrivateKey(haystack)).toBe(false)
      }).pipe(Effect.scoped, Effect.runPromise)
    )
  }
})

describe("the search finds", () => {
  const token = `tsr_at_${Buffer.alloc(80, "grant id and such, then the mac").toString("base64url")}abcdef`
  const mac = Buffer.alloc(80, "grant id and such, then the mac").subarray(-32)
  const planted: Readonly<Record<string, string | Buffer>> = {
    "a token's text": token,
    "its bytes": Buffer.from(token.slice(7, -6), "base64url"),
    "its MAC": mac,
    "its MAC in hex": mac.toString("hex"),
    "its MAC in upper hex": mac.toString("hex").toUpperCase(),
    "its MAC in base64": mac.toString("base64"),
    "its MAC in base64url": mac.toString("base64url"),
    "its MAC in the middle of other base64": Buffer.concat([Buffer.from("x"), mac, Buffer.from("y")]).toString("base64")
  }
  for (const [what, text] of Object.entries(planted)) {
    test(what, () => {
      const haystack = Buffer.concat([Buffer.from("before "), Buffer.from(text), Buffer.from(" after")])
      expect(foundIn(haystack, needlesOf("token", token))).not.toEqual([])
    })
  }

  const jwk = Buffer.from(
    JSON.stringify({ kty: "OKP", crv: "Ed25519", x: mac.toString("base64url"), d: "A".repeat(43) })
  )
  const held: Readonly<Record<string, string>> = {
    "a private key": jwk.toString(),
    "one in base64": jwk.toString("base64"),
    "one in base64url, and within more of it": `c2F${jwk.toString("base64url")}`
  }
  for (const [what, text] of Object.entries(held)) {
    test(what, () => expect(holdsPrivateKey(Buffer.from(`{"text":"${text}"}`))).toBe(true))
  }
})
