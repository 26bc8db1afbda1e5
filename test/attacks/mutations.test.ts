import { afterAll, describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import { Effect } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { mutate, type Shot } from "./Mutation.ts"
import { arrange, redirectUri, requestOf } from "./shots.ts"
import { wholeServer } from "./wholeServer.ts"

/** Both may be set, to look longer or to see a failure again. */
const seed = process.env.TEST_SEED ?? "mutations"
const count = Number(process.env.TEST_MUTATIONS ?? 1000)

/** State that requests use up (sessions, codes, invitations) is made anew so often. */
const round = 400

const endpoints = [
  "metadata",
  "register",
  "registration",
  "authorize",
  "par",
  "device",
  "token",
  "revoke",
  "introspect",
  "userinfo",
  "companies",
  "consent",
  "login",
  "logout",
  "set-up",
  "invite",
  "home",
  "profile",
  "members",
  "apps",
  "keys",
  "clients"
] as const

const find = (response: HttpResponse, name: string) => response.headers.find(([written]) => written === name)?.[1]

const registered = [redirectUri, "http://127.0.0.1:", "com.example.app:/cb"]

const isHonestPlace = (location: string): boolean =>
  /^\/(?![/\\])/.test(location) || registered.some((uri) => location.startsWith(uri))

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Every script that a page's policy does not admit by its digest. */
const strangeScripts = (response: HttpResponse): boolean => {
  const policy = find(response, "content-security-policy") ?? ""
  const known = response.body.replace(/<script(?: data-[a-z]+="[^"<>]*")*>([^<]*)<\/script>/g, (whole, text: string) =>
    policy.includes(`script-src 'sha256-${createHash("sha256").update(text).digest("base64")}';`) ? "" : whole
  )
  return known.includes("<script")
}

/** What holds of every answer, whatever was asked. */
const faultsOf = (response: HttpResponse): ReadonlyArray<string> => {
  const { status, headers, body } = response
  const type = find(response, "content-type") ?? ""
  const location = find(response, "location")
  const description =
    type === "application/json" && body !== "" && isJson(body) ? JSON.parse(body).error_description : ""
  return [
    ...(status >= 200 && status < 500 ? [] : [`status ${status}`]),
    ...(find(response, "x-request-id") === undefined ? ["no request id"] : []),
    ...headers.filter(([, value]) => !/^[\x20-\x7e\x80-\xff]*$/.test(value)).map(([name]) => `header ${name}`),
    ...(type === "application/json" && body !== "" && !isJson(body) ? ["broken JSON"] : []),
    // RFC 6749 section 5.2.
    ...(/^[\x20-\x21\x23-\x5b\x5d-\x7e]*$/.test(String(description ?? "")) ? [] : ["error_description"]),
    ...(type.startsWith("text/html") && !find(response, "content-security-policy")?.includes("frame-ancestors 'none'")
      ? ["page without a policy"]
      : []),
    ...(type.startsWith("text/html") && /\sat .+\.ts:\d/.test(body) ? ["a stack in a page"] : []),
    ...(type.startsWith("text/html") && strangeScripts(response) ? ["a script in a page"] : []),
    ...(location === undefined || isHonestPlace(location) ? [] : [`location ${location}`])
  ]
}

const { runtime, log, services } = wholeServer(seed)
const collected = () => {
  Bun.gc(true)
  return process.memoryUsage().heapUsed
}

let first: number | undefined
afterAll(() => runtime.dispose())

test("half a character in an address, which only a host in this process can hand in, is no fault of ours", () =>
  runtime.runPromise(
    Effect.gen(function* () {
      const { tessera, accounts } = yield* services
      for (const shot of (yield* arrange(tessera, accounts)).get("authorize") ?? []) {
        const response = yield* tessera.handle(requestOf({ ...shot, target: `${shot.target}&x=\ud800` }))
        expect([faultsOf(response), log]).toEqual([[], []])
      }
    })
  ))

describe(`${count} requests that are nearly right (TEST_SEED=${seed})`, () => {
  test.each([...endpoints])(
    "to %s: answered, and nothing stays behind",
    async (endpoint) => {
      const draw = drawFrom(`${seed} ${endpoint}`)
      let shot: Shot | undefined
      const statuses = new Map<number, number>()
      const fire = Effect.gen(function* () {
        const { tessera, accounts, storage } = yield* services
        for (let sent = 0; sent < count; ) {
          const arranged = yield* arrange(tessera, accounts)
          const shots = arranged.get(endpoint) ?? []
          for (const end = Math.min(count, sent + round); sent < end; sent++) {
            const right = shots[draw.below(shots.length)]
            if (right === undefined) return yield* Effect.die(new Error(`nothing to send to ${endpoint}`))
            shot = mutate(draw, right)
            const response = yield* tessera.handle(requestOf(shot))
            statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
            const faults = faultsOf(response)
            if (faults.length > 0)
              expect({ faults, shot, body: response.body.slice(0, 400) }).toEqual({ faults: [], shot, body: "" })
          }
          for (const own of arranged.get("registration") ?? []) {
            yield* tessera.handle(requestOf({ ...own, method: "DELETE" }))
          }
          // All that may ever be swept, so that lists stay short; what never expires are a few keys and accounts.
          while ((yield* storage.sweep(Date.now() * 2, 1000)) > 0);
        }
      })
      const timely = Effect.timeoutOrElse(fire, {
        duration: "100 seconds",
        orElse: () => Effect.die(new Error(`hung on ${JSON.stringify(shot)}`))
      })
      await runtime.runPromise(timely)
      expect(log.splice(0)).toEqual([])
      // Mutated, not merely ruined: some are still right.
      const kinds = [...statuses.keys()].map((status) => Math.floor(status / 100))
      expect(kinds).toContain(4)
      // There is an owner already, so that nothing is to be had by a set-up link.
      if (endpoint !== "set-up") expect(kinds.some((kind) => kind === 2 || kind === 3)).toBe(true)
      const heap = collected()
      first ??= heap
      if (process.env.TEST_SHOW) console.log(endpoint, heap / 1e6, Object.fromEntries(statuses))
      expect({ endpoint, grownBy: Math.max(0, heap - first) < 16 * 1024 * 1024 }).toEqual({ endpoint, grownBy: true })
    },
    120_000
  )
})
