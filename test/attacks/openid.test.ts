import { expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { Effect } from "effect"
import { decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, SignJWT } from "jose"
import type { Members } from "../../core/codec/Json.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import {
  codeFor,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonOf,
  postRegistration,
  provenClient,
  redeem,
  refresh,
  registerClient,
  type TestClient,
  text,
  type Values
} from "../given/flow.ts"
import { identify, signsIn, verified } from "../given/openId.ts"
import { inWorld, type Steps, t0, theWorkspace, type World, type WorldOptions } from "../given/World.ts"

/*
 * Sign-in and sign-out, attacked in process: hints that are forged or another's, addresses to return to, forms and frames
 * of other sites, and what a client adds to its own requests. Each row is one request. Forged tokens at the other
 * endpoints are in `test/openid/conformance.test.ts`, addresses of the private network in `test/adapters/documents/rows.ts`.
 */

const back = "https://app.example.org/signed-out"
const told = "https://app.example.org/logout"
const members = { post_logout_redirect_uris: [back], backchannel_logout_uri: told }

interface Scene {
  readonly world: World
  readonly web: DocumentsWeb
  readonly mine: TestClient
  readonly other: TestClient
  /** Alice's, as `mine` has it of the session that her browser is in. */
  readonly hint: string
}

/** Two applications that may be returned to at addresses of their own, and Alice, who is signed in at both. */
const attacked = (body: (scene: Scene) => Steps<unknown>, more: WorldOptions = {}) => {
  const web = new DocumentsWeb()
  return inWorld(
    function* (world) {
      const mine = yield* provenClient(world, members)
      const other = yield* provenClient(world, {
        redirect_uris: ["https://other.example/callback"],
        post_logout_redirect_uris: ["https://other.example/signed-out"]
      })
      const hint = text((yield* identify(world, mine)).id_token)
      return yield* body({ world, web, mine, other, hint })
    },
    { ...signsIn, documents: web.layer(), ...more }
  )
}

const at = (fields: Values) => `/oauth/logout?${form(fields)}`

const pageOf = ({ body }: HttpResponse) => /data-page="([^"]+)"/.exec(body)?.[1]

/** What an answer did: no redirect, no sign-out, no call to a client, and nothing fetched. */
const harm = Effect.fnUntraced(function* ({ web, world }: Scene, answer: HttpResponse) {
  yield* world.services.logouts.deliver(world.workspace)
  return [header(answer, "location"), header(answer, "set-cookie"), web.posted.length, web.asked.length]
})
const harmless = [undefined, undefined, 0, 0]

/** What a client signs itself, by the key that the server knows it by: no ID token, whatever it says. */
const clientsOwn = Effect.fnUntraced(function* ({ hint, web, world }: Scene) {
  const { privateKey, publicKey } = yield* Effect.promise(() => generateKeyPair("RS256"))
  const jwk = { ...(yield* Effect.promise(() => exportJWK(publicKey))), kid: "own" }
  const signs = { token_endpoint_auth_method: "private_key_jwt", post_logout_redirect_uris: [back] }
  const { id } = yield* registerClient(world, { ...signs, jwks: { keys: [jwk] } })
  const address = web.publish("https://app.example.org/client.json", { ...signs, jwks: { keys: [jwk] } })
  const { issuer } = theWorkspace
  const said = decodeJwt(hint)
  const { kid: ourKid } = decodeProtectedHeader(hint)
  const signed = (claims: object, kid = "own") =>
    Effect.promise(() =>
      new SignJWT({ ...said, ...claims }).setProtectedHeader({ alg: "RS256", typ: "JWT", kid }).sign(privateKey)
    )
  return {
    "a client's assertion of itself": yield* signed({ iss: id, sub: id, aud: issuer }),
    "a client's, in our name and for us": yield* signed({ iss: issuer, aud: issuer }),
    "a client's, in our name, for us and by our kid": yield* signed({ iss: issuer, aud: issuer }, text(ourKid)),
    "a client's, in our name and for itself": yield* signed({ iss: issuer, aud: id }),
    "a client's, for the address of a document": yield* signed({ iss: issuer, aud: address }),
    "a document's, of itself": yield* signed({ iss: address, sub: address, aud: issuer }),
    "a document's, of itself and for itself": yield* signed({ iss: address, aud: address })
  }
})

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url")

