import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { decodeBody, grantKind } from "../../../core/engine/Records.ts"
import { userGrants } from "../../../core/grant/Grant.ts"
import type { HttpResponse } from "../../../core/http/Http.ts"
import { safeReturnUrl } from "../../../core/http/returnUrl.ts"
import { ClientId, UserId } from "../../../core/rules/Id.ts"
import { standardPolicy } from "../../../core/rules/Policy.ts"
import { readResources } from "../../../core/rules/Resource.ts"
import { drawFrom } from "../../../core/testing/Draw.ts"
import { seed } from "../../adapters/seed.ts"
import {
  authorizeTarget,
  codeFor,
  companies,
  decide,
  form,
  formHeaders,
  header,
  jsonOf,
  prove,
  provenClient,
  redeem,
  registerClient,
  returned,
  type TestClient,
  text,
  tokenRequest,
  tokensOf
} from "../../given/flow.ts"
import { pageName } from "../../given/page.ts"
import { inWorld, theWorkspace, type World } from "../../given/World.ts"

type Fields = Readonly<Record<string, string | undefined>>

const ask = (world: World, client: TestClient, fields: Fields = {}, as: string | undefined = "alice") =>
  world.send("GET", authorizeTarget(client, fields), as === undefined ? {} : { as })

describe("an authorization request that redirects no browser", () => {
  const cases: ReadonlyArray<readonly [string, (target: string) => string, string]> = [
    ["no client_id", (target) => target.replace(/client_id=[^&]*&/, ""), "client_missing"],
    [
      "an unknown client_id",
      (target) => target.replace(/client_id=[^&]*/, `client_id=${"A".repeat(22)}`),
      "client_unknown"
    ],
    ["a malformed client_id", (target) => target.replace(/client_id=[^&]*/, "client_id=%27"), "client_unknown"],
    ["two client_ids", (target) => `${target}&client_id=x`, "client_repeated"],
    ["no redirect_uri", (target) => target.replace(/redirect_uri=[^&]*&/, ""), "redirect_uri_missing"],
    ["another redirect_uri", (target) => target.replace("callback", "callback2"), "redirect_uri_not_registered"],
    [
      "a redirect_uri that is none",
      (target) => target.replace(/redirect_uri=[^&]*/, "redirect_uri=x"),
      "redirect_uri_not_registered"
    ],
    [
      "two redirect_uris",
      (target) => `${target}&redirect_uri=https%3A%2F%2Fapp.example.org%2Fcallback`,
      "redirect_uri_repeated"
    ]
  ]
  for (const [what, change, reason] of cases) {
    test(`${what}: a page at once, signed in or not`, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world)
        for (const sent of [{}, { as: "alice" }]) {
          const target = change(authorizeTarget(client))
          const response = yield* world.send("GET", target, sent)
          expect(response.status).toBe(400)
          expect(header(response, "content-type")).toBe("text/html; charset=utf-8")
          expect(header(response, "location")).toBeUndefined()
          expect(world.audit.at(-1)?.event).toEqual({
            _tag: "Refused",
            endpoint: "/oauth/authorize",
            refusal: "UntrustedRequest",
            reason
          })
          const named = new URLSearchParams(target.split("?")[1])
          // What was sent stands on the page where it is what does not hold.
          if (reason.startsWith("redirect_uri_")) expect(response.body).toContain(client.id)
          if (reason === "redirect_uri_not_registered") {
            expect(response.body.replaceAll("<wbr>", "")).toContain(named.get("redirect_uri") ?? "none")
          }
        }
      }))
  }

  test("a client that an owner disabled, or that no person let in for too long", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const reasonOf = Effect.fnUntraced(function* () {
        const page = yield* ask(world, client)
        const event = world.audit.at(-1)?.event
        return [page.status, event?._tag === "Refused" && event.reason, pageName(page)]
      })
      const id = ClientId.make(client.id)
      const turn = (disabled: boolean) =>
        world.services.clients.change(theWorkspace.id, id, (stored) => ({ ...stored, disabled }))
      yield* turn(true)
      expect(yield* reasonOf()).toEqual([400, "client_disabled", "error-client-disabled"])
      yield* turn(false)
      yield* TestClock.adjust("30 days")
      expect(yield* reasonOf()).toEqual([400, "client_unknown", "error-unknown-client"])
    }))
})

test("an authorization request while the store is away is not refused: no redirect, and it goes on later", () =>
  inWorld(function* (world) {
    const client = yield* provenClient(world)
    const told = world.audit.length
    world.away.add("get client")
    const away = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
    world.away.clear()
    expect([away.status, header(away, "location"), header(away, "retry-after")]).toEqual([
      503,
      undefined,
      expect.any(String)
    ])
    expect(world.audit.slice(told)).toEqual([])
    expect((yield* world.send("GET", authorizeTarget(client), { as: "alice" })).status).toBe(200)
  }))

