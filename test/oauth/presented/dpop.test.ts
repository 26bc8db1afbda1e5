import { describe, expect, test } from "bun:test"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { deviceGrant } from "../../../core/client/Profile.ts"
import type { HeaderPairs, HttpResponse } from "../../../core/http/Http.ts"
import { UserId } from "../../../core/rules/Id.ts"
import { signInScopes } from "../../../core/rules/Scope.ts"
import { Issuer } from "../../../core/workspace/Workspace.ts"
import { answerAs, deviceClient, shownBy, toldOf, waitingDevice } from "../../given/devices.ts"
import {
  askWith,
  companiesAddress,
  type Holder,
  holderOf,
  type Odd,
  proofClaims,
  proofFor,
  publicClient,
  redeemWith,
  refreshWith,
  signedProof,
  signInWith,
  tokenAddress,
  tokenProof
} from "../../given/dpop.ts"
import {
  bearing,
  challenge,
  codeFor,
  decide,
  form,
  formHeaders,
  header,
  jsonOf,
  postRegistration,
  registerClient,
  returned,
  type TestClient,
  text,
  tokensOf,
  type Values
} from "../../given/flow.ts"
import { inWorld, realSignatures, t0, theWorkspace, type World, type WorldOptions } from "../../given/World.ts"

const signing: WorldOptions = { signatures: realSignatures }
const now = t0 / 1000
const ada = await holderOf("ES256")
const eve = await holderOf("ES256")
const rsa = await holderOf("PS256")

const credentials = ({ id, secret }: TestClient) => ({ client_id: id, client_secret: secret })

const told = (answer: HttpResponse): string =>
  `${answer.status} ${text(jsonOf(answer).error ?? jsonOf(answer).token_type)}`

const resource = (world: Pick<World, "send">, headers: Record<string, string>, query = "") =>
  world.send("GET", `/rest/companies${query}`, { headers })

const opened = Effect.fnUntraced(function* (
  world: Pick<World, "send">,
  access: string,
  holder: Holder,
  odd: Odd = {},
  query = ""
) {
  const dpop = yield* proofFor(holder, "GET", companiesAddress, access, odd)
  return yield* resource(world, { authorization: `DPoP ${access}`, dpop }, query)
})

const reasons = (world: World) => world.audit.flatMap(({ event }) => (event._tag === "Refused" ? [event.reason] : []))

describe("a token that is bound to a key (RFC 9449 §5, §7)", () => {
  test("is told as one, and opens nothing without a proof of the key", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const { access } = yield* signInWith(world, client, ada)
      expect((yield* opened(world, access, ada)).status).toBe(200)
      expect(told(yield* opened(world, access, eve))).toBe("401 invalid_token")
      expect(told(yield* resource(world, bearing(access)))).toBe("401 invalid_token")
      expect(told(yield* resource(world, { authorization: `DPoP ${access}` }))).toBe("401 invalid_dpop_proof")
      expect(reasons(world)).toEqual(["binding_differs", "binding_differs", "proof_missing"])
    }, signing))

  test("has no proof remembered but its holder's", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada)
      const written = () => world.calls.insert.filter((kind) => kind === "once").length
      const before = written()
      yield* opened(world, access, eve)
      expect(written()).toBe(before)
      yield* opened(world, access, ada)
      expect(written()).toBe(before + 1)
    }, signing))

  test("was used where a proof held, once, and not by who shows it beside another", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada)
      const { grants, usage } = world.services
      const slice = { after: undefined, limit: 1 }
      const [grant] = (yield* Effect.orDie(grants.ofUser(theWorkspace.id, UserId.make("alice"), slice))).values
      const lastUse = () => Effect.orDie(usage.lastUse("grant", theWorkspace.id, grant?.id ?? ""))
      // Young enough still when a use may be noted again, a minute later.
      const claims = { ...proofClaims("GET", companiesAddress, access), iat: now + 10 }
      const forged = yield* signedProof({ ...eve, jwk: ada.jwk }, claims)
      const good = yield* signedProof(ada, claims)
      const shown = (dpop: string) => resource(world, { authorization: `DPoP ${access}`, dpop })
      expect([(yield* shown(forged)).status, yield* lastUse()]).toEqual([401, undefined])
      expect([(yield* shown(good)).status, Number(yield* lastUse())]).toEqual([200, t0])
      yield* TestClock.adjust("1 minute")
      expect([(yield* shown(good)).status, Number(yield* lastUse())]).toEqual([401, t0])
      expect(reasons(world)).toEqual(["proof_forged", "proof_replayed"])
    }, signing))

  test("is one to userinfo too, by GET and by POST", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada, { scope: "profile" })
      for (const method of ["GET", "POST"]) {
        const dpop = yield* proofFor(ada, method, `${theWorkspace.issuer}/oauth/userinfo`, access)
        const answer = yield* world.send(method, "/oauth/userinfo", {
          headers: { authorization: `DPoP ${access}`, dpop }
        })
        expect([method, answer.status]).toEqual([method, 200])
      }
      // RFC 6750 §2.2 is for bearers alone.
      const dpop = yield* proofFor(ada, "POST", `${theWorkspace.issuer}/oauth/userinfo`, access)
      const headers = { ...formHeaders, dpop }
      const inForm = yield* world.send("POST", "/oauth/userinfo", { headers, body: form({ access_token: access }) })
      expect([inForm.status, reasons(world).at(-1)]).toEqual([401, "binding_differs"])
    }, signing))

  test("is introspected with its key, and written into a JWT with it (§6)", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const { access } = yield* signInWith(world, client, ada)
      const known = yield* world.send("POST", "/oauth/introspect", {
        headers: formHeaders,
        body: form({ ...credentials(client), token: access })
      })
      expect(jsonOf(known)).toMatchObject({ active: true, token_type: "DPoP", cnf: { jkt: ada.jkt } })
    }, signing))

  test("is known by challenges and metadata, which name the algorithms (§5.1, §7.1; RFC 9728 §2)", () =>
    inWorld(function* (world) {
      const none = yield* resource(world, {})
      expect(header(none, "www-authenticate")).toMatch(/^Bearer .+, DPoP algs="EdDSA Ed25519 ES256 PS256", /)
      for (const path of ["oauth-authorization-server", "oauth-protected-resource"]) {
        const document = jsonOf(yield* world.send("GET", `/.well-known/${path}`))
        expect(document.dpop_signing_alg_values_supported).toEqual(["EdDSA", "Ed25519", "ES256", "PS256"])
      }
    }, signing))

  test("is not to be had from a server that verifies nothing, which passes over proofs, and over who registers for them", () =>
    inWorld(function* (world) {
      const members = { dpop_bound_access_tokens: true, request_object_signing_alg: "ES256" }
      const registered = yield* postRegistration(world, {
        redirect_uris: ["https://app.example.org/callback"],
        ...members
      })
      const names = Object.keys(jsonOf(registered))
      expect([registered.status, names.filter((name) => name in members)]).toEqual([201, []])
      const client = yield* publicClient(world, members)
      const answer = yield* redeemWith(world, client, yield* codeFor(world, client), yield* tokenProof(ada))
      expect(told(answer)).toBe("200 Bearer")
      expect(header(yield* resource(world, {}), "www-authenticate")).not.toContain("DPoP")
    }))
})

