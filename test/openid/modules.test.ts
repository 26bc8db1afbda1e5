import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import {
  authorizeTarget,
  codeFor,
  decide,
  form,
  formHeaders,
  header,
  jsonOf,
  provenClient,
  redeem,
  refresh,
  registerClient,
  returned,
  type TestClient,
  text,
  type Values,
  verifier
} from "../given/flow.ts"
import { identify, signsIn, verified } from "../given/openId.ts"
import { inWorld, type Steps, t0, theWorkspace, type World } from "../given/World.ts"

const { issuer } = theWorkspace
const seconds = t0 / 1000
/** Alice, who signed in so long ago. */
const alice = (age: number) => `alice; since=${t0 - age * 1000}; acr=silver`

const remembering = { ...signsIn, policy: { ...signsIn.policy, consent: "remember" as const } }

const asks = (world: World, client: TestClient, fields: Values, as?: string) =>
  world.send("GET", authorizeTarget(client, { scope: "openid", ...fields }), as === undefined ? {} : { as })

const isLogin = (answer: HttpResponse): boolean => header(answer, "location")?.startsWith("/login?") === true

/** Through the sign-in that a request leads to, at which its person is as new as can be, and on to the ID token. */
const signInAgain = Effect.fnUntraced(function* (world: World, client: TestClient, sent: HttpResponse) {
  const back = new URL(header(sent, "location") ?? "", issuer).searchParams.get("return_to") ?? ""
  const again = yield* world.send("GET", back, { as: alice(0) })
  const answer = again.status === 200 ? yield* decide(world, again, "approve", alice(0)) : again
  const tokens = jsonOf(yield* redeem(world, client, text(returned(answer).get("code"))))
  return (yield* verified(world, client, tokens.id_token)).payload
})

