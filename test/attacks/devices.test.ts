import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import type { Client } from "../../core/client/Client.ts"
import { deviceGrant } from "../../core/client/Profile.ts"
import { limitsOf, layer as sharedLimits } from "../../core/limits/SharedLimiter.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { answerAs, deviceClient, enterCode, poll, polledAs, type Told, waitingDevice } from "../given/devices.ts"
import {
  codeFor,
  companies,
  decide,
  form,
  formHeaders,
  hiddenFields,
  jsonOf,
  refresh,
  registerClient,
  signInToApp,
  type TestClient,
  tokensOf
} from "../given/flow.ts"
import { pageName } from "../given/page.ts"
import { inWorld, type Steps, type World } from "../given/World.ts"

const attack = (what: string, body: (world: World) => Steps<void>) => test(what, () => inWorld((world) => body(world)))

/** RFC 8628 §5: programs without a browser, and who is in their way. */
describe("a device code", () => {
  attack("of another client is refused, and still good for its own", function* (world) {
    const tv = yield* deviceClient(world)
    const thief = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    expect(yield* polledAs(world, thief, told)).toBe("invalid_grant")
    yield* answerAs(world, told.userCode, "approve")
    expect(yield* polledAs(world, thief, told)).toBe("invalid_grant")
    expect(yield* polledAs(world, tv, told)).toBe("tokens")
  })

  attack("that is changed by one character anywhere opens nothing", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    yield* answerAs(world, told.userCode, "approve")
    const { deviceCode } = told
    for (const at of deviceCode.split("").keys()) {
      const other = deviceCode[at] === "A" ? "B" : "A"
      const changed = `${deviceCode.slice(0, at)}${other}${deviceCode.slice(at + 1)}`
      expect([at, yield* polledAs(world, tv, { deviceCode: changed })]).toEqual([at, "invalid_grant"])
    }
    expect(yield* polledAs(world, tv, told)).toBe("tokens")
  })

  attack("that comes twice ends what the first one got", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    yield* answerAs(world, told.userCode, "approve")
    const { access, refresh: refreshToken } = tokensOf(yield* poll(world, tv, told))
    expect(yield* polledAs(world, tv, told)).toBe("invalid_grant")
    expect((yield* companies(world, access)).status).toBe(401)
    expect(jsonOf(yield* refresh(world, tv, refreshToken)).error).toBe("invalid_grant")
  })

  attack("brings tokens to one of two polls at once", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    yield* answerAs(world, told.userCode, "approve")
    const there = yield* world.elsewhere
    const came = yield* Effect.all([polledAs(world, tv, told), polledAs(there, tv, told)], {
      concurrency: "unbounded"
    })
    expect(came.filter((one) => one === "tokens").length).toBeLessThanOrEqual(1)
    expect(came).toContain("invalid_grant")
  })

  attack("opens nothing once its client is deleted", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    yield* answerAs(world, told.userCode, "approve")
    yield* Effect.orDie(world.services.clients.remove(world.workspace.id, ClientId.make(tv.id)))
    expect(yield* polledAs(world, tv, told)).toBe("invalid_client")
  })

  attack("is no code of authorization, and no refresh token", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    yield* answerAs(world, told.userCode, "approve")
    expect(jsonOf(yield* refresh(world, tv, told.deviceCode)).error).not.toBeUndefined()
    expect((yield* companies(world, told.deviceCode)).status).toBe(401)
    expect(yield* polledAs(world, tv, told)).toBe("tokens")
  })

  attack("that a person approved too late brings nothing", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    const page = yield* enterCode(world, told.userCode)
    yield* TestClock.adjust("10 minutes")
    expect(pageName(yield* decide(world, page, "approve"))).not.toBe("consent-approved")
    expect(yield* polledAs(world, tv, told)).toBe("expired_token")
  })
})