describe("a refresh token (RFC 9449 §5)", () => {
  test("of a public client is bound to the key from the first proof on", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const bare = tokensOf(yield* redeemWith(world, client, yield* codeFor(world, client)))
      const first = tokensOf(yield* refreshWith(world, client, bare.refresh, yield* tokenProof(ada)))
      expect(told(yield* refreshWith(world, client, first.refresh, yield* tokenProof(eve)))).toBe("400 invalid_grant")
      expect(told(yield* refreshWith(world, client, first.refresh))).toBe("400 invalid_grant")
      const next = yield* refreshWith(world, client, first.refresh, yield* tokenProof(ada))
      expect(told(next)).toBe("200 DPoP")
      // A retry in the grace takes the key as well.
      expect(told(yield* refreshWith(world, client, first.refresh, yield* tokenProof(eve)))).toBe("400 invalid_grant")
      expect(told(yield* refreshWith(world, client, first.refresh, yield* tokenProof(ada)))).toBe("200 DPoP")
    }, signing))

  test("of a public client is nothing that a retry's key is beside, where the line went on without one", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const first = tokensOf(yield* redeemWith(world, client, yield* codeFor(world, client)))
      const next = tokensOf(yield* refreshWith(world, client, first.refresh))
      expect(told(yield* refreshWith(world, client, first.refresh, yield* tokenProof(eve)))).toBe("400 invalid_grant")
      // It ended nothing: the retry as it was, and the line, go on.
      expect(told(yield* refreshWith(world, client, first.refresh))).toBe("200 Bearer")
      expect(told(yield* refreshWith(world, client, next.refresh, yield* tokenProof(ada)))).toBe("200 DPoP")
      expect(told(yield* refreshWith(world, client, next.refresh))).toBe("400 invalid_grant")
    }, signing))

  test("of a public client that is older than the line's first key ends the line where it comes back spent", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const evesAt = (seconds: number) => ({ claims: { iat: now + seconds } })
      const first = tokensOf(yield* redeemWith(world, client, yield* codeFor(world, client)))
      // Who stole the first binds the line to a key of their own.
      const stolen = tokensOf(yield* refreshWith(world, client, first.refresh, yield* tokenProof(eve)))
      expect(told(yield* refreshWith(world, client, first.refresh))).toBe("400 invalid_grant")
      expect((yield* opened(world, stolen.access, eve)).status).toBe(200)
      yield* TestClock.adjust("61 seconds")
      // A text that was bound itself ends nothing without its key, and the owner's ends all.
      expect(told(yield* refreshWith(world, client, stolen.refresh))).toBe("400 invalid_grant")
      const next = tokensOf(yield* refreshWith(world, client, stolen.refresh, yield* tokenProof(eve, evesAt(61))))
      yield* TestClock.adjust("61 seconds")
      expect(told(yield* refreshWith(world, client, stolen.refresh))).toBe("400 invalid_grant")
      expect((yield* opened(world, next.access, eve, evesAt(122))).status).toBe(200)
      expect(told(yield* refreshWith(world, client, first.refresh))).toBe("400 invalid_grant")
      expect(reasons(world).at(-1)).toBe("refresh_reused")
      expect(told(yield* refreshWith(world, client, next.refresh, yield* tokenProof(eve, evesAt(122))))).toBe(
        "400 invalid_grant"
      )
      expect((yield* opened(world, next.access, eve, evesAt(122))).status).toBe(401)
    }, signing))

  test("of a device is bound to the key that its code was fetched with", () =>
    inWorld(function* (world) {
      const grant_types = [deviceGrant, "refresh_token"]
      const tv = yield* deviceClient(world, { grant_types })
      const { deviceCode, userCode } = yield* waitingDevice(world, tv)
      yield* answerAs(world, userCode, "approve")
      const fields = { ...shownBy(tv), grant_type: deviceGrant, device_code: deviceCode }
      const first = tokensOf(yield* askWith(world, fields, yield* tokenProof(ada)))
      expect(told(yield* refreshWith(world, tv, first.refresh, yield* tokenProof(eve)))).toBe("400 invalid_grant")
      expect(told(yield* refreshWith(world, tv, first.refresh))).toBe("400 invalid_grant")
      expect(told(yield* refreshWith(world, tv, first.refresh, yield* tokenProof(ada)))).toBe("200 DPoP")
    }, signing))

  test("of a confidential client goes on with another key, or with none", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const first = yield* signInWith(world, client, ada)
      const next = tokensOf(yield* refreshWith(world, client, first.refresh, yield* tokenProof(eve)))
      expect((yield* opened(world, next.access, eve)).status).toBe(200)
      expect((yield* opened(world, first.access, ada)).status).toBe(200)
      expect(told(yield* refreshWith(world, client, next.refresh))).toBe("200 Bearer")
    }, signing))
})