describe("the way back to an authorization request", () => {
  const signInAt = (response: HttpResponse) => {
    const at = new URL(text(header(response, "location")), theWorkspace.issuer)
    expect([response.status, at.pathname]).toEqual([303, "/login"])
    return at.searchParams.get("return_to") ?? undefined
  }

  test("is kept through sign-in, as browsers send it", () =>
    inWorld(function* (world) {
      const target = authorizeTarget(yield* registerClient(world))
      const draw = drawFrom(`way back ${seed}`)
      // What a browser leaves as it is in a query, and may be read in more than one way.
      const left = "aZ0-/\\?%+=@:;.[]{}|^`"
      const states = ["a\\b", "\\\\evil.example", "//evil.example", "/\\x", "?", "%5C", "%", "a+b", "..", "é %00"]
      for (let run = 0; run < 200; run++) {
        states.push(Array.from({ length: draw.below(20) }, () => left.charAt(draw.below(left.length))).join(""))
      }
      for (const state of states) {
        const asked = target.replace("state=st", `state=${state}`)
        const goOn = signInAt(yield* world.send("GET", asked))
        if (state !== "é %00") expect(goOn).toBe(asked)
        expect(safeReturnUrl(theWorkspace, goOn)).toBe(text(goOn))
        const page = yield* world.send("GET", text(goOn), { as: "alice" })
        const back = header(yield* decide(world, page, "approve", "alice"), "location")
        const sent = state === "é %00" ? "%C3%A9%20%00" : state
        expect([state, text(back).includes(`&state=${sent}&`) || sent === ""]).toEqual([state, true])
      }
    }))

  test("is not kept where it is too long for the address of a sign-in page: a page at once, signed in or not", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const target = authorizeTarget(client)
      const room = 12 * 1024 - encodeURIComponent(target).length
      for (const [longest, over] of [
        ["a".repeat(room), "a"],
        ["\\".repeat(Math.floor(room / 3)), "\\\\"]
      ] as const) {
        const kept = target.replace("state=st", `state=st${longest}`)
        const goOn = signInAt(yield* world.send("GET", kept))
        expect([goOn, safeReturnUrl(theWorkspace, goOn)]).toEqual([kept, kept])
        expect((yield* world.send("GET", kept, { as: "alice" })).status).toBe(200)
        for (const sent of [{}, { as: "alice" }]) {
          const refused = yield* world.send("GET", kept.replace("state=st", `state=st${over}`), sent)
          expect([refused.status, header(refused, "location")]).toEqual([400, undefined])
          expect(header(refused, "content-type")).toBe("text/html; charset=utf-8")
          expect(pageName(refused)).toBe("error-request-too-long")
          expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidRequest", reason: "request_too_long" })
        }
      }
      // What its client would be told of anyway, it is still told of.
      yield* prove(world, client)
      const wrong = authorizeTarget(client, { response_type: "token", state: "a".repeat(13_000) })
      expect(returned(yield* world.send("GET", wrong)).get("error")).toBe("unsupported_response_type")
    }))
})

