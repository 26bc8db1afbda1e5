import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { ClientIdentifier } from "../../core/client/ClientIdentifier.ts"
import { Conflict } from "../../core/ports/Storage.ts"
import type { Waiting } from "../../core/request/AuthorizationRequest.ts"
import {
  namesPushed,
  openRequestUri,
  push as pushRequest,
  queryAgain,
  queryOfVisit,
  requestUriPrefix,
  sealRequestUri
} from "../../core/request/pushed.ts"
import { AuthorizationRequestId, ClientId } from "../../core/rules/Id.ts"
import { RedirectTarget } from "../../core/rules/RedirectUri.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { UserCode } from "../../core/rules/UserCode.ts"
import { makeSealer } from "../../core/token/KeyRing.ts"
import { deviceClient, waitingDevice } from "../given/devices.ts"
import {
  decide,
  form,
  formHeaders,
  jsonOf,
  provenClient,
  redirectUri,
  type TestClient,
  type Values
} from "../given/flow.ts"
import {
  approveAt,
  askedBy,
  keyOf,
  objectOf,
  pushSigned,
  signingClient,
  uriOf,
  visit,
  visitTarget
} from "../given/pushing.ts"
import { inWorld, keyFrom, realSignatures, t0, theWorkspace, type World } from "../given/World.ts"
import { after, scopes } from "../grant/given.ts"

const signer = await keyOf("ES256", "one")
const sealer = makeSealer([keyFrom(1)])
const id = AuthorizationRequestId.make("AAAAAAAAAAAAAAAAAAAAAA")
const client = ClientId.make("c".repeat(22))

const theWaiting: Waiting = {
  _tag: "Waiting",
  id,
  client,
  to: { _tag: "Redirect", target: RedirectTarget.make(redirectUri), state: "s" },
  expiresAt: after(1),
  scope: scopes("api"),
  scopeByDefault: true,
  resources: null,
  challenge: null
}

/** What is kept of the requests that a client pushed. */
const keptOf = (world: World, by: TestClient) =>
  Effect.map(
    world.storage.list({
      workspace: theWorkspace.id,
      kind: "request",
      owner: `client:${by.id}`,
      after: undefined,
      limit: 10
    }),
    ({ records }) => records
  )