describe("the page that a code leads to", () => {
  attack(
    "asks for the tick however well the client is known: an owner's, and one that was let in before",
    function* (world) {
      const tv = yield* deviceClient(world)
      yield* answerAs(world, (yield* waitingDevice(world, tv)).userCode, "approve")
      for (const madeBy of ["itself", "owner"] as const) {
        const known = (stored: Client): Client => ({ ...stored, madeBy, provenAt: stored.createdAt })
        yield* Effect.orDie(world.services.clients.change(world.workspace.id, ClientId.make(tv.id), known))
        const told = yield* waitingDevice(world, tv)
        const page = yield* enterCode(world, told.userCode)
        expect(page.body).toContain('name="acknowledged"')
        const { acknowledged: _, ...fields } = hiddenFields(page.body)
        const sent = { as: "alice", headers: formHeaders, body: form({ ...fields, decision: "approve" }) }
        expect(pageName(yield* world.send("POST", "/consent", sent))).not.toBe("consent-approved")
        expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
      }
    }
  )

  attack("makes one grant of two approvals, of one person or of two", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    const pages = [yield* enterCode(world, told.userCode, "alice"), yield* enterCode(world, told.userCode, "bob")]
    const [first, second] = pages
    if (first === undefined || second === undefined) throw new Error("two pages were drawn")
    yield* decide(world, first, "approve", "alice")
    expect(pageName(yield* decide(world, second, "approve", "bob"))).not.toBe("consent-approved")
    yield* decide(world, second, "deny", "bob")
    const { access } = tokensOf(yield* poll(world, tv, told))
    expect((yield* companies(world, access)).status).toBe(200)
  })

  attack("leaves denied what was denied", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    const page = yield* enterCode(world, told.userCode)
    yield* answerAs(world, told.userCode, "deny")
    expect(pageName(yield* decide(world, page, "approve"))).not.toBe("consent-approved")
    expect(yield* polledAs(world, tv, told)).toBe("access_denied")
  })

  attack("is not passed over by a link that brings the code", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    const linked = yield* world.send("GET", new URL(told.complete).pathname + new URL(told.complete).search, {
      as: "alice"
    })
    expect([linked.status, pageName(linked) === "consent"]).toEqual([200, false])
    expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
  })
})

/** Everything else that a device, or a thief, could show for a code; `"tokens"` never comes of it. */
const codes: ReadonlyArray<
  readonly [name: string, code: (told: Told, world: World, tv: TestClient) => Effect.Effect<string, unknown>]
> = [
  ["nothing", () => Effect.succeed("")],
  ["a word", () => Effect.succeed("made-up")],
  ["its user code", ({ userCode }) => Effect.succeed(userCode)],
  ["its user code without the dash", ({ userCode }) => Effect.succeed(userCode.replace("-", ""))],
  ["its code in upper case", ({ deviceCode }) => Effect.succeed(deviceCode.toUpperCase())],
  ["its code and a letter", ({ deviceCode }) => Effect.succeed(`${deviceCode}A`)],
  ["its code twice", ({ deviceCode }) => Effect.succeed(deviceCode + deviceCode)],
  ["its code behind a blank", ({ deviceCode }) => Effect.succeed(` ${deviceCode}`)],
  ["its code before a line's end", ({ deviceCode }) => Effect.succeed(`${deviceCode}\n`)],
  ["its code before a NUL", ({ deviceCode }) => Effect.succeed(`${deviceCode}\0`)],
  ["its code with padding", ({ deviceCode }) => Effect.succeed(`${deviceCode}==`)],
  ["its code with another prefix", ({ deviceCode }) => Effect.succeed(deviceCode.replace(/^tsr_[a-z]+_/, "tsr_at_"))],
  ["its code without a prefix", ({ deviceCode }) => Effect.succeed(deviceCode.replace(/^tsr_[a-z]+_/, ""))],
  ["the first half of its code", ({ deviceCode }) => Effect.succeed(deviceCode.slice(0, deviceCode.length / 2))],
  ["64 KiB", () => Effect.succeed("A".repeat(65_536))],
  ["a percent sign", () => Effect.succeed("%00%2e%2e")],
  ["a code of authorization", (_, world) => Effect.flatMap(registerClient(world), (client) => codeFor(world, client))],
  [
    "an access token",
    (_, world) =>
      Effect.map(
        Effect.flatMap(registerClient(world), (client) => signInToApp(world, client)),
        ({ access }) => access
      )
  ],
  [
    "a refresh token",
    (_, world) =>
      Effect.map(
        Effect.flatMap(registerClient(world), (client) => signInToApp(world, client)),
        (one) => one.refresh
      )
  ],
  ["its own registration token", (_, _world, tv) => Effect.succeed(tv.registrationToken)],
  [
    "half of its code and half of another's",
    ({ deviceCode }, world, tv) =>
      Effect.map(waitingDevice(world, tv), (other) => deviceCode.slice(0, 40) + other.deviceCode.slice(40))
  ]
]