describe("who has to prove a key", () => {
  test("a client that registered so (§5.2), which is told it", () =>
    inWorld(function* (world) {
      const registered = yield* postRegistration(world, {
        redirect_uris: ["https://app.example.org/callback"],
        dpop_bound_access_tokens: true
      })
      expect(jsonOf(registered).dpop_bound_access_tokens).toBe(true)
      const client = yield* publicClient(world, { dpop_bound_access_tokens: true })
      const code = yield* codeFor(world, client)
      expect(told(yield* redeemWith(world, client, code))).toBe("400 invalid_dpop_proof")
      expect(told(yield* redeemWith(world, client, code, yield* tokenProof(ada)))).toBe("200 DPoP")
    }, signing))

  test("all, of a server that says so, to which no bearer token opens anything", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
        const own = { grant_type: "client_credentials", ...credentials(client) }
        expect(told(yield* askWith(world, own))).toBe("400 invalid_dpop_proof")
        const access = text(jsonOf(yield* askWith(world, own, yield* tokenProof(ada))).access_token)
        expect((yield* opened(world, access, ada)).status).toBe(200)
        expect((yield* resource(world, bearing(access))).status).toBe(401)
        expect(header(yield* resource(world, {}), "www-authenticate")).toMatch(/^DPoP /)
        const document = jsonOf(yield* world.send("GET", "/.well-known/oauth-protected-resource"))
        expect(document.dpop_bound_access_tokens_required).toBe(true)
        const key = yield* world.services.grants.createKey(world.workspace.id, { name: "script", expiresAt: null })
        expect((yield* resource(world, bearing(world.reveal(key.text)))).status).toBe(200)
      },
      { ...signing, policy: { dpop: "required" } }
    ))

  test("callers of a guarded route that asks for it", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const bare = tokensOf(yield* redeemWith(world, client, yield* codeFor(world, client)))
      const { access } = yield* signInWith(world, client, ada)
      const dpop = yield* proofFor(ada, "GET", `${theWorkspace.issuer}/orders`, access)
      const bound = { authorization: `DPoP ${access}`, dpop }
      for (const [needs, headers, tag] of [
        [{ scopes: ["api"] }, bearing(bare.access), "Admitted"],
        [{ scopes: ["api"], dpop: "required" }, bearing(bare.access), "Refused"],
        [{ scopes: ["api"], dpop: "required" }, bound, "Admitted"]
      ] as const) {
        expect((yield* world.guard("/orders", needs, headers))._tag).toBe(tag)
      }
    }, signing))
})