describe("an authorization request that its client is told about", () => {
  const cases: ReadonlyArray<readonly [string, Fields, string, string | null]> = [
    ["no response_type", { response_type: undefined }, "invalid_request", "missing_parameter"],
    ["another response_type", { response_type: "token" }, "unsupported_response_type", null],
    ["another response_mode", { response_mode: "fragment" }, "invalid_request", "response_mode"],
    ["only unknown scopes", { scope: "openid" }, "invalid_scope", "none_to_be_had"],
    ["a foreign resource", { resource: "https://other.example" }, "invalid_target", "not_ours"],
    ["a plain challenge", { code_challenge_method: "plain" }, "invalid_request", "challenge_method"],
    ["a challenge without a method", { code_challenge_method: undefined }, "invalid_request", "challenge_method"],
    ["a method without a challenge", { code_challenge: undefined }, "invalid_request", "challenge_required"],
    ["a short challenge", { code_challenge: "a".repeat(42) }, "invalid_request", "challenge_malformed"],
    [
      "a challenge of odd characters",
      { code_challenge: `${"a".repeat(43)}+` },
      "invalid_request",
      "challenge_malformed"
    ],
    ["a key that is none", { dpop_jkt: "a".repeat(42) }, "invalid_request", "malformed_parameter"],
    ["an age that is none", { max_age: "1.5" }, "invalid_request", "malformed_parameter"],
    ["a prompt beside none", { prompt: "none login" }, "invalid_request", "prompt_none_with_another"],
    ["a hint of 257 letters", { login_hint: "a".repeat(257) }, "invalid_request", "malformed_parameter"],
    ["a nonce of 1025 letters", { nonce: "a".repeat(1025) }, "invalid_request", "malformed_parameter"],
    ["a request object", { request: "x" }, "request_not_supported", null],
    ["a request_uri of elsewhere", { request_uri: "https://app.example.org/r" }, "request_uri_not_supported", null],
    ["a registration", { registration: "{}" }, "registration_not_supported", null]
  ]
  for (const [what, fields, error, reason] of cases) {
    test(`${what}: ${error}, with state and iss, before any sign-in`, () =>
      inWorld(function* (world) {
        const client = yield* provenClient(world)
        const response = yield* ask(world, client, fields, undefined)
        expect(response.status).toBe(303)
        expect(header(response, "location")).toStartWith(`${client.redirectUri}?`)
        expect([...returned(response).keys()]).toEqual(["error", "error_description", "state", "iss"])
        expect(returned(response).get("error")).toBe(error)
        expect(returned(response).get("error_description")).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
        expect(returned(response).get("state")).toBe("st")
        expect(returned(response).get("iss")).toBe(theWorkspace.issuer)
        expect(world.audit.at(-1)?.event).toMatchObject({ _tag: "Refused", reason })
      }))
  }

  test("a repeated parameter: invalid_request, and no state where that came twice", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const twice = yield* world.send("GET", `${authorizeTarget(client)}&scope=api&scope=api`, { as: "alice" })
      expect(returned(twice).get("error")).toBe("invalid_request")
      expect(returned(twice).get("state")).toBe("st")
      // Before what it asks for that is not to be had.
      const object = yield* world.send("GET", `${authorizeTarget(client)}&scope=api&scope=api&request=x`)
      expect(returned(object).get("error")).toBe("invalid_request")
      const states = yield* world.send("GET", `${authorizeTarget(client)}&state=other`, { as: "alice" })
      expect(returned(states).get("error")).toBe("invalid_request")
      expect(returned(states).has("state")).toBe(false)
    }))

  test("a client that did not register for the code flow", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world, { grant_types: ["client_credentials"] })
      expect(returned(yield* ask(world, client)).get("error")).toBe("unauthorized_client")
    }))

  test("a public client without PKCE, and a confidential one where the policy asks it of all", () =>
    inWorld(function* (world) {
      const fields = { code_challenge: undefined, code_challenge_method: undefined }
      const open = yield* provenClient(world, { token_endpoint_auth_method: "none" })
      expect(returned(yield* ask(world, open, fields)).get("error")).toBe("invalid_request")
      const confidential = yield* provenClient(world)
      expect((yield* ask(world, confidential, fields)).status).toBe(200)
    }).then(() =>
      inWorld(
        function* (world) {
          const confidential = yield* provenClient(world)
          const response = yield* ask(world, confidential, {
            code_challenge: undefined,
            code_challenge_method: undefined
          })
          expect(returned(response).get("error")).toBe("invalid_request")
        },
        { policy: { requirePkce: true } }
      )
    ))
})

describe("what goes back to the client", () => {
  const states = ["%20", "a+b", "a%20b", "%E4%BD%A0", "%ff", "a%26b%3Dc", "%22", "~.-_", "/?:@!$'()*,;"]
  for (const state of states) {
    test(`state ${state}, byte for byte`, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world)
        const page = yield* world.send("GET", `${authorizeTarget(client, { state: undefined })}&state=${state}`, {
          as: "alice"
        })
        const response = yield* decide(world, page, "approve")
        expect(header(response, "location")).toContain(`&state=${state}&iss=`)
      }))
  }

  const others: ReadonlyArray<readonly [sent: string, state: string | undefined]> = [
    ["state=a b", "a%20b"],
    ["state=\u00e9", "%C3%A9"],
    ["state=a\u00e9", "a%C3%A9"],
    ["state=\u00e9a", "%C3%A9a"],
    ["st%61te=a+b", "a%20b"],
    ["state=%23", "%23"],
    ["states=x&state=y", "y"],
    ["mystate=x&state=y", "y"],
    ["mystate=x", undefined],
    ["state=", undefined],
    ["state", undefined]
  ]
  test.each(others)("of what no browser sends as it is, in its place: %s", (sent, state) =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const asked = (scope: string) =>
        world.send("GET", `${authorizeTarget(client, { state: undefined, scope })}&${sent}`, { as: "alice" })
      // With what was asked for, and with the error of what is not to be had.
      for (const answer of [yield* decide(world, yield* asked("api"), "approve"), yield* asked("openid")]) {
        expect(/[?&]state=([^&]*)/.exec(header(answer, "location") ?? "")?.[1]).toBe(state)
      }
    })
  )

  test("nothing that was not asked: no state, no fragment, the target's own query", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { redirect_uris: ["https://app.example.org/cb?tenant=7"] })
      const page = yield* ask(world, client, { state: undefined })
      const location = header(yield* decide(world, page, "approve"), "location") ?? ""
      expect(location).toMatch(/^https:\/\/app\.example\.org\/cb\?tenant=7&code=tsr_ac_[\w-]+&iss=[^&#]+$/)
    }))

  test("a code for the loopback port of this request", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, {
        redirect_uris: ["http://localhost/cb"],
        token_endpoint_auth_method: "none"
      })
      const target = { ...client, redirectUri: "http://localhost:51234/cb" }
      const code = yield* codeFor(world, target)
      expect((yield* redeem(world, client, code)).status).toBe(400)
      expect((yield* redeem(world, target, code)).status).toBe(200)
    }))
})