test(`${codes.length} other texts in place of a device code open nothing, before and after the approval`, () =>
  inWorld(function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    const tried: Array<string> = []
    for (const approves of [false, true]) {
      if (approves) yield* answerAs(world, told.userCode, "approve")
      for (const [name, code] of codes) {
        const came = yield* polledAs(world, tv, { deviceCode: yield* code(told, world, tv) })
        tried.push(["invalid_grant", "invalid_request"].includes(came) ? "" : `${name}: ${came}`)
      }
    }
    expect(tried.filter((one) => one !== "")).toEqual([])
    expect(yield* polledAs(world, tv, told)).toBe("tokens")
  }))

/** What is typed by who looks for a device that waits; none finds one, and each is told the same. */
const guesses: ReadonlyArray<string> = [
  "",
  " ",
  "-",
  "BCDF",
  "BCDF-GHJ",
  "BCDF-GHJKL",
  "BCDF-GHJA",
  "BCDF-GH1K",
  "BCDF_GHJK",
  "BCDF.GHJK",
  "BCDF/GHJK",
  "%42CDFGHJK",
  "BCDFGHJK'--",
  "<script>",
  "\u0412CDF-GHJK",
  "BCDF-GHJ\u212a",
  "BCDF-GHJK\0",
  "********",
  "constructor",
  "x".repeat(9000)
]