describe("a proof at a resource (RFC 9449 §4.3, §11.1)", () => {
  test("is good once by its key and its jti, whatever else it says, and uses up no other key's", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const mine = yield* signInWith(world, client, ada)
      const theirs = yield* signInWith(world, client, eve)
      const jti = "shared"
      expect((yield* opened(world, mine.access, ada, { claims: { jti } })).status).toBe(200)
      expect((yield* opened(world, theirs.access, eve, { claims: { jti } })).status).toBe(200)
      const more = yield* signInWith(world, client, ada)
      for (const again of [
        opened(world, mine.access, ada, { claims: { jti, iat: now - 1 } }),
        opened(world, more.access, ada, { claims: { jti } }),
        Effect.flatMap(
          proofFor(ada, "GET", `${theWorkspace.issuer}/oauth/userinfo`, mine.access, { claims: { jti } }),
          (dpop) => world.send("GET", "/oauth/userinfo", { headers: { authorization: `DPoP ${mine.access}`, dpop } })
        )
      ]) {
        expect([(yield* again).status, reasons(world).at(-1)]).toEqual([401, "proof_replayed"])
      }
    }, signing))

  test("is for the address of the resource, on whose host every path is", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada)
      const { issuer } = theWorkspace
      for (const [path, resource, address, tag] of [
        ["/orders", undefined, `${issuer}/orders`, "Admitted"],
        ["/orders", "/orders", `${issuer}/orders`, "Admitted"],
        ["/orders", "https://api.example", "https://api.example/orders", "Admitted"],
        ["/orders", "https://api.example", `${issuer}/orders`, "Refused"],
        ["/orders", undefined, "https://api.example/orders", "Refused"],
        ["//evil.example/orders", undefined, `${issuer}//evil.example/orders`, "Admitted"],
        ["//evil.example/orders", undefined, "https://evil.example/orders", "Refused"]
      ] as const) {
        const dpop = yield* proofFor(ada, "GET", address, access)
        const needs = { scopes: ["api"], ...(resource === undefined ? {} : { resource }) }
        const guarded = yield* world.guard(path, needs, { authorization: `DPoP ${access}`, dpop })
        expect([path, resource, address, guarded._tag]).toEqual([path, resource, address, tag])
      }
    }, signing))
})

test("a proof below an issuer with a path is for the address with that path, and for none without it", () => {
  const host = "auth.example.com"
  const nested = { ...theWorkspace, issuer: Issuer.make(`${theWorkspace.issuer}/t/a`) }
  const rows = [
    [nested.issuer, true],
    [theWorkspace.issuer, false],
    [`${theWorkspace.issuer}/t`, false],
    [`${nested.issuer}/t/a`, false]
  ] as const
  return inWorld(
    function* (root) {
      const world: World = {
        ...root,
        send: (method, target, sent) => root.send(method, `/t/a${target}`, { host, ...sent })
      }
      const client = yield* publicClient(world)
      const tokens: Array<string> = []
      for (const [base, isTaken] of rows) {
        const code = yield* codeFor(world, client, { scope: "api profile" })
        const answer = yield* redeemWith(world, client, code, yield* proofFor(ada, "POST", `${base}/oauth/token`))
        expect([base, told(answer)]).toEqual([base, isTaken ? "200 DPoP" : "400 invalid_dpop_proof"])
        if (isTaken) tokens.push(tokensOf(answer).access)
      }
      const [access = ""] = tokens
      for (const [base, isTaken] of rows) {
        const shown = Effect.fnUntraced(function* (path: string) {
          return { authorization: `DPoP ${access}`, dpop: yield* proofFor(ada, "GET", base + path, access) }
        })
        const { status } = yield* world.send("GET", "/oauth/userinfo", { headers: yield* shown("/oauth/userinfo") })
        expect([base, status]).toEqual([base, isTaken ? 200 : 401])
        for (const resource of [undefined, "/orders"]) {
          const needs = { scopes: ["api"], ...(resource === undefined ? {} : { resource }) }
          const guarded = yield* root.guard("/t/a/orders/1", needs, { host, ...(yield* shown("/orders/1")) })
          expect([base, resource, guarded._tag]).toEqual([base, resource, isTaken ? "Admitted" : "Refused"])
        }
      }
    },
    { ...signing, workspaces: [nested] }
  )
})