describe("a request_uri", () => {
  const open = (text: string, by = sealer, place: { id: string; issuer: string } = theWorkspace) => {
    const opened = openRequestUri(by, place, text)
    return Result.isSuccess(opened) ? opened.success : opened.failure
  }

  test.each(["begins", "continues"] as const)("is opened as it was sealed: %s", (kind) => {
    const text = sealRequestUri(sealer, theWorkspace, { id, visit: kind })
    expect(text).toMatch(/^urn:ietf:params:oauth:request_uri:[\w-]{72}$/)
    expect<unknown>(open(text)).toEqual({ id, visit: kind })
    expect<unknown>(open(text, makeSealer([keyFrom(2), keyFrom(1)]))).toEqual({ id, visit: kind })
  })

  const text = sealRequestUri(sealer, theWorkspace, { id, visit: "begins" })
  /** The text with one byte of what was sealed turned. */
  const turned = (at: number) => {
    const bytes = Buffer.from(text.slice(requestUriPrefix.length), "base64url")
    bytes[at] = (bytes[at] ?? 0) ^ 1
    return requestUriPrefix + bytes.toString("base64url")
  }
  test.each([
    ["", "malformed"],
    [requestUriPrefix, "malformed"],
    [text.slice(0, -1), "malformed"],
    [`${text}A`, "malformed"],
    [`${text.slice(0, -1)}!`, "malformed"],
    [turned(0), "malformed"],
    [turned(1), "unknown_key"],
    [turned(4), "unknown_key"],
    [turned(5), "forged"],
    [turned(6), "forged"],
    [turned(21), "forged"],
    [turned(22), "forged"],
    [turned(53), "forged"]
  ] as const)("that was changed is none: %s", (changed, reason) => expect<unknown>(open(changed)).toBe(reason))

  test("is of one workspace and of the keys that there are", () => {
    expect<unknown>(open(text, makeSealer([keyFrom(2)]))).toBe("unknown_key")
    expect<unknown>(open(text, sealer, { ...theWorkspace, id: "other" })).toBe("forged")
  })

  test("is named by a query where it is one of ours", () => {
    const named = encodeURIComponent(text)
    for (const [query, is] of [
      [`client_id=x&request_uri=${named}`, true],
      [`request_uri=${encodeURIComponent(requestUriPrefix)}`, true],
      ["request_uri=https%3A%2F%2Fapp.example.org%2Fr", false],
      [`request=${named}`, false],
      ["", false]
    ] as const) {
      expect([query, namesPushed(query)]).toEqual([query, is])
    }
  })

  test("stands in the query of a browser that goes on, with the code of its device", () => {
    const secret = digestOf("secret")
    const { to } = theWaiting
    const device = { _tag: "Device", secret } as const
    const code = UserCode.make("BCDFGHJK")
    const uri = encodeURIComponent(sealRequestUri(sealer, theWorkspace, { id, visit: "continues" }))
    const query = (of: Partial<Waiting>) => queryOfVisit(sealer, theWorkspace, { id, client, to, ...of })
    expect(query({})).toBe(`client_id=${client}&request_uri=${uri}`)
    expect(query({ to: device })).toBe(`client_id=${client}&request_uri=${uri}`)
    expect(query({ to: { ...device, code } })).toBe(`client_id=${client}&request_uri=${uri}&user_code=BCDF-GHJK`)
    const identifier = ClientIdentifier.make("https://app.example.org/c.json")
    expect(query({ identifier })).toStartWith(`client_id=${encodeURIComponent(identifier)}&request_uri=`)
    const waiting = theWaiting
    expect(queryAgain(sealer, theWorkspace, waiting)).toStartWith("response_type=code&")
    expect(queryAgain(sealer, theWorkspace, { ...waiting, pushed: { until: after(1) } })).toBe(query({}))
    expect(queryAgain(sealer, theWorkspace, { ...waiting, to: device })).toBe(query({ to: device }))
  })
})

const push = (world: World, by: TestClient, fields: Values = {}) =>
  world.send("POST", "/oauth/par", {
    headers: formHeaders,
    body: form({ ...askedBy(by), client_secret: by.secret, ...fields })
  })

const lastReason = (world: World) => {
  const event = world.audit.at(-1)?.event
  return event?._tag === "Refused" ? `${event.refusal} ${event.reason}` : event?._tag
}

describe("a browser that comes with a request_uri", () => {
  const visits: ReadonlyArray<
    readonly [reason: string, target: (world: World, mine: TestClient, theirs: TestClient) => Effect.Effect<string>]
  > = [
    [
      "repeated",
      (world, mine) => Effect.map(push(world, mine), (answer) => `${visitTarget(mine, uriOf(answer))}&request_uri=x`)
    ],
    [
      "beside_request",
      (world, mine) => Effect.map(push(world, mine), (answer) => visitTarget(mine, uriOf(answer), { request: "x" }))
    ],
    ["malformed", (_, mine) => Effect.succeed(visitTarget(mine, requestUriPrefix))],
    [
      "forged",
      (world, mine) =>
        Effect.map(push(world, mine), (answer) => {
          const uri = uriOf(answer)
          return visitTarget(mine, `${uri.slice(0, -3)}${uri.endsWith("AAA") ? "BBB" : "AAA"}`)
        })
    ],
    [
      "unknown",
      (_, mine) => Effect.succeed(visitTarget(mine, sealRequestUri(sealer, theWorkspace, { id, visit: "begins" })))
    ],
    [
      "other_client",
      (world, mine, theirs) => Effect.map(push(world, theirs), (answer) => visitTarget(mine, uriOf(answer)))
    ],
    [
      "used",
      (world, mine) =>
        Effect.flatMap(push(world, mine), (answer) =>
          Effect.as(approveAt(world, visitTarget(mine, uriOf(answer))), visitTarget(mine, uriOf(answer)))
        )
    ],
    [
      "used",
      (world, mine) =>
        Effect.gen(function* () {
          const target = visitTarget(mine, uriOf(yield* push(world, mine)))
          yield* decide(world, yield* visit(world, target), "deny")
          return target
        })
    ],
    [
      "expired",
      (world, mine) =>
        Effect.flatMap(push(world, mine), (answer) =>
          Effect.as(TestClock.adjust("1 minute"), visitTarget(mine, uriOf(answer)))
        )
    ]
  ]
  test.each(visits)("sees a page, and the operator why: %s", (reason, target) =>
    inWorld(function* (world) {
      const [mine, theirs] = [yield* provenClient(world), yield* provenClient(world)]
      const at = yield* target(world, mine, theirs)
      for (const as of ["alice", undefined]) {
        const answer = yield* world.send("GET", at, as === undefined ? {} : { as })
        expect([answer.status, lastReason(world)]).toEqual([400, `InvalidRequestUri ${reason}`])
      }
    })
  )
})

