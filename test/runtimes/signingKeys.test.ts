import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { decodeProtectedHeader } from "jose"
import { publishedAhead, signsFor } from "../../core/engine/signingKeys.ts"
import { startServer } from "../given/server.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { send } from "../processes/Reply.ts"
import { command } from "./given/tessera.ts"

const readAll = (text: string) => JSON.parse(text) as ReadonlyArray<Record<string, string>>

test("the command line chooses JWTs, looks after the keys, and the doctor says what becomes of them", () =>
  Effect.gen(function* () {
    const server = yield* startServer()
    const env = { DATABASE_URL: `sqlite:${join(server.folder, "tessera.db")}`, BASE_URL: server.url }
    const run = (...args: ReadonlyArray<string>) => command(args, { cwd: server.folder, env })
    const keys = Effect.map(run("signing-keys", "list", "--json"), ({ stdout }) => readAll(stdout))
    expect(yield* keys).toEqual([])

    const made = yield* run("client", "create", "--name", "Job", "--grant-type", "client_credentials", "--json")
    const { client_id: id = "", client_secret: secret = "" } = JSON.parse(made.stdout) as Record<string, string>
    expect((yield* run("client", "access-tokens", id, "jwt")).status).toBe(0)
    expect((yield* run("client", "access-tokens", "A".repeat(22), "jwt")).status).toBe(3)
    const answer = yield* send(`${server.url}/oauth/token`, {
      method: "POST",
      headers: {
        authorization: `Basic ${btoa(`${id}:${secret}`)}`,
        "content-type": "application/x-www-form-urlencoded"
      },
      body: "grant_type=client_credentials"
    })
    expect(answer.body).toContain('"access_token":"ey')

    const [first] = yield* keys
    expect(first).toMatchObject({ algorithm: "ES256", state: "current", published_until: "-" })
    for (const _ of [1, 2]) expect((yield* run("signing-keys", "rotate")).status).toBe(0)
    expect((yield* keys).map(({ state }) => state)).toEqual(["current", "next"])
    const retire = (...args: ReadonlyArray<string>) =>
      Effect.map(run("signing-keys", "retire", first?.kid ?? "", ...args), ({ status }) => status)
    expect([yield* retire(), yield* retire("--compromised"), yield* retire()]).toEqual([4, 0, 3])

    const findings = Effect.map(run("doctor", "--json"), ({ stdout }) => readAll(stdout))
    const said = (all: ReadonlyArray<Record<string, string>>, what: string) => all.find((one) => one.what === what)
    const before = yield* findings
    expect(said(before, "JWT access tokens")).toMatchObject({ state: "doubtful" })
    expect(said(before, "JWT access tokens")?.says).toContain(id)
    expect(said(before, "signing keys")?.state).toBe("good")
    const gateway = "https://gateway.example.com"
    const add = (at: string, ...more: ReadonlyArray<string>) =>
      Effect.map(run("resource", "add", at, "--access-tokens", "jwt", ...more), ({ status }) => status)
    expect([yield* add(gateway, "--access-token-ttl", "999 millis"), yield* add(gateway)]).toEqual([2, 0])
    expect(yield* add(`${gateway}/quick`, "--access-token-ttl", "5 minutes")).toBe(0)
    expect(yield* add(`${gateway}/slow`, "--access-token-ttl", "301 seconds")).toBe(0)
    const says = said(yield* findings, "JWT access tokens")?.says ?? ""
    expect([gateway, "/slow", "/quick"].map((at) => says.includes(at))).toEqual([true, true, false])
    expect((yield* run("grant", "end")).status).toBe(2)
    const ended = yield* run("grant", "end", "--client", id, "--json")
    expect([ended.status, JSON.parse(ended.stdout)]).toEqual([0, { ended: 0 }])
    const [key] = yield* keys
    rmSync(join(server.folder, "tessera.db.keys"))
    const lost = yield* command(["doctor", "--json"], {
      cwd: server.folder,
      env: { ...env, SEAL_KEYS: "A".repeat(43) }
    })
    const after = said(readAll(lost.stdout), "signing keys")
    expect(after?.state).toBe("bad")
    expect(after?.says).toContain(key?.seal_key ?? "nothing")
  }).pipe(Effect.scoped, Effect.runPromise))

test("a server whose key has signed for 90 days makes the next one by itself, and signs with it later", () =>
  Effect.gen(function* () {
    const server = yield* startServer()
    const file = join(server.folder, "tessera.db")
    const run = (...args: ReadonlyArray<string>) =>
      command(args, { cwd: server.folder, env: { DATABASE_URL: `sqlite:${file}`, BASE_URL: server.url } })
    const made = yield* run("client", "create", "--name", "Job", "--grant-type", "client_credentials", "--json")
    const { client_id: id = "", client_secret: secret = "" } = JSON.parse(made.stdout) as Record<string, string>
    expect((yield* run("client", "access-tokens", id, "jwt")).status).toBe(0)
    const kidOf = Effect.promise(async () => {
      const form = { grant_type: "client_credentials", client_id: id, client_secret: secret }
      const answer = await fetch(`${server.url}/oauth/token`, { method: "POST", body: new URLSearchParams(form) })
      return decodeProtectedHeader(((await answer.json()) as Record<string, string>).access_token ?? "").kid
    })
    /** So long goes by, as far as the first keys know. */
    const pass = Effect.fnUntraced(function* (millis: number, keys: ReadonlyArray<number>) {
      yield* server.stop
      const database = new Database(file)
      for (const at of keys) {
        database.run(
          `UPDATE signings SET body = json_set(body,
             '$.keys[${at}].signsFrom', json_extract(body, '$.keys[${at}].signsFrom') - ${millis},
             '$.keys[${at}].madeAt', json_extract(body, '$.keys[${at}].madeAt') - ${millis})`
        )
      }
      database.close()
      yield* server.start
    })
    const first = yield* kidOf
    yield* pass(signsFor + 60_000, [0])
    const kids = Effect.promise(async () => {
      const answer = await fetch(`${server.url}/oauth/jwks`)
      return ((await answer.json()) as { keys: ReadonlyArray<{ kid: string }> }).keys.map(({ kid }) => kid)
    })
    const isPublished = Effect.map(kids, (all) => all.length === 2)
    expect(yield* pollUntil(isPublished, 30_000)).toBe(true)
    const [old, next] = yield* kids
    expect([old, yield* kidOf]).toEqual([first ?? "none", first])
    yield* pass(publishedAhead + 60_000, [0, 1])
    expect([yield* kids, yield* kidOf]).toEqual([[old ?? "none", next ?? "none"], next])
  }).pipe(Effect.scoped, Effect.runPromise))