describe("a code (RFC 9449 §10)", () => {
  test("that names a key in its request is good with that key alone", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const code = yield* codeFor(world, client, { dpop_jkt: ada.jkt })
      expect(told(yield* redeemWith(world, client, code))).toBe("400 invalid_grant")
      expect(told(yield* redeemWith(world, client, code, yield* tokenProof(eve)))).toBe("400 invalid_grant")
      expect(told(yield* redeemWith(world, client, code, yield* tokenProof(ada)))).toBe("200 DPoP")
    }, signing))

  test("of a pushed request is good with the key that was proven there, or named (§10.1)", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      const pushed = (fields: Values, dpop?: string) =>
        world.send("POST", "/oauth/par", {
          headers: { ...formHeaders, ...(dpop === undefined ? {} : { dpop }) },
          body: form({
            response_type: "code",
            client_id: client.id,
            redirect_uri: client.redirectUri,
            code_challenge: challenge,
            code_challenge_method: "S256",
            ...fields
          })
        })
      const parProof = (holder: Holder) => proofFor(holder, "POST", `${theWorkspace.issuer}/oauth/par`)
      expect(told(yield* pushed({ dpop_jkt: eve.jkt }, yield* parProof(ada)))).toBe("400 invalid_dpop_proof")
      expect(told(yield* pushed({}, yield* tokenProof(ada)))).toBe("400 invalid_dpop_proof")
      const dpop = yield* parProof(ada)
      const [head, , mac] = dpop.split(".")
      const forged = [head, (yield* parProof(ada)).split(".")[1], mac].join(".")
      expect(told(yield* pushed({}, forged))).toBe("400 invalid_dpop_proof")
      for (const [fields, proof] of [
        [{}, dpop],
        [{ dpop_jkt: ada.jkt }, yield* parProof(ada)],
        [{ dpop_jkt: ada.jkt }, undefined]
      ] as const) {
        const answer = yield* pushed(fields, proof)
        expect(answer.status).toBe(201)
        const query = form({ client_id: client.id, request_uri: text(jsonOf(answer).request_uri) })
        const page = yield* world.send("GET", `/oauth/authorize?${query}`, { as: "alice" })
        const code = text(returned(yield* decide(world, page, "approve")).get("code"))
        expect(told(yield* redeemWith(world, client, code, yield* tokenProof(eve)))).toBe("400 invalid_grant")
        expect(told(yield* redeemWith(world, client, code, yield* tokenProof(ada)))).toBe("200 DPoP")
      }
      expect(told(yield* pushed({}, dpop))).toBe("400 invalid_dpop_proof")
    }, signing))

  test("of a device is good with the key that was proven where it asked, or named there", () =>
    inWorld(function* (world) {
      const tv = yield* deviceClient(world)
      const ask = (fields: Values, dpop?: string) =>
        world.send("POST", "/oauth/device_authorization", {
          headers: { ...formHeaders, ...(dpop === undefined ? {} : { dpop }) },
          body: form({ ...shownBy(tv), ...fields })
        })
      const prove = (holder: Holder) => proofFor(holder, "POST", `${theWorkspace.issuer}/oauth/device_authorization`)
      const once = yield* prove(ada)
      const forged = [once.split(".")[0], (yield* prove(ada)).split(".")[1], once.split(".")[2]].join(".")
      for (const [fields, proof, reason] of [
        [{ dpop_jkt: eve.jkt }, yield* prove(ada), "proof_jkt"],
        [{}, yield* tokenProof(ada), "proof_htu"],
        [{}, forged, "proof_forged"]
      ] as const) {
        expect(told(yield* ask(fields, proof))).toBe("400 invalid_dpop_proof")
        expect(reasons(world).at(-1)).toBe(reason)
      }
      for (const [fields, proof] of [
        [{}, once],
        [{ dpop_jkt: ada.jkt }, yield* prove(ada)],
        [{ dpop_jkt: ada.jkt }, undefined]
      ] as const) {
        const { deviceCode, userCode } = toldOf(yield* ask(fields, proof))
        yield* answerAs(world, userCode, "approve")
        const poll = { ...shownBy(tv), grant_type: deviceGrant, device_code: deviceCode }
        expect(told(yield* askWith(world, poll, yield* tokenProof(eve)))).toBe("400 invalid_grant")
        expect(told(yield* askWith(world, poll))).toBe("400 invalid_grant")
        expect(told(yield* askWith(world, poll, yield* tokenProof(ada)))).toBe("200 DPoP")
      }
      expect(told(yield* ask({}, once))).toBe("400 invalid_dpop_proof")
      expect(reasons(world).at(-1)).toBe("proof_replayed")
    }, signing))

  test("is not to be had for what is no thumbprint", () =>
    inWorld(function* (world) {
      const client = yield* publicClient(world)
      for (const odd of ["x", `${ada.jkt}x`, "*".repeat(43)]) {
        const page = yield* world.send(
          "GET",
          `/oauth/authorize?${form({
            response_type: "code",
            client_id: client.id,
            redirect_uri: client.redirectUri,
            code_challenge: "x".repeat(43),
            code_challenge_method: "S256",
            dpop_jkt: odd
          })}`,
          { as: "alice" }
        )
        expect(new URL(header(page, "location") ?? "https://none").searchParams.get("error") ?? page.status).toBe(400)
      }
    }, signing))
})