/** Hints that no ID token of this person, client and session is. */
const hintsOf = Effect.fnUntraced(function* (scene: Scene) {
  const { hint, mine, other, world } = scene
  const [head = "", body = "", signature = ""] = hint.split(".")
  const said = decodeJwt(hint)
  const protectedHeader = decodeProtectedHeader(hint)
  const stranger = yield* Effect.promise(() => generateKeyPair("RS256"))
  const published = yield* world.send("GET", "/oauth/jwks")
  const tokens = yield* identify(world, mine, { prompt: "consent" })
  const hmac = (key: string) => {
    const signed = `${part({ ...protectedHeader, alg: "HS256" })}.${body}`
    return `${signed}.${createHmac("sha256", key).update(signed).digest("base64url")}`
  }
  const by = (more: object) =>
    Effect.promise(() =>
      new SignJWT({ ...said })
        .setProtectedHeader({ ...protectedHeader, alg: "RS256", ...more })
        .sign(stranger.privateKey)
    )
  const asked = { algorithm: "RS256", life: 60_000 } as const
  const own = yield* world.services.signing.ready(world.workspace, asked, Instant.make(t0))
  return {
    ...(yield* clientsOwn(scene)),
    "no signature": `${head}.${body}.`,
    "two parts": `${head}.${body}`,
    "four parts": `${hint}.${signature}`,
    "alg none": `${part({ alg: "none" })}.${body}.`,
    "alg NONE, with the signature": `${part({ ...protectedHeader, alg: "NONE" })}.${body}.${signature}`,
    "a MAC by the published keys": hmac(published.body),
    "a MAC by the client's secret": hmac(mine.secret ?? ""),
    "a MAC by nothing": hmac(""),
    "a stranger's key by our name": yield* by({}),
    "a stranger's key in the header": yield* by({ jwk: { kty: "RSA", n: "AQAB", e: "AQAB" } }),
    "a stranger's keys at an address": yield* by({ jku: "https://evil.example/keys", kid: "evil" }),
    "a kid that is a path": yield* by({ kid: "../../../dev/null" }),
    "another person": `${head}.${part({ ...said, sub: "bob" })}.${signature}`,
    "another client": `${head}.${part({ ...said, aud: other.id })}.${signature}`,
    "another session": `${head}.${part({ ...said, sid: "A".repeat(43) })}.${signature}`,
    "another server": `${head}.${part({ ...said, iss: "https://evil.example" })}.${signature}`,
    "an extension that has to be known": `${part({ ...protectedHeader, crit: ["exp"] })}.${body}.${signature}`,
    "spaces in the signature": `${head}.${body}.${signature.slice(0, 20)} ${signature.slice(20)}`,
    "padding behind the signature": `${hint}==`,
    "another alphabet": `${head}.${body}.${signature.slice(0, -4)}+/+/`,
    "ours of another type": yield* own({ typ: "at+jwt" }, said as Members),
    "ours for a logout": yield* own({ typ: "logout+jwt" }, said as Members),
    "ours of no type": yield* own({}, said as Members),
    "ours for several": yield* own({ typ: "JWT" }, { ...said, aud: [mine.id, other.id] } as Members),
    "ours for nobody": yield* own({ typ: "JWT" }, { ...said, aud: undefined } as Members),
    "ours of nobody": yield* own({ typ: "JWT" }, { ...said, sub: undefined } as Members),
    "an access token": text(tokens.access_token),
    "a refresh token": text(tokens.refresh_token),
    "a code": yield* codeFor(world, mine, { scope: "openid", prompt: "consent" }),
    "the client's secret": mine.secret ?? "-",
    "the claims alone": JSON.stringify(said),
    "a list of hints": `${hint},${hint}`,
    "JSON serialization": JSON.stringify({ payload: body, protected: head, signature }),
    "ten thousand dots": ".".repeat(10_000),
    "a script": '"><script>alert(1)</script>'
  }
})

test("a hint that is forged signs no person out, and redirects no browser", () =>
  attacked(function* (scene) {
    const { mine, world } = scene
    for (const [name, id_token_hint] of Object.entries(yield* hintsOf(scene))) {
      for (const more of [{ post_logout_redirect_uri: back }, { client_id: mine.id, state: "s" }]) {
        const answer = yield* world.send("GET", at({ id_token_hint, ...more }), { as: "alice" })
        expect([name, answer.status, ...(yield* harm(scene, answer))]).toEqual([name, 400, ...harmless])
        expect([name, answer.body.includes("<form"), answer.body.includes("<script>alert")]).toEqual([
          name,
          false,
          false
        ])
      }
    }
  }))