describe("the consent page", () => {
  test("names the client, where it returns to, each scope in words and the account, also a scope by default", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { client_name: "<b>Evil</b> & Co" })
      const page = yield* ask(world, client, { scope: undefined })
      expect(page.status).toBe(200)
      for (const text of [
        "&lt;b&gt;Evil&lt;/b&gt; &amp; Co",
        "app.example.org",
        "Read and change data",
        "alice@example.com"
      ])
        expect(page.body.replaceAll("<wbr>", "")).toContain(text)
      expect(page.body).not.toContain("<b>Evil")
      expect(header(page, "content-security-policy")).not.toContain("form-action")
      expect(header(page, "content-security-policy")).toContain("frame-ancestors 'none'")
      expect(header(page, "access-control-allow-origin")).toBeUndefined()
    }))
})

describe("resource (RFC 8707)", () => {
  test("is bound at authorize, narrowed at token, shown as aud, and held to", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const rest = `${theWorkspace.issuer}/rest`
      const bound = tokensOf(
        yield* redeem(world, client, yield* codeFor(world, client, { resource: rest, scope: "api profile" }))
      )
      expect((yield* companies(world, bound.access)).status).toBe(200)
      expect(
        (yield* world.send("GET", "/oauth/userinfo", { headers: { authorization: `Bearer ${bound.access}` } })).status
      ).toBe(401)
      const body = form({ client_id: client.id, client_secret: client.secret, token: bound.access })
      expect(jsonOf(yield* world.send("POST", "/oauth/introspect", { headers: formHeaders, body })).aud).toBe(rest)
      const wider = yield* tokenRequest(world, client, {
        grant_type: "refresh_token",
        refresh_token: bound.refresh,
        resource: theWorkspace.issuer
      })
      expect(jsonOf(wider).error).toBe("invalid_target")
      const narrowed = tokensOf(
        yield* tokenRequest(world, client, {
          grant_type: "refresh_token",
          refresh_token: bound.refresh,
          resource: `${rest}/people`
        })
      )
      expect((yield* companies(world, narrowed.access)).status).toBe(401)
    }))
})

const decode = decodeBody(grantKind(standardPolicy))

/** What is kept of a person's grants, read as a process that did not write it reads it. */
const keptOf = (world: World, person: string) =>
  Effect.map(
    world.storage.list({
      workspace: world.workspace.id,
      kind: "grant",
      owner: userGrants(UserId.make(person)),
      after: undefined,
      limit: 10
    }),
    ({ records }) => records.map(({ body }) => decode(JSON.parse(JSON.stringify(body))))
  )

describe("no request leads to a record that cannot be read back", () => {
  test("a resource that grows when it is written as an address", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const resource = `${world.workspace.issuer}/${"<".repeat(2000)}`
      const target = authorizeTarget(client, { resource })
      const page = yield* world.send("GET", target, { as: "alice" })
      if (page.status === 200) yield* decide(world, page, "approve")
      const kept = yield* keptOf(world, "alice")
      expect(kept.filter(Result.isFailure)).toEqual([])
      expect(returned(page).get("error")).toBe("invalid_target")
      expect(Result.isFailure(readResources(world.workspace, [resource]))).toBe(true)
    }))

  test("a loopback redirect URI that grows by its port", () =>
    inWorld(function* (world) {
      const registered = `http://127.0.0.1/${"a".repeat(2048 - "http://127.0.0.1/".length)}`
      const client = yield* registerClient(world, { redirect_uris: [registered] })
      const presented = registered.replace("127.0.0.1", "127.0.0.1:54321")
      const page = yield* world.send("GET", authorizeTarget(client, { redirect_uri: presented }), { as: "alice" })
      if (page.status === 200) yield* decide(world, page, "approve")
      const kept = yield* keptOf(world, "alice")
      expect(kept.filter(Result.isFailure)).toEqual([])
      expect(page.status).toBe(400)
      expect(header(page, "location")).toBeUndefined()
    }))
})