describe("a nonce of the server's (RFC 9449 §8, §9)", () => {
  const nonceOf = (answer: HttpResponse): string => text(header(answer, "dpop-nonce"))

  test("is asked for at the token endpoint, spends nothing, and is good for a while in every process", () =>
    inWorld(
      function* (world) {
        const client = yield* publicClient(world)
        const code = yield* codeFor(world, client)
        const first = yield* redeemWith(world, client, code, yield* tokenProof(ada))
        expect(told(first)).toBe("400 use_dpop_nonce")
        const claims = { nonce: nonceOf(first) }
        const elsewhere = yield* world.elsewhere
        const got = yield* redeemWith(elsewhere, client, code, yield* tokenProof(ada, { claims }))
        expect([told(got), header(got, "dpop-nonce")]).toEqual(["200 DPoP", undefined])
        // Resources ask for none.
        expect((yield* opened(world, tokensOf(got).access, ada)).status).toBe(200)
        yield* TestClock.adjust("1 minute")
        const later = { ...claims, iat: now + 60 }
        const renewed = yield* refreshWith(
          world,
          client,
          tokensOf(got).refresh,
          yield* tokenProof(ada, { claims: later })
        )
        expect(told(renewed)).toBe("200 DPoP")
        expect(nonceOf(renewed)).not.toBe(claims.nonce)
        yield* TestClock.adjust("1 minute")
        const stale = { ...claims, iat: now + 120 }
        const again = yield* refreshWith(
          world,
          client,
          tokensOf(renewed).refresh,
          yield* tokenProof(ada, { claims: stale })
        )
        expect(told(again)).toBe("400 use_dpop_nonce")
      },
      { ...signing, policy: { dpopNonce: "auth" } }
    ))

  test("is asked for where requests begin, and the next one is told in its second minute", () =>
    inWorld(
      function* (world) {
        const { client_id, ...rest } = shownBy(yield* deviceClient(world))
        const app = yield* publicClient(world)
        const asks = {
          par: {
            response_type: "code",
            client_id: app.id,
            redirect_uri: app.redirectUri,
            code_challenge: challenge,
            code_challenge_method: "S256"
          },
          device_authorization: { client_id, ...rest }
        }
        for (const [endpoint, fields] of Object.entries(asks)) {
          const address = `${theWorkspace.issuer}/oauth/${endpoint}`
          const ask = Effect.fnUntraced(function* (claims: Odd["claims"]) {
            const dpop = yield* proofFor(ada, "POST", address, undefined, { claims: { iat: now + 10, ...claims } })
            return yield* world.send("POST", `/oauth/${endpoint}`, {
              headers: { ...formHeaders, dpop },
              body: form(fields)
            })
          })
          yield* TestClock.setTime(t0)
          const first = yield* ask({})
          const nonce = nonceOf(first)
          expect([endpoint, told(first)]).toEqual([endpoint, "400 use_dpop_nonce"])
          const taken = yield* ask({ nonce })
          expect([taken.status < 300, header(taken, "dpop-nonce")]).toEqual([true, undefined])
          yield* TestClock.setTime(t0 + 60_000)
          const later = yield* ask({ nonce })
          expect([later.status, nonceOf(later) === nonce]).toEqual([taken.status, false])
        }
      },
      { ...signing, policy: { dpopNonce: "auth" } }
    ))

  test("is asked for at resources too, by a challenge of DPoP alone, and no other's will do", () =>
    inWorld(
      function* (world) {
        const client = yield* publicClient(world)
        const code = yield* codeFor(world, client)
        const nonce = nonceOf(yield* redeemWith(world, client, code, yield* tokenProof(ada)))
        const { access } = tokensOf(
          yield* redeemWith(world, client, code, yield* tokenProof(ada, { claims: { nonce } }))
        )
        const first = yield* opened(world, access, ada)
        expect(told(first)).toBe("401 use_dpop_nonce")
        expect(header(first, "www-authenticate")).toMatch(/^DPoP algs="[^"]+", error="use_dpop_nonce"/)
        expect(nonceOf(first)).toBe(nonce)
        for (const odd of ["", "x", `${nonce.slice(0, -1)}A`, nonce.toUpperCase(), 7, null, ["x"], "x".repeat(3000)]) {
          expect(told(yield* opened(world, access, ada, { claims: { nonce: odd } }))).toBe("401 use_dpop_nonce")
        }
        expect((yield* opened(world, access, ada, { claims: { nonce } })).status).toBe(200)
      },
      { ...signing, policy: { dpopNonce: "all" } }
    ))

  /** Who goes by what each answer tells asks for ten minutes: when it was refused, in seconds. */
  const busy = Effect.fnUntraced(function* (
    ask: (claims: Odd["claims"]) => Effect.Effect<readonly [status: number, HeaderPairs]>
  ) {
    const refused: Array<number> = []
    let nonce: string | undefined
    for (let at = 0; at < 600; at += 20) {
      const [status, headers] = yield* ask({ nonce, iat: (yield* Clock.currentTimeMillis) / 1000 })
      nonce = headers.find(([name]) => name === "dpop-nonce")?.[1] ?? nonce
      if (status !== 200) refused.push(at)
      yield* TestClock.adjust("20 seconds")
    }
    return refused
  })

  test("is told anew by resources too (§8.2), so that a busy caller is refused once and never again", () =>
    inWorld(
      function* (world) {
        for (const alg of [undefined, "ES256"]) {
          yield* TestClock.setTime(t0)
          const client = yield* publicClient(world, { userinfo_signed_response_alg: alg })
          const code = yield* codeFor(world, client, { scope: "openid profile api" })
          const nonce = nonceOf(yield* redeemWith(world, client, code, yield* tokenProof(ada)))
          const { access } = tokensOf(
            yield* redeemWith(world, client, code, yield* tokenProof(ada, { claims: { nonce } }))
          )
          const shown = Effect.fnUntraced(function* (method: string, path: string, claims: Odd["claims"]) {
            const address = `${theWorkspace.issuer}${path}`
            const dpop = yield* proofFor(ada, method, address, access, claims === undefined ? {} : { claims })
            return { authorization: `DPoP ${access}`, dpop }
          })
          for (const [method, path] of [
            ["GET", "/oauth/userinfo"],
            ["POST", "/oauth/userinfo"],
            ["GET", "/rest/companies"]
          ] as const) {
            const refused = yield* busy(
              Effect.fnUntraced(function* (claims: Odd["claims"]) {
                const answer = yield* world.send(method, path, { headers: yield* shown(method, path, claims) })
                return [answer.status, answer.headers] as const
              })
            )
            expect([alg, method, path, refused]).toEqual([alg, method, path, [0]])
          }
          const refused = yield* busy(
            Effect.fnUntraced(function* (claims: Odd["claims"]) {
              const headers = yield* shown("GET", "/orders", claims)
              const guarded = yield* world.guard("/orders", { scopes: ["api"] }, headers)
              return guarded._tag === "Admitted"
                ? ([200, guarded.headers ?? []] as const)
                : ([guarded.response.status, guarded.response.headers] as const)
            })
          )
          expect(refused).toEqual([0])
        }
      },
      { ...signing, policy: { dpopNonce: "all", scopes: signInScopes } }
    ))

  test("is told to no caller that has none: what it gets is as it was", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada)
      const dpop = yield* proofFor(ada, "GET", `${theWorkspace.issuer}/orders`, access)
      const guarded = yield* world.guard("/orders", { scopes: ["api"] }, { authorization: `DPoP ${access}`, dpop })
      expect(Object.keys(guarded).sort()).toEqual(["_tag", "principal", "workspace"])
    }, signing))
})