/** Addresses that are not the registered one, in whatever way a reader may take them for it. */
const elsewhere = [
  "https://evil.example/",
  "https://evil.example/signed-out",
  "https://app.example.org",
  "https://app.example.org/",
  "https://app.example.org/signed-out/",
  "https://app.example.org/signed-out?",
  "https://app.example.org/signed-out#",
  "https://app.example.org/signed-out?next=https://evil.example",
  "https://app.example.org/signed-out/../../evil",
  "https://app.example.org/./signed-out",
  "https://app.example.org//signed-out",
  "https://app.example.org/%73igned-out",
  "https://app.example.org/signed-out%00",
  "https://app.example.org/signed-out%2f..%2fevil",
  "https://app.example.org:443/signed-out",
  "https://app.example.org:8443/signed-out",
  "https://app.example.org./signed-out",
  "https://app.example.org\\@evil.example/signed-out",
  "https://evil.example\\app.example.org/signed-out",
  "https://app.example.org@evil.example/signed-out",
  "https://evil.example#@app.example.org/signed-out",
  "https://evil.example?https://app.example.org/signed-out",
  "https:app.example.org/signed-out",
  "https:///app.example.org/signed-out",
  "http://app.example.org/signed-out",
  "HTTPS://app.example.org/signed-out",
  "https://APP.example.org/signed-out",
  "https://аpp.example.org/signed-out",
  " https://app.example.org/signed-out",
  "https://app.example.org/signed-out ",
  "https://app.example.org/signed-out\r\nset-cookie: a=b",
  "https://app.example.org/signed-out\tx",
  "//app.example.org/signed-out",
  "/signed-out",
  "javascript:alert(1)//https://app.example.org/signed-out",
  "data:text/html,x",
  "https://app.example.org/callback",
  "https://other.example/signed-out",
  "https://other.example/callback",
  `${theWorkspace.issuer}/oauth/authorize`
]

test("sign-out leads to no address but the one that was registered, character for character", () =>
  attacked(function* (scene) {
    const { hint, mine, other, world } = scene
    for (const uri of elsewhere) {
      for (const as of ["alice", undefined]) {
        const asked = { id_token_hint: hint, post_logout_redirect_uri: uri, client_id: mine.id }
        const answer = yield* world.send("GET", at(asked), as === undefined ? {} : { as })
        expect([uri, answer.status, ...(yield* harm(scene, answer))]).toEqual([uri, 400, ...harmless])
        expect([uri, /(?:href|src|action|content)="(?!\/|data:)[^"]*evil/.test(answer.body)]).toEqual([uri, false])
      }
    }
    // Another client's address by its name, and one beside the right one.
    for (const query of [
      form({
        id_token_hint: hint,
        client_id: other.id,
        post_logout_redirect_uri: "https://other.example/signed-out"
      }),
      form({ id_token_hint: hint, post_logout_redirect_uri: [back, "https://evil.example/"] }),
      form({ id_token_hint: [hint, hint], post_logout_redirect_uri: back }),
      form({ id_token_hint: hint, client_id: [mine.id, other.id], post_logout_redirect_uri: back })
    ]) {
      const answer = yield* world.send("GET", `/oauth/logout?${query}`, { as: "alice" })
      expect([query, answer.status, ...(yield* harm(scene, answer))]).toEqual([query, 400, ...harmless])
    }
  }))

const states = [
  "&post_logout_redirect_uri=https://evil.example",
  "#https://evil.example",
  "?x=y&state=other",
  "\r\nset-cookie: person=mallory",
  "\u0000",
  "💥 %00 %0d%0a",
  "<script>alert(1)</script>"
]

test("a state is a state, whatever is in it", () =>
  attacked(function* ({ hint, world }) {
    for (const state of states) {
      const asked = `${at({ id_token_hint: hint, post_logout_redirect_uri: back })}&state=${encodeURIComponent(state)}`
      const answer = yield* world.send("GET", asked, { as: "alice" })
      const there = new URL(text(header(answer, "location")))
      expect([there.origin + there.pathname, there.hash, [...there.searchParams]]).toEqual([
        back,
        "",
        [["state", state]]
      ])
      expect(answer.headers.filter(([name]) => name === "set-cookie")).toEqual([["set-cookie", "person=; Max-Age=0"]])
    }
  }))

/** Each is what another site's page can have a browser send, with Alice's cookie and a hint of hers. */
const unasked: ReadonlyArray<Readonly<Record<string, string>>> = [
  ..."iframe frame embed object image script style font audio video track worker manifest report xslt empty json"
    .split(" ")
    .map((dest) => ({ "sec-fetch-dest": dest, "sec-fetch-site": "cross-site" })),
  { "sec-purpose": "prefetch" },
  { "sec-purpose": "prefetch;prerender" },
  { purpose: "prefetch" }
]