describe("OIDC Basic, whose requests say more than they have to", () => {
  /** Each comes to a code, and to an ID token with the nonce that was sent. */
  const accepted: ReadonlyArray<readonly [module: string, fields: Values]> = [
    ["oidcc-display-page", { display: "page" }],
    ["oidcc-display-popup", { display: "popup" }],
    ["oidcc-ensure-request-with-unknown-parameter-succeeds", { extra: "foobar" }],
    ["oidcc-login-hint", { login_hint: "buffy@host" }],
    ["oidcc-ui-locales", { ui_locales: "se" }],
    ["oidcc-claims-locales", { claims_locales: "se" }],
    ["oidcc-ensure-request-with-acr-values-succeeds", { acr_values: "silver 2" }],
    ["oidcc-ensure-request-with-valid-pkce-succeeds", {}]
  ]
  for (const [module, fields] of accepted) {
    test(module, () =>
      inWorld(function* (world) {
        const client = yield* provenClient(world)
        const { id_token } = yield* identify(world, client, { nonce: "n-1", ...fields }, alice(60))
        const { payload } = yield* verified(world, client, id_token)
        const acr = fields.acr_values === undefined ? undefined : "silver"
        expect([payload.sub, payload.nonce, payload.acr]).toEqual(["alice", "n-1", acr])
      }, signsIn)
    )
  }

  test("oidcc-alternate-happy-flow", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const scope = "phone address email profile openid"
      const [path, query = ""] = authorizeTarget(client, { scope, prompt: "consent", nonce: "n-1" }).split("?")
      const reversed = query.split("&").reverse().join("&")
      const page = yield* world.send("GET", `${path}?${reversed}`, { as: alice(60) })
      const code = text(returned(yield* decide(world, page, "approve", alice(60))).get("code"))
      const { id_token } = jsonOf(yield* redeem(world, client, code))
      expect((yield* verified(world, client, id_token)).payload).toMatchObject({ sub: "alice", nonce: "n-1" })
    }, signsIn))

  test("oidcc-ensure-request-with-acr-values-succeeds, as the suite sends it where no values are known", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      const sent = yield* asks(world, client, { acr_values: "1 2", nonce: "n-1" }, alice(60))
      expect(isLogin(sent)).toBe(true)
      const told = { sub: "alice", nonce: "n-1", acr: "silver" }
      expect(yield* signInAgain(world, client, sent)).toMatchObject(told)
    }, signsIn))

  for (const [module, first, second] of [
    ["oidcc-prompt-login", { max_age: "10000" }, { prompt: "login", max_age: "10000" }],
    ["oidcc-max-age-1", { max_age: "10000" }, { max_age: "1" }]
  ] as const) {
    test(module, () =>
      inWorld(function* (world) {
        const client = yield* provenClient(world)
        const before = yield* identify(world, client, first, alice(2))
        expect((yield* verified(world, client, before.id_token)).payload.auth_time).toBe(seconds - 2)
        const sent = yield* asks(world, client, second, alice(2))
        expect(isLogin(sent)).toBe(true)
        expect(yield* signInAgain(world, client, sent)).toMatchObject({ sub: "alice", auth_time: seconds })
      }, remembering)
    )
  }

  test("oidcc-max-age-10000", () =>
    inWorld(function* (world) {
      const client = yield* provenClient(world)
      yield* identify(world, client, { max_age: "15000" }, alice(60))
      const code = returned(yield* asks(world, client, { max_age: "10000" }, alice(60))).get("code")
      const { id_token } = jsonOf(yield* redeem(world, client, text(code)))
      expect((yield* verified(world, client, id_token)).payload.auth_time).toBe(seconds - 60)
    }, remembering))

  for (const [module, method] of [
    ["oidcc-server", "client_secret_basic"],
    ["oidcc-server-client-secret-post", "client_secret_post"]
  ] as const) {
    test(module, () =>
      inWorld(function* (world) {
        const client = yield* registerClient(world, { token_endpoint_auth_method: method })
        const own = { client_id: client.id, client_secret: client.secret ?? "" }
        const basic = { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` }
        const asked = Effect.fnUntraced(function* (fields: Values) {
          const sent = method === "client_secret_post" ? { ...own, ...fields } : fields
          const headers = { ...formHeaders, ...(method === "client_secret_basic" ? basic : {}) }
          return jsonOf(yield* world.send("POST", "/oauth/token", { headers, body: form(sent) }))
        })
        const code = yield* codeFor(world, client, { scope: "openid" })
        const to = { redirect_uri: client.redirectUri, code_verifier: verifier }
        const first = yield* asked({ grant_type: "authorization_code", code, ...to })
        const second = yield* asked({ grant_type: "refresh_token", refresh_token: text(first.refresh_token) })
        for (const { id_token } of [first, second]) {
          expect((yield* verified(world, client, id_token)).payload.sub).toBe("alice")
        }
      }, signsIn)
    )
  }
})

describe("OIDC Dynamic, of addresses to return to", () => {
  const plain = "https://app.example.org/callback"
  const queried = `${plain}?dummy1=lorem&dummy2=ipsum`
  const rows: ReadonlyArray<
    readonly [module: string, registered: ReadonlyArray<string>, sent: string | undefined, ok: boolean]
  > = [
    ["oidcc-redirect-uri-query-OK", [queried], queried, true],
    ["oidcc-redirect-uri-query-mismatch", [queried], `${plain}?dummy1=lorem`, false],
    ["oidcc-redirect-uri-query-mismatch, in another order", [queried], `${plain}?dummy2=ipsum&dummy1=lorem`, false],
    ["oidcc-redirect-uri-query-added", [plain], `${plain}?foo=bar`, false],
    ["oidcc-redirect-uri-query-added, and empty", [plain], `${plain}?`, false],
    ["oidcc-ensure-redirect-uri-in-authorization-request", [plain, queried], undefined, false],
    // RFC 6749 would let one that is alone stand for it.
    ["oidcc-ensure-redirect-uri-in-authorization-request, with one alone", [plain], undefined, false]
  ]
  for (const [module, redirect_uris, redirect_uri, ok] of rows) {
    test(module, () =>
      inWorld(function* (world) {
        const client = yield* provenClient(world, { redirect_uris })
        const page = yield* asks(world, client, { redirect_uri }, "alice")
        expect([page.status, header(page, "location")]).toEqual([ok ? 200 : 400, undefined])
        if (!ok) return
        const back = returned(yield* decide(world, page, "approve"))
        expect([back.get("dummy1"), back.get("dummy2"), back.get("iss")]).toEqual(["lorem", "ipsum", issuer])
        const tokens = yield* redeem(world, client, text(back.get("code")), { redirect_uri: queried })
        expect(tokens.status).toBe(200)
      }, signsIn)
    )
  }
})

test("oidcc-registration-policy-uri, -tos-uri, and oidcc-registration-logo-uri, whose picture no page loads", () =>
  inWorld(function* (world) {
    const client = yield* provenClient(world, {
      policy_uri: "https://app.example.org/privacy?a=1&b=2",
      tos_uri: "https://terms.example.org/terms",
      logo_uri: "https://app.example.org/logo.png"
    })
    const { body, headers } = yield* asks(world, client, {}, "alice")
    const links = [...body.matchAll(/<a href="([^"]*)" rel="noreferrer noopener nofollow"/g)].map(([, href]) => href)
    expect(links).toEqual(["https://app.example.org/privacy?a=1&amp;b=2", "https://terms.example.org/terms"])
    for (const host of ["app.example.org", "terms.example.org"]) {
      expect(body.replaceAll("<wbr>", "")).toContain(`at <span class="host"><bdi>${host}</bdi>`)
    }
    expect(body.includes("logo.png")).toBe(false)
    expect(new Map(headers).get("content-security-policy")).toContain("default-src 'none'")
    const plain = yield* asks(world, yield* provenClient(world), {}, "alice")
    expect(plain.body.includes("noreferrer noopener")).toBe(false)
  }, signsIn))

describe("who is in the way of a sign-in", () => {
  const played = (body: (world: World, one: TestClient, other: TestClient) => Steps<unknown>) =>
    inWorld(function* (world) {
      return yield* body(world, yield* provenClient(world), yield* provenClient(world))
    }, remembering)

  test("redeems no code of another's sign-in, whatever of its own stands beside it", () =>
    played(function* (world, mine, other) {
      const stolen = yield* codeFor(world, mine, { scope: "openid", nonce: "of the victim" }, "alice")
      const injected: ReadonlyArray<readonly [TestClient, Values]> = [
        [other, {}],
        [other, { client_id: mine.id }],
        [{ ...other, id: mine.id }, {}],
        [mine, { code_verifier: verifier.replace("a", "b") }],
        [mine, { code_verifier: undefined }],
        [mine, { redirect_uri: "https://evil.example/callback" }],
        [mine, { code: `${stolen.slice(0, -1)}${stolen.endsWith("A") ? "B" : "A"}` }]
      ]
      for (const [client, fields] of injected) {
        const answer = yield* redeem(world, client, stolen, fields)
        expect([fields, answer.status < 500, answer.status >= 400]).toEqual([fields, true, true])
        expect(answer.body).not.toContain("id_token")
      }
    }))

  test("has a nonce of the request that was approved, and of no other, and none of a refresh", () =>
    played(function* (world, mine) {
      const first = yield* identify(world, mine, { nonce: "one" })
      const second = yield* identify(world, mine, { nonce: "two", prompt: "consent" })
      const none = yield* identify(world, mine, { prompt: "consent" })
      for (const [tokens, nonce] of [
        [first, "one"],
        [second, "two"],
        [none, undefined]
      ] as const) {
        const again = jsonOf(yield* refresh(world, mine, text(tokens.refresh_token), { nonce: "three" }))
        for (const [{ id_token }, told] of [
          [tokens, nonce],
          [again, undefined]
        ] as const) {
          expect<unknown>((yield* verified(world, mine, id_token)).payload.nonce).toBe(told)
        }
      }
    }))

  test("is told by every answer which server gave it, errors as well as codes", () =>
    played(function* (world, mine) {
      yield* identify(world, mine)
      const answers = [
        yield* asks(world, mine, { prompt: "none" }, "alice"),
        yield* asks(world, mine, { prompt: "none" }),
        yield* asks(world, mine, { prompt: "none login" }, "alice"),
        yield* asks(world, mine, { prompt: "none", scope: "openid phone" }, "alice"),
        yield* asks(world, mine, { max_age: "x" }, "alice"),
        yield* asks(world, mine, { response_type: "id_token" }, "alice"),
        yield* asks(world, mine, { request: "e30.e30." }, "alice")
      ].map(returned)
      for (const answer of answers) expect(answer.getAll("iss")).toEqual([issuer])
      expect(answers.map((answer) => answer.get("code") !== null)).toEqual([true, ...Array(6).fill(false)])
    }))

  test("learns nothing by prompt=none in a frame: no page, and no cookie, comes with the answer", () =>
    played(function* (world, mine, other) {
      yield* identify(world, mine)
      const framed = { "sec-fetch-dest": "iframe", "sec-fetch-site": "cross-site" }
      const rows = [
        [mine, "alice", null],
        [mine, undefined, "login_required"],
        [other, "alice", "consent_required"]
      ] as const
      for (const [client, as, error] of rows) {
        const target = authorizeTarget(client, { scope: "openid", prompt: "none" })
        const answer = yield* world.send("GET", target, { headers: framed, ...(as === undefined ? {} : { as }) })
        expect([answer.status, returned(answer).get("error")]).toEqual([303, error])
        expect([header(answer, "set-cookie"), answer.body]).toEqual([undefined, ""])
        expect(header(answer, "access-control-allow-origin")).toBeUndefined()
      }
    }))

  test("gets no claim into another client's token", () =>
    played(function* (world, mine, other) {
      const claims = '{"id_token":{"email":null,"phone_number":null},"userinfo":{"address":null}}'
      yield* identify(world, other, { claims, scope: "openid email phone address" })
      const own = yield* identify(world, mine, { scope: "openid" })
      const again = jsonOf(yield* refresh(world, mine, text(own.refresh_token), { claims, scope: "openid" }))
      for (const { id_token } of [own, again]) {
        const { payload } = yield* verified(world, mine, id_token)
        for (const name of ["email", "phone_number", "address"]) expect(payload).not.toHaveProperty(name)
      }
    }))
})

describe("OIDC Config, of an issuer with a path", () => {
  const workspace = { ...theWorkspace, issuer: Issuer.make("https://auth.example.com/t/a") }
  test("is found behind the path, as OpenID has it, and between host and path, as RFC 8414 has it", () =>
    inWorld(
      function* (world) {
        const documents: Array<unknown> = []
        for (const path of [
          "/t/a/.well-known/openid-configuration",
          "/.well-known/openid-configuration/t/a",
          "/.well-known/oauth-authorization-server/t/a"
        ]) {
          const answer = yield* world.send("GET", path, { host: "auth.example.com" })
          expect([path, answer.status]).toEqual([path, 200])
          documents.push(jsonOf(answer))
        }
        expect(documents[0]).toMatchObject({
          issuer: workspace.issuer,
          authorization_endpoint: `${workspace.issuer}/oauth/authorize`,
          userinfo_endpoint: `${workspace.issuer}/oauth/userinfo`
        })
        expect(documents[1]).toEqual(documents[0])
        expect(documents[2]).toEqual(documents[0])
        const elsewhere = yield* world.send("GET", "/t/b/.well-known/openid-configuration", {
          host: "auth.example.com"
        })
        expect(elsewhere.status).toBe(404)
      },
      { ...signsIn, workspaces: [workspace] }
    ))
})