test(`${guesses.length} guesses find no device, and no answer differs from another's`, () =>
  inWorld(function* (world) {
    yield* waitingDevice(world, yield* deviceClient(world))
    const bodies = new Set<string>()
    for (const guess of guesses) {
      const page = yield* enterCode(world, guess)
      expect([guess, page.status, pageName(page)]).toEqual([guess, 400, "device"])
      expect(page.body).not.toContain("<script>")
      bodies.add(page.body.replace(/ (value|href)="[^"]*"/g, "").replace(/ autofocus/g, ""))
    }
    expect(bodies.size).toBe(1)
  }))

type Fields = Readonly<Record<string, string>>

/** Two devices wait, with a page for each, drawn for the people named; what is sent of them in one form. */
const forms: ReadonlyArray<
  readonly [
    name: string,
    mix: (own: Fields, other: Fields) => Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  ]
> = [
  ["with the ticket of another person's page", (own, other) => ({ ...own, ticket: other.ticket })],
  ["with the form token of another person's page", (own, other) => ({ ...own, csrf: other.csrf })],
  ["that is another person's as a whole", (_, other) => ({ ...other })],
  ["without a ticket", (own) => ({ ...own, ticket: undefined })],
  ["with an empty ticket", (own) => ({ ...own, ticket: "" })],
  ["with both tickets", (own, { ticket = "" }) => ({ ...own, ticket: [own.ticket ?? "", ticket] })],
  ["with a ticket cut short", (own) => ({ ...own, ticket: own.ticket?.slice(0, -1) })],
  ["with a ticket and a letter", (own) => ({ ...own, ticket: `${own.ticket}A` })],
  ["without a form token", (own) => ({ ...own, csrf: undefined })],
  ["with an empty form token", (own) => ({ ...own, csrf: "" })],
  ["without the tick", (own) => ({ ...own, acknowledged: undefined })],
  ["with another tick", (own) => ({ ...own, acknowledged: "no" })],
  ["with no decision", (own) => ({ ...own, decision: undefined })],
  ["with another decision", (own) => ({ ...own, decision: "APPROVE" })],
  ["with both decisions", (own) => ({ ...own, decision: ["approve", "deny"] })],
  ["with a decision of a prototype", (own) => ({ ...own, decision: "constructor" })]
]

test(`${forms.length} forms that a page did not make approve no device of two that wait`, () =>
  inWorld(function* (world) {
    const tv = yield* deviceClient(world)
    const [hers, his] = [yield* waitingDevice(world, tv), yield* waitingDevice(world, tv)]
    const fieldsOf = (told: Told, as: string) =>
      Effect.map(
        enterCode(world, told.userCode, as),
        ({ body }): Fields => ({ ...hiddenFields(body), decision: "approve" })
      )
    const [own, other] = [yield* fieldsOf(hers, "alice"), yield* fieldsOf(his, "bob")]
    for (const [name, mix] of forms) {
      const sent = { as: "alice", headers: formHeaders, body: form(mix(own, other)) }
      expect([name, pageName(yield* world.send("POST", "/consent", sent))]).not.toEqual([name, "consent-approved"])
      const waits = [yield* polledAs(world, tv, hers), yield* polledAs(world, tv, his)]
      expect([name, ...waits]).toEqual([name, "authorization_pending", "authorization_pending"])
    }
    // Her own page is as good as before, and lets in her device alone.
    const sent = { as: "alice", headers: formHeaders, body: form(own) }
    expect(pageName(yield* world.send("POST", "/consent", sent))).toBe("consent-approved")
    expect([yield* polledAs(world, tv, hers), yield* polledAs(world, tv, his)]).toEqual([
      "tokens",
      "authorization_pending"
    ])
  }))

/** Clients that are not the one that asked, or do not prove to be. */
const others: ReadonlyArray<readonly [name: string, fields: (tv: TestClient) => Fields, error: string]> = [
  ["nobody", () => ({}), "invalid_client"],
  ["a client that is not there", () => ({ client_id: "A".repeat(22) }), "invalid_client"],
  ["a client without its secret", ({ id }) => ({ client_id: id }), "invalid_client"],
  ["a client with another secret", ({ id }) => ({ client_id: id, client_secret: "wrong" }), "invalid_client"],
  ["a client in upper case", ({ id }) => ({ client_id: id.toUpperCase() }), "invalid_client"],
  ["a document that is not there", () => ({ client_id: "https://evil.example/client.json" }), "invalid_client"]
]

test(`${others.length} others get nothing for a code that is approved`, () =>
  inWorld(function* (world) {
    const box = yield* deviceClient(world, { token_endpoint_auth_method: "client_secret_post" })
    const told = yield* waitingDevice(world, box)
    yield* answerAs(world, told.userCode, "approve")
    for (const [name, fields, error] of others) {
      const sent = { grant_type: deviceGrant, device_code: told.deviceCode, ...fields(box) }
      const answer = yield* world.send("POST", "/oauth/token", { headers: formHeaders, body: form(sent) })
      expect([name, jsonOf(answer).error]).toEqual([name, error])
    }
    const web = yield* registerClient(world)
    expect(yield* polledAs(world, web, told)).toBe("unauthorized_client")
    expect(yield* polledAs(world, box, told)).toBe("tokens")
  }))

describe("with limits", () => {
  const limited = (what: string, body: (world: World) => Steps<void>) =>
    test(what, () => inWorld(body, { limiter: Layer.provide(sharedLimits, [memory, Entropy.layer]) }))

  limited("a device that polls too fast is told so, and gets its tokens at its pace", function* (world) {
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
    expect(yield* polledAs(world, tv, told)).toBe("slow_down")
    yield* answerAs(world, told.userCode, "approve")
    expect(yield* polledAs(world, tv, told)).toBe("slow_down")
    yield* TestClock.adjust("5 seconds")
    expect(yield* polledAs(world, tv, told)).toBe("tokens")
  })

  test("a device is told its pace, which no factor of the limits changes", () =>
    inWorld(
      function* (world) {
        const tv = yield* deviceClient(world)
        const told = yield* waitingDevice(world, tv)
        for (let round = 0; round < 2; round++) {
          expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
          expect(yield* polledAs(world, tv, told)).toBe("slow_down")
          yield* TestClock.adjust("5 seconds")
        }
      },
      { limiter: Layer.provide(limitsOf({ factor: 0.1 }), [memory, Entropy.layer]) }
    ))

  limited("one pace is kept by two servers that a device asks in turn", function* (world) {
    const there = yield* world.elsewhere
    const tv = yield* deviceClient(world)
    const told = yield* waitingDevice(world, tv)
    expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
    expect(yield* polledAs(there, tv, told)).toBe("slow_down")
    yield* TestClock.adjust("5 seconds")
    expect(yield* polledAs(there, tv, told)).toBe("authorization_pending")
    expect(yield* polledAs(world, tv, told)).toBe("slow_down")
  })

  limited("two devices of one client each have a pace of their own", function* (world) {
    const tv = yield* deviceClient(world)
    const [one, other] = [yield* waitingDevice(world, tv), yield* waitingDevice(world, tv)]
    expect(yield* polledAs(world, tv, one)).toBe("authorization_pending")
    expect(yield* polledAs(world, tv, other)).toBe("authorization_pending")
    expect(yield* polledAs(world, tv, one)).toBe("slow_down")
  })

  limited("a client that polls with codes of others slows none of them down", function* (world) {
    const [tv, thief] = [yield* deviceClient(world), yield* deviceClient(world)]
    const told = yield* waitingDevice(world, tv)
    for (let guess = 0; guess < 5; guess++) yield* polledAs(world, thief, told)
    for (let guess = 0; guess < 5; guess++) yield* polledAs(world, tv, { deviceCode: `${told.deviceCode}A` })
    expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
  })

  limited("an account that guesses codes is stopped, and another one is not", function* (world) {
    const statuses: Array<number> = []
    for (let guess = 0; guess < 21; guess++) {
      statuses.push((yield* enterCode(world, "BBBB-BBBB", "mallory", "203.0.113.9")).status)
    }
    expect([statuses.at(19), statuses.at(20)]).toEqual([400, 429])
    expect((yield* enterCode(world, "BBBB-BBBB", "alice", "198.51.100.7")).status).toBe(400)
  })

  limited("one address that guesses for many accounts is stopped", function* (world) {
    const name = (at: number) =>
      `m${String.fromCharCode(97 + (at % 26))}${String.fromCharCode(97 + Math.floor(at / 26))}`
    let stopped = 0
    for (let guess = 0; guess < 105; guess++) {
      const { status } = yield* enterCode(world, "BBBB-BBBB", name(Math.floor(guess / 10)), "203.0.113.9")
      if (status === 429) stopped++
    }
    expect(stopped).toBe(5)
  })

  limited("all that guess together, from everywhere, are stopped", function* (world) {
    const name = (at: number) => `m${[...String(at)].map((digit) => "abcdefghij".charAt(Number(digit))).join("")}`
    const guessed = (guess: number) =>
      Effect.map(enterCode(world, "BBBB-BBBB", name(guess), `198.51.${guess % 200}.7`), ({ status }) => status)
    for (let guess = 0; guess < 1000; guess++) expect(yield* guessed(guess)).toBe(400)
    expect(yield* guessed(1000)).toBe(429)
  })
})
