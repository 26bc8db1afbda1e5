import { expect, test } from "bun:test"
import { Effect } from "effect"
import { decodeProtectedHeader } from "jose"
import { field } from "./Reply.ts"
import { environmentOver, startTessera, tessera } from "./ServerProcess.ts"
import { registerSigner } from "./Signer.ts"
import { postgresStore } from "./Store.ts"

const processes = 4
const assertions = 20
const rotations = 8

/** What is asked of all of them at once. */
const atOnce = { concurrency: "unbounded" } as const

test("of several processes one takes an assertion, and one rotates the keys that all sign and publish by", () =>
  Effect.gen(function* () {
    const store = yield* postgresStore
    const servers = yield* Effect.forEach(
      Array.from({ length: processes }, () => store),
      (one) => startTessera(one),
      atOnce
    )
    const [first] = servers
    if (first === undefined) return expect.unreachable()
    const signer = yield* registerSigner(first)
    const own = { grant_type: "client_credentials" }

    for (let n = 0; n < assertions; n++) {
      const shown = yield* signer.assertion
      const answers = yield* Effect.forEach(
        [...servers, ...servers],
        (server) => server.post("/oauth/token", signer.form(shown, own)),
        atOnce
      )
      const outcomes = answers.map((answer) => `${answer.status} ${field(answer, "error")}`.trim()).sort()
      expect(outcomes).toEqual(["200", ...Array<string>(2 * processes - 1).fill("401 invalid_client")])
    }

    const run = (...args: ReadonlyArray<string>) =>
      Effect.map(tessera(args, environmentOver(store)), ({ status }) => status)
    expect(yield* run("client", "access-tokens", signer.id, "jwt")).toBe(0)
    /** By which key it signs; `undefined` where it still has the client in memory that had opaque tokens. */
    const kidOf = Effect.fnUntraced(function* (server: (typeof servers)[number]) {
      const answer = yield* server.post("/oauth/token", signer.form(yield* signer.assertion, own))
      const access = field(answer, "access_token")
      return access.startsWith("ey") ? String(decodeProtectedHeader(access).kid) : undefined
    })
    const published = Effect.forEach(servers, (server) =>
      Effect.map(server.get("/oauth/jwks"), ({ body }) =>
        (JSON.parse(body) as { readonly keys: ReadonlyArray<{ readonly kid: string }> }).keys
          .map(({ kid }) => kid)
          .sort()
      )
    )
    const fresh = yield* startTessera(store)
    const current = yield* kidOf(fresh)
    const statuses = yield* Effect.forEach(
      Array.from({ length: rotations }, () => "rotate"),
      (verb) => run("signing-keys", verb),
      { concurrency: 4 }
    )
    expect(new Set(statuses)).toEqual(new Set([0]))
    const [told = [], ...others] = yield* published
    expect([told.length, told.includes(String(current))]).toEqual([2, true])
    for (const one of others) expect(one).toEqual(told)
    for (const server of [...servers, fresh]) expect(told).toContain((yield* kidOf(server)) ?? String(current))
  }).pipe(Effect.scoped, Effect.runPromise))