test("another site's page signs no person out by anything but a click that leads there", () =>
  attacked(function* (scene) {
    const { hint, mine, world } = scene
    const asked = { id_token_hint: hint, post_logout_redirect_uri: back }
    for (const headers of unasked) {
      const answer = yield* world.send("GET", at(asked), { as: "alice", headers })
      expect([headers, pageOf(answer), ...(yield* harm(scene, answer))]).toEqual([headers, "end-session", ...harmless])
      expect(header(answer, "content-security-policy")).toContain("frame-ancestors 'none'")
    }
    // Forms: without the page's own field, and with one of another person's.
    const bobs = hiddenFields((yield* world.send("GET", at({}), { as: "bob" })).body)
    const forms: ReadonlyArray<Values> = [
      {},
      { csrf: "" },
      { csrf: "x" },
      { csrf: bobs.csrf },
      { ...asked, client_id: mine.id, id_token_hint: "" }
    ]
    for (const fields of forms) {
      const answer = yield* world.send("POST", "/oauth/logout", {
        as: "alice",
        headers: formHeaders,
        body: form(fields)
      })
      expect([fields, pageOf(answer), ...(yield* harm(scene, answer))]).toEqual([fields, "end-session", ...harmless])
    }
    for (const method of ["PUT", "DELETE", "PATCH"]) {
      const answer = yield* world.send(method, at(asked), { as: "alice" })
      expect([method, answer.status, ...(yield* harm(scene, answer))]).toEqual([method, 405, ...harmless])
    }
  }))

/** What a client sends along with a code or a refresh token, which no person has approved. */
const smuggled: ReadonlyArray<Values> = [
  { nonce: "evil" },
  { sub: "bob" },
  { sid: "A".repeat(43) },
  { aud: "another" },
  { acr_values: "gold" },
  { max_age: "0" },
  { auth_time: "1" },
  { id_token_hint: "x" },
  { claims: '{"id_token":{"email":null,"phone_number":null}}' },
  { claims: "{" },
  { claims_locales: "de" },
  { prompt: "none" },
  { id_token_signed_response_alg: "none" },
  { username: "bob", password: "secret" }
]

test("what a client adds to the exchange of a code or a refresh changes nothing of the ID token", () =>
  attacked(function* ({ mine, world }) {
    for (const more of smuggled) {
      const code = yield* codeFor(world, mine, { scope: "openid", nonce: "n", prompt: "consent" })
      const first = jsonOf(yield* redeem(world, mine, code, more))
      const again = jsonOf(yield* refresh(world, mine, text(first.refresh_token), more))
      const nonces: ReadonlyArray<readonly [unknown, ReadonlyArray<string>]> = [
        [first.id_token, ["n"]],
        [again.id_token, []]
      ]
      for (const [idToken, [nonce]] of nonces) {
        const { payload, protectedHeader } = yield* verified(world, mine, idToken)
        expect([more, Object.keys(payload).sort(), payload.nonce, payload.sub, protectedHeader.alg]).toEqual([
          more,
          ["at_hash", "aud", "exp", "iat", "iss", ...(nonce === undefined ? [] : ["nonce"]), "sid", "sub"],
          nonce,
          "alice",
          "RS256"
        ])
      }
    }
  }))

/** Claims that a client asks for by name and may not have: what the server says itself, and what it knows besides. */
const askedClaims = [
  '{"id_token":{"iss":{"value":"https://evil.example"}}}',
  '{"id_token":{"aud":{"values":["another"]}}}',
  '{"id_token":{"exp":{"value":9999999999}}}',
  '{"id_token":{"azp":null,"nonce":{"value":"evil"},"sid":{"value":"x"}}}',
  '{"id_token":{"at_hash":{"value":"x"},"jti":null}}',
  '{"id_token":{"session":null,"label":null,"role":null,"password":null}}',
  '{"id_token":{"__proto__":null,"constructor":null,"toString":null}}',
  '{"id_token":{"https://other.example/claim":{"essential":true}}}',
  '{"access_token":{"email":null},"userinfo":{"email":null}}',
  '{"id_token":{"_claim_names":null,"_claim_sources":{"value":"https://evil.example"}}}'
]

test("no claim that a client names replaces one of the server's own, or tells what is not the client's to know", () =>
  attacked(function* ({ mine, world }) {
    for (const claims of askedClaims) {
      const { id_token } = yield* identify(world, mine, { claims, nonce: "n", prompt: "consent" })
      const { payload } = yield* verified(world, mine, id_token)
      expect([claims, Object.keys(payload).sort(), payload.nonce]).toEqual([
        claims,
        ["at_hash", "aud", "exp", "iat", "iss", "nonce", "sid", "sub"],
        "n"
      ])
    }
  }))

