import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { deviceGrant } from "../../core/client/Profile.ts"
import { form, formHeaders, hiddenFields, jsonHeaders } from "../given/flow.ts"
import { plainEnvironment } from "../harness/runProgram.ts"
import { startChild } from "../runtimes/given/Child.ts"
import type { DevicesHost } from "./devicesHost.ts"
import { field, send } from "./Reply.ts"
import { postgresStore, redisStore, type Store } from "./Store.ts"

const issuer = "http://127.0.0.1:3000"

/** A host's process, as clients and people send to it. */
const startHost = Effect.fnUntraced(function* ({ databaseUrl }: Pick<Store, "databaseUrl">, now: number) {
  const told: DevicesHost = { databaseUrl, issuer, now }
  const args = ["--no-env-file", join(import.meta.dir, "devicesHost.ts"), JSON.stringify(told)]
  const child = yield* startChild(process.execPath, args, { env: plainEnvironment })
  const [, port = ""] = yield* Effect.promise(() => child.says(/^(\d+)$/m))
  const url = `http://127.0.0.1:${port}`
  const post = (path: string, fields: Readonly<Record<string, string>>, headers = {}) =>
    send(url + path, { method: "POST", headers: { ...formHeaders, ...headers }, body: form(fields) })
  const person = (name: string, peer: string) => ({ cookie: `session=${name}`, origin: issuer, "x-peer": peer })

  /** The page that a code leads a person to, or what is said instead. */
  const enterCode = Effect.fnUntraced(function* (userCode: string, name: string, peer: string) {
    const headers = person(name, peer)
    const page = yield* send(`${url}/device`, { headers })
    const entered = yield* post("/device", { ...hiddenFields(page.body), user_code: userCode }, headers)
    const to = entered.headers.get("location")
    return to === null ? entered : yield* send(url + to, { headers })
  })

  return {
    enterCode,
    later: (millis: number) => send(`${url}/later?by=${millis}`),
    /** Tells other processes what was taken here, and hears what was taken there. */
    share: send(`${url}/housekeep`),
    register: Effect.map(
      send(`${url}/oauth/register`, {
        method: "POST",
        headers: jsonHeaders,
        body: JSON.stringify({ token_endpoint_auth_method: "none", grant_types: [deviceGrant] })
      }),
      (reply) => field(reply, "client_id")
    ),
    ask: (client_id: string) =>
      Effect.map(post("/oauth/device_authorization", { client_id }), (reply) => ({
        client_id,
        device_code: field(reply, "device_code"),
        userCode: field(reply, "user_code")
      })),
    poll: ({ client_id, device_code }: { readonly client_id: string; readonly device_code: string }) =>
      Effect.map(post("/oauth/token", { grant_type: deviceGrant, client_id, device_code }), (reply) =>
        reply.status === 200 ? "tokens" : field(reply, "error")
      ),
    approve: Effect.fnUntraced(function* (userCode: string) {
      const page = yield* enterCode(userCode, "ada", "192.0.2.1")
      const fields = { ...hiddenFields(page.body), decision: "approve" }
      return (yield* post("/consent", fields, person("ada", "192.0.2.1"))).status
    })
  }
})

type Host = Effect.Success<ReturnType<typeof startHost>>

/** A guess at a code that no device has, each time by another person, so that no person's limit runs out. */
const guesser = () => {
  let drawn = 0
  const name = () => `m${drawn++}`.replace(/\d/g, (digit) => String.fromCharCode(97 + Number(digit)))
  return (host: Host, peer: string) => Effect.map(host.enterCode("BBBB-BBBB", name(), peer), ({ status }) => status)
}

/** How many guesses are let in, up to the first that is not. */
const letIn = Effect.fnUntraced(function* (guess: (n: number) => Effect.Effect<number>, most: number) {
  for (let n = 0; n < most; n++) {
    const status = yield* guess(n)
    expect([400, 429]).toContain(status)
    if (status === 429) return n
  }
  return most
})

const here = "203.0.113.9"

describe("devices at two processes", () => {
  for (const [name, open] of [
    ["PostgreSQL", postgresStore],
    ["Redis", redisStore]
  ] as const) {
    test(`over ${name} poll at one pace, and are guessed at by one share`, () =>
      Effect.gen(function* () {
        const store = yield* open
        const now = Date.now()
        const first = yield* startHost(store, now)
        const last = yield* startHost(store, now)
        const share = Effect.all([first.share, last.share])
        const later = Effect.all([first.later(5000), last.later(5000)])

        const client = yield* first.register
        const [device, other] = [yield* first.ask(client), yield* last.ask(client)]
        expect([yield* first.poll(device), yield* first.poll(device)]).toEqual(["authorization_pending", "slow_down"])
        expect([yield* last.poll(device), yield* last.poll(other)]).toEqual(Array(2).fill("authorization_pending"))
        yield* share
        yield* later
        // A device that polls at both has polled twice as fast as it may, at either.
        expect([yield* last.poll(other), yield* last.poll(device)]).toEqual(["authorization_pending", "slow_down"])
        // What a person answers to one, the other tells.
        expect(yield* first.approve(device.userCode)).toBe(200)
        yield* later
        expect(yield* last.poll(device)).toBe("tokens")

        const guess = guesser()
        // A tenth of 100 from one address. The other process hears of them, once a quarter of that is taken there.
        expect(yield* letIn(() => guess(first, here), 20)).toBe(10)
        expect(yield* letIn(() => guess(last, here), 3)).toBe(3)
        yield* share
        expect([yield* guess(last, here), yield* guess(last, "203.0.113.10")]).toEqual([429, 400])
        // A tenth of 1000 in all: ten of them are taken here.
        const elsewhere = (host: Host) => (n: number) => guess(host, `198.51.100.${n}`)
        expect(yield* letIn(elsewhere(first), 120)).toBe(90)
        expect(yield* letIn(elsewhere(last), 25)).toBe(25)
        yield* share
        expect(yield* guess(last, "203.0.113.11")).toBe(429)
      }).pipe(Effect.scoped, Effect.runPromise))
  }
})