/** CONFORMANCE 1, `dpop-negative-tests` and the modules about proofs: what a resource makes of each. */
const atResource: ReadonlyArray<readonly [module: string, odd: Odd, reason: string | null, query?: string]> = [
  ["check-dpop-proof-nbf-exp", { claims: { nbf: now, exp: now + 300 } }, null],
  ["ensure-dpopproof-with-iat-10seconds-before-succeeds", { claims: { iat: now - 10 } }, null],
  ["ensure-dpopproof-with-iat-10seconds-after-succeeds", { claims: { iat: now + 8 } }, null],
  ["no typ", { header: { typ: undefined } }, "proof_typ"],
  ["no jwk", { header: { jwk: undefined } }, "proof_key"],
  ["no jti", { claims: { jti: undefined } }, "proof_jti"],
  ["a jti of 256 characters", { claims: { jti: "x".repeat(256) } }, null],
  ["a jti of 257", { claims: { jti: "x".repeat(257) } }, "proof_jti"],
  ["no htm", { claims: { htm: undefined } }, "proof_htm"],
  ["no htu", { claims: { htu: undefined } }, "proof_htu"],
  ["no iat", { claims: { iat: undefined } }, "proof_iat"],
  ["no ath", { claims: { ath: undefined } }, "proof_ath"],
  ["typ not dpop+jwt", { header: { typ: "JWT" } }, "proof_typ"],
  ["private key in jwk", { header: { jwk: ada.secret } }, "proof_key"],
  ["htm PUT for GET", { claims: { htm: "PUT" } }, "proof_htm"],
  ["htu with query and fragment added", { claims: { htu: `${companiesAddress}?a=b#c` } }, null],
  ["htu without the query that the request has", {}, null, "?a=b"],
  ["htu another URL", { claims: { htu: "https://other.example/rest/companies" } }, "proof_htu"],
  ["iat an hour ahead", { claims: { iat: now + 3600 } }, "proof_iat"],
  ["iat an hour ago", { claims: { iat: now - 3600 } }, "proof_iat"],
  ["exp 10 seconds ago", { claims: { exp: now - 10 } }, "proof_iat"],
  ["exp less than that ago", { claims: { exp: now - 9.5 } }, null],
  ["nbf 10 seconds ahead", { claims: { nbf: now + 10 } }, null],
  ["nbf more than that ahead", { claims: { nbf: now + 10.5 } }, "proof_iat"],
  ["wrong ath", { claims: { ath: "x".repeat(43) } }, "proof_ath"],
  ["unknown header and claims", { header: { more: 1 }, claims: { more: [1] } }, null],
  ["a name for the key", { header: { kid: "mine" } }, null],
  ["a name for the key that is a number", { header: { kid: 7 } }, null],
  ["a key that has another name in it", { header: { kid: "mine", jwk: { ...ada.jwk, kid: "other" } } }, null],
  ["htu with scheme and host in upper case", { claims: { htu: "HTTPS://AUTH.EXAMPLE.COM/rest/companies" } }, null],
  ["htu with the default port", { claims: { htu: "https://auth.example.com:443/rest/companies" } }, null]
]