test("a device's request opens below its request_uri for a person with its code", () =>
  inWorld(function* (world) {
    const tv = yield* deviceClient(world)
    const { userCode } = yield* waitingDevice(world, tv)
    const [kept] = yield* keptOf(world, tv)
    const uri = sealRequestUri(sealer, theWorkspace, {
      id: AuthorizationRequestId.make(kept?.id ?? ""),
      visit: "continues"
    })
    const wrong = `${userCode.slice(0, -1)}${userCode.endsWith("B") ? "C" : "B"}`
    for (const [code, status] of [
      [userCode, 200],
      [undefined, 400],
      ["", 400],
      ["x", 400],
      [wrong, 400]
    ] as const) {
      const page = yield* visit(world, visitTarget(tv, uri, { user_code: code }))
      expect([code, page.status]).toEqual([code, status])
      if (status === 400) expect(lastReason(world)).toBe("InvalidRequestUri unknown")
    }
    yield* TestClock.adjust("10 minutes")
    expect((yield* visit(world, visitTarget(tv, uri, { user_code: userCode }))).status).toBe(400)
    expect(lastReason(world)).toBe("InvalidRequestUri expired")
  }))

describe("a request that its client pushes", () => {
  test("keeps a state as it can stand in an address, however it was sent", () =>
    inWorld(function* (world) {
      const by = yield* provenClient(world)
      const states: Array<unknown> = []
      const rows = [
        ["state=a%20b", "a%20b"],
        ["state=\u00e9a", "%C3%A9a"],
        ["state=a\u00e9", "a%C3%A9"],
        ["state=a b", "a%20b"],
        ["st%61te=a+b", "a%20b"],
        ["state=", null]
      ] as const
      for (const [sent] of rows) {
        const { state: _, ...asked } = askedBy(by)
        const body = `${form({ ...asked, client_secret: by.secret })}&${sent}`
        expect((yield* world.send("POST", "/oauth/par", { headers: formHeaders, body })).status).toBe(201)
        for (const { id, body } of yield* keptOf(world, by)) {
          states.push(Object(body).to.state)
          yield* world.storage.remove({ workspace: theWorkspace.id, kind: "request", id })
        }
      }
      expect(states).toEqual(rows.map(([, state]) => state))
    }))

  test("has to be signed where its client said so, and is taken then", () =>
    inWorld(
      function* (world) {
        const by = yield* signingClient(world, signer, { require_signed_request_object: true })
        const bare = yield* pushSigned(world, by)
        expect([bare.status, lastReason(world)]).toEqual([400, "InvalidRequest request_unsigned"])
        const signed = yield* pushSigned(world, by, { client_id: by.id, request: yield* objectOf(by) })
        expect(signed.status).toBe(201)
        expect((yield* visit(world, visitTarget(by, uriOf(signed)))).status).toBe(200)
      },
      { signatures: realSignatures }
    ))

  test("is put off where its id is taken, which no client is to be told", () =>
    inWorld(function* (world) {
      const { client: _, ...waiting } = theWaiting
      const requests = { ...world.services.requests, insert: () => Effect.fail(new Conflict()) }
      const call = { workspace: theWorkspace, now: t0 } as never
      const asked = { ...waiting, client: { id: client } } as never
      expect(yield* Effect.flip(pushRequest({ ...world.services, requests }, call, asked))).toMatchObject({
        _tag: "StorageUnavailable",
        outcome: "not_done"
      })
    }))

  test("names its client in its credentials alone, or there and in the form, and no other", () =>
    inWorld(function* (world) {
      const by = yield* provenClient(world, { token_endpoint_auth_method: "client_secret_basic" })
      const other = yield* provenClient(world)
      const basic = `Basic ${btoa(`${by.id}:${by.secret}`)}`
      for (const [named, status] of [
        [undefined, 201],
        [by.id, 201],
        [other.id, 400]
      ] as const) {
        const answer = yield* world.send("POST", "/oauth/par", {
          headers: { ...formHeaders, authorization: basic },
          body: form({ ...askedBy(by), client_id: named })
        })
        expect([named, answer.status]).toEqual([named, status])
        if (status === 201) expect((yield* visit(world, visitTarget(by, uriOf(answer)))).status).toBe(200)
      }
      expect(yield* keptOf(world, other)).toEqual([])
    }))

  test("is kept as far as it has 8 KiB, and no byte more", () =>
    inWorld(function* (world) {
      const by = yield* provenClient(world)
      const longest = Effect.map(keptOf(world, by), (records) =>
        Math.max(
          ...records.map(({ body }) => {
            const { _by, _v, ...waiting } = Object(body)
            return JSON.stringify(waiting).length
          })
        )
      )
      yield* push(world, by, { state: "s" })
      const most = 8 * 1024 - (yield* longest) + 1
      const more = yield* push(world, by, { state: "s".repeat(most + 1) })
      expect([more.status, lastReason(world)]).toEqual([400, "InvalidRequest request_too_long"])
      expect((yield* push(world, by, { state: "s".repeat(most) })).status).toBe(201)
      expect(yield* longest).toBe(8 * 1024)
    }))

  test("is kept with its key and its resources, and says nothing that it was not asked", () =>
    inWorld(function* (world) {
      const by = yield* provenClient(world)
      const rest = `${theWorkspace.issuer}/rest`
      const jkt = digestOf("key")
      yield* push(world, by, { scope: undefined, dpop_jkt: jkt, resource: rest })
      const records = yield* keptOf(world, by)
      const { _by, _tag, _v, challenge, client, expiresAt, id, pushed, to, ...asked } = Object(records[0]?.body)
      expect(asked).toEqual({
        scope: ["api"],
        scopeByDefault: true,
        resources: [rest],
        binding: { thumbprint: jkt }
      })
    }))

  test("is kept for its client, until a browser comes and for as long as it may read", () =>
    inWorld(function* (world) {
      const by = yield* provenClient(world)
      const answer = yield* push(world, by, { client_id: by.id, prompt: "consent", place_hint: "acme" })
      expect<unknown>(jsonOf(answer)).toEqual({ request_uri: expect.any(String), expires_in: 60 })
      const records = yield* keptOf(world, by)
      const { pushedTtl, consentTtl } = world.services.policy
      expect<unknown>(records.map(({ body }) => body)).toEqual([
        {
          _v: 3,
          _by: "push",
          _tag: "Waiting",
          id: expect.stringMatching(/^[\w-]{22}$/),
          client: by.id,
          expiresAt: t0 + pushedTtl + consentTtl,
          to: { _tag: "Redirect", target: redirectUri, state: "st" },
          pushed: { until: t0 + pushedTtl },
          scope: ["api"],
          scopeByDefault: false,
          resources: null,
          challenge: expect.any(String),
          prompt: ["consent"],
          placeHint: "acme"
        }
      ])
    }))
})
