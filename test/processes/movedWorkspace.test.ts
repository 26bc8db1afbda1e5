import { expect, test } from "bun:test"
import { Effect } from "effect"
import { pollUntil } from "../harness/pollUntil.ts"
import { clientCredentials, companies, register } from "./Application.ts"
import { field } from "./Reply.ts"
import { environmentOver, issuer, startTessera, tessera } from "./ServerProcess.ts"
import { postgresStore } from "./Store.ts"

const elsewhere = "https://login.example.com"

const discovery = "/.well-known/oauth-authorization-server"

test("a server that runs stops to serve a workspace that moved, beside the one that has it now", () =>
  Effect.gen(function* () {
    const store = yield* postgresStore
    const former = yield* startTessera(store)
    const application = yield* register(former, { grant_types: ["client_credentials"] })
    const token = field(yield* clientCredentials(former, application), "access_token")
    expect((yield* companies(former, token)).status).toBe(200)

    const moved = yield* tessera(["workspace", "moved", "--to", elsewhere], environmentOver(store))
    expect(moved.status).toBe(0)
    const latter = yield* startTessera(store, { BASE_URL: elsewhere })

    const answers = (status: number) => Effect.map(companies(former, token), (reply) => reply.status === status)
    expect(yield* pollUntil(answers(503), 30_000)).toBe(true)
    expect((yield* clientCredentials(former, application)).status).toBe(503)
    expect((yield* former.get(discovery)).status).toBe(503)
    expect((yield* former.get("/readyz")).status).toBe(503)

    expect((yield* companies(latter, token)).status).toBe(401)
    const anew = field(yield* clientCredentials(latter, application), "access_token")
    expect((yield* companies(latter, anew)).status).toBe(200)
    expect(field(yield* latter.get(discovery), "issuer")).toBe(elsewhere)

    expect((yield* tessera(["workspace", "moved", "--to", issuer], environmentOver(store))).status).toBe(0)
    expect(yield* pollUntil(answers(200), 30_000)).toBe(true)
    expect(field(yield* former.get(discovery), "issuer")).toBe(issuer)
  }).pipe(Effect.scoped, Effect.runPromise))