describe("the modules of FAPI 2.0 about proofs (CONFORMANCE 1)", () => {
  test("dpop-negative-tests, row by row", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada)
      for (const [module, odd, reason, query] of atResource) {
        const answer = yield* opened(world, access, ada, odd, query)
        expect([module, answer.status]).toEqual([module, reason === null ? 200 : 401])
        if (reason !== null) expect([module, reasons(world).at(-1)]).toEqual([module, reason])
      }
    }, signing))

  test("dpop-negative-tests, what is not one good signature", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), rsa)
      const good = () => proofFor(rsa, "GET", companiesAddress, access)
      const [head = "", body = "", signature = ""] = (yield* good()).split(".")
      const headed = (members: object) => `${Buffer.from(JSON.stringify(members)).toString("base64url")}.${body}`
      const rs256 = yield* Effect.promise(() => holderOf("RS256"))
      for (const [what, dpop, reason] of [
        ["two headers", `${yield* good()}, ${yield* good()}`, "proof_repeated"],
        ["not a JWT", "x", "proof_malformed"],
        ["alg none", `${headed({ typ: "dpop+jwt", alg: "none", jwk: rsa.jwk })}.${signature}`, "proof_alg"],
        ["no alg", `${headed({ typ: "dpop+jwt", jwk: rsa.jwk })}.${signature}`, "proof_alg"],
        ["RS256", yield* proofFor(rs256, "GET", companiesAddress, access), "proof_alg"],
        ["bad signature", `${head}.${body}.${signature.slice(0, -8)}AAAAAAAA`, "proof_forged"]
      ] as const) {
        const answer = yield* resource(world, { authorization: `DPoP ${access}`, dpop })
        expect([what, answer.status, reasons(world).at(-1)]).toEqual([what, 401, reason])
      }
      const dpop = yield* good()
      const shown = { authorization: `DPoP ${access}`, dpop }
      expect((yield* resource(world, shown)).status).toBe(200)
      expect([(yield* resource(world, shown)).status, reasons(world).at(-1)]).toEqual([401, "proof_replayed"])
      expect((yield* resource(yield* world.elsewhere, shown)).status).toBe(401)
      const inQuery = yield* resource(world, { dpop: yield* good() }, `?access_token=${access}`)
      expect(inQuery.status).toBe(401)
      expect((yield* opened(world, access, rsa)).status).toBe(200)
    }, signing))

  test("access-token-type-header-case-sensitivity; header name DPOP", () =>
    inWorld(function* (world) {
      const { access } = yield* signInWith(world, yield* publicClient(world), ada)
      for (const scheme of ["dpOp", "DPOP", "dpop"]) {
        const DPOP = yield* proofFor(ada, "GET", companiesAddress, access)
        expect((yield* resource(world, { authorization: `${scheme} ${access}`, DPOP })).status).toBe(200)
      }
    }, signing))

  test("check-dpop-proof-nbf-exp and the times of iat at the token endpoint", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
      const own = { grant_type: "client_credentials", ...credentials(client) }
      for (const [claims, expected] of [
        [{ nbf: now, exp: now + 300 }, "200 DPoP"],
        [{ iat: now - 10 }, "200 DPoP"],
        [{ iat: now + 8 }, "200 DPoP"],
        [{ iat: now - 61 }, "400 invalid_dpop_proof"],
        [{ iat: now + 61 }, "400 invalid_dpop_proof"]
      ] as const) {
        expect(told(yield* askWith(world, own, yield* tokenProof(ada, { claims })))).toBe(expected)
      }
      const once = yield* signedProof(ada, { jti: "one", htm: "POST", htu: tokenAddress, iat: now })
      expect(told(yield* askWith(world, own, once))).toBe("200 DPoP")
      expect(told(yield* askWith(yield* world.elsewhere, own, once))).toBe("400 invalid_dpop_proof")
    }, signing))
})