test("nor does a row of claims of the host's, by which it would tell them", () => {
  const taken = ["iss", "sub", "aud", "exp", "iat", "at_hash", "nonce", "sid", "auth_time", "acr", "amr"]
  const more = Object.fromEntries(taken.map((name) => [name, "evil"]))
  return inWorld(
    function* (world) {
      const asked = Object.fromEntries(taken.map((name) => [name, null]))
      const claims = JSON.stringify({ id_token: asked, userinfo: asked })
      for (const signed of [{}, { userinfo_signed_response_alg: "ES256" }]) {
        const client = yield* provenClient(world, signed)
        const as = `alice; since=${t0}; acr=silver`
        const { access_token, id_token } = yield* identify(world, client, { claims, nonce: "n" }, as)
        const { payload } = yield* verified(world, client, id_token)
        expect([payload.sub, payload.nonce, Object.values(payload).includes("evil")]).toEqual(["alice", "n", false])
        const headers = { authorization: `Bearer ${text(access_token)}` }
        const told = yield* world.send("GET", "/oauth/userinfo", { headers })
        if (!("userinfo_signed_response_alg" in signed)) expect(jsonOf(told).sub).toBe("alice")
        else {
          expect(decodeJwt(told.body)).toMatchObject({ iss: theWorkspace.issuer, aud: client.id, sub: "alice" })
        }
      }
    },
    { ...signsIn, profile: { more }, claimScopes: [{ scope: "email", claims: taken }] }
  )
})

test("what one workspace signed, gave or asked is none of another's (mix-up)", () => {
  const here = { ...theWorkspace, issuer: Issuer.make("https://auth.example.com/t/a") }
  const there = { ...theWorkspace, id: WorkspaceId.make("there"), issuer: Issuer.make("https://auth.example.com/t/b") }
  return inWorld(
    function* (world) {
      const within = (base: string): World => ({
        ...world,
        send: (method, target, sent = {}) => world.send(method, base + target, { ...sent, host: "auth.example.com" })
      })
      const [a, b] = [within("/t/a"), within("/t/b")]
      const register = (one: World) =>
        Effect.map(postRegistration(one, { redirect_uris: ["https://app.example.org/callback"], ...members }), jsonOf)
      const registered = yield* register(a)
      yield* register(b)
      const client: TestClient = {
        id: text(registered.client_id),
        secret: text(registered.client_secret),
        redirectUri: "https://app.example.org/callback",
        registrationUri: "",
        registrationToken: ""
      }
      const basic = { authorization: `Basic ${btoa(`${client.id}:${client.secret}`)}` }
      const page = yield* a.send(
        "GET",
        `/oauth/authorize?${form({ response_type: "code", client_id: client.id, redirect_uri: client.redirectUri, scope: "openid", code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256" })}`,
        { as: "alice" }
      )
      const answer = yield* a.send("POST", "/consent", {
        as: "alice",
        headers: formHeaders,
        body: form({ ...hiddenFields(page.body), decision: "approve" })
      })
      const params = new URL(text(header(answer, "location"))).searchParams
      // RFC 9207: a client that asked another server learns from `iss` that the answer is not from that one.
      expect(params.get("iss")).toBe(here.issuer)
      const body = form({
        grant_type: "authorization_code",
        code: text(params.get("code") ?? undefined),
        redirect_uri: client.redirectUri,
        code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
      })
      const asked = { headers: { ...formHeaders, ...basic }, body }
      expect((yield* b.send("POST", "/oauth/token", asked)).status).toBe(401)
      const tokens = jsonOf(yield* a.send("POST", "/oauth/token", asked))
      const hint = text(tokens.id_token)
      for (const fields of [{ id_token_hint: hint }, { id_token_hint: hint, post_logout_redirect_uri: back }]) {
        const refused = yield* b.send("GET", at(fields), { as: "alice" })
        expect([refused.status, header(refused, "location"), header(refused, "set-cookie")]).toEqual([
          400,
          undefined,
          undefined
        ])
      }
      const bearing = { headers: { authorization: `Bearer ${text(tokens.access_token)}` } }
      expect([
        (yield* b.send("GET", "/oauth/userinfo", bearing)).status,
        (yield* a.send("GET", "/oauth/userinfo", bearing)).status
      ]).toEqual([401, 200])
    },
    { ...signsIn, workspaces: [here, there] }
  )
})
