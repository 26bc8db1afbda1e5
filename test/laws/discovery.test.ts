import { expect } from "bun:test"
import { Effect, Redacted } from "effect"
import { setServedResource } from "../../core/engine/administerClients.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { ScopeName, ScopeRegistry, standardScopes } from "../../core/rules/Scope.ts"
import { issuer } from "../../core/testing/Arbitraries.ts"
import type { Dice } from "../../core/testing/Dice.ts"
import { samplesOf } from "../../core/testing/forAll.ts"
import { readConsentForm } from "../../core/testing/play/ConsentForm.ts"
import { challengeOf } from "../../core/testing/play/Pkce.ts"
import { headerOf, type JsonObject, jsonOf, locationOf, textField } from "../../core/testing/play/reading.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { inWorld, type Sent, type World } from "../given/World.ts"
import { law } from "./law.ts"

const list = (document: JsonObject | null, name: string): ReadonlyArray<string> => {
  const value = document?.[name]
  return Array.isArray(value) ? value.map(String) : []
}

const redirect = "https://app.example/cb"
const verifier = "a-verifier-of-forty-three-characters-or-more-~"
const initialToken = "the-initial-access-token"

/** Where requests go: nothing but what the documents say. */
interface Address {
  readonly world: World
  readonly document: JsonObject | null
}

const at = ({ world }: Address, method: string, address: string, sent: Sent = {}) => {
  const url = new URL(address)
  return world.send(method, url.pathname + url.search, { ...sent, host: url.host })
}

const endpoint = ({ document }: Address, name: string): string => textField(document, `${name}_endpoint`) ?? ""

const formHeaders = { "content-type": "application/x-www-form-urlencoded" }

interface Member {
  readonly id: string
  readonly secret: string
  readonly method: string
}

const proven = ({
  id,
  secret,
  method
}: Member): { readonly headers: Record<string, string>; readonly fields: Record<string, string> } => {
  switch (method) {
    case "client_secret_basic":
      return { headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` }, fields: {} }
    case "client_secret_post":
      return { headers: {}, fields: { client_id: id, client_secret: secret } }
    default:
      return { headers: {}, fields: { client_id: id } }
  }
}

const post = (address: Address, name: string, member: Member, fields: Record<string, string>) => {
  const shown = proven(member)
  return at(address, "POST", endpoint(address, name), {
    headers: { ...formHeaders, ...shown.headers },
    body: new URLSearchParams({ ...fields, ...shown.fields }).toString()
  })
}

const registered = (address: Address, metadata: object, token: string | undefined) =>
  at(address, "POST", endpoint(address, "registration"), {
    headers: {
      "content-type": "application/json",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
    },
    body: JSON.stringify(metadata)
  })

const memberOf = (response: HttpResponse, method: string): Member => {
  const body = jsonOf(response)
  return { id: textField(body, "client_id") ?? "", secret: textField(body, "client_secret") ?? "", method }
}

/** The answer that comes back to the client for these parameters, once Ann has said yes. */
const approved = (address: Address, member: Member, more: Record<string, string> = {}) =>
  answered(address, {
    response_type: "code",
    client_id: member.id,
    redirect_uri: redirect,
    code_challenge: challengeOf(verifier),
    code_challenge_method: "S256",
    ...more
  })

const answered = Effect.fnUntraced(function* (address: Address, fields: Record<string, string>) {
  const query = new URLSearchParams(fields)
  const page = yield* at(address, "GET", `${endpoint(address, "authorization")}?${query}`, { as: "ann" })
  const form = page.status === 200 ? readConsentForm(page.body) : null
  const answer =
    form === null
      ? page
      : yield* at(address, "POST", new URL(form.action, textField(address.document, "issuer") ?? "").href, {
          as: "ann",
          headers: formHeaders,
          body: new URLSearchParams({ ...form.fields, decision: "approve" }).toString()
        })
  return locationOf(answer)?.parameters ?? new URLSearchParams()
})

/** RFC 9126: the same for a request that the client pushed. */
const pushed = Effect.fnUntraced(function* (address: Address, member: Member) {
  const answer = yield* post(address, "pushed_authorization_request", member, {
    response_type: "code",
    redirect_uri: redirect,
    code_challenge: challengeOf(verifier),
    code_challenge_method: "S256"
  })
  const uri = textField(jsonOf(answer), "request_uri") ?? ""
  return yield* answered(address, { client_id: member.id, request_uri: uri })
})

const tokensFor = Effect.fnUntraced(function* (address: Address, member: Member, scope: string) {
  const back = yield* approved(address, member, { scope })
  expect(back.get("iss")).toBe(textField(address.document, "issuer"))
  return yield* post(address, "token", member, {
    grant_type: "authorization_code",
    code: back.get("code") ?? "",
    redirect_uri: redirect,
    code_verifier: verifier
  })
})

const neverAdvertised = {
  grants: ["password", "implicit", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
  methods: ["private_key_jwt", "client_secret_jwt", "tls_client_auth"],
  types: ["token", "id_token", "code token"],
  modes: ["fragment", "form_post"],
  challenges: ["plain", "S512"]
} as const

const walked = {
  grants: [
    "authorization_code",
    "client_credentials",
    "refresh_token",
    // Walked by oauth/endpoints/device.test.ts: it takes a second browser.
    "urn:ietf:params:oauth:grant-type:device_code",
    "urn:ietf:params:oauth:grant-type:token-exchange"
  ],
  types: ["code"],
  challenges: ["S256"],
  // What comes back first: an error, a code, or the sign-in that leads back.
  prompts: { none: "error", consent: "code", login: "return_to", select_account: "return_to" } as Record<
    string,
    string
  >,
  members: [
    "issuer",
    ...["registration", "authorization", "token", "revocation", "introspection", "userinfo"].map(
      (name) => `${name}_endpoint`
    ),
    ...["scopes", "response_types", "response_modes", "grant_types", "code_challenge_methods", "prompt_values"].map(
      (name) => `${name}_supported`
    ),
    ...["token", "revocation", "introspection"].map((name) => `${name}_endpoint_auth_methods_supported`),
    "authorization_response_iss_parameter_supported",
    "pushed_authorization_request_endpoint",
    "device_authorization_endpoint",
    "require_pushed_authorization_requests",
    "request_uri_parameter_supported",
    "protected_resources"
  ]
}

const anyOf = (dice: Dice, words: ReadonlyArray<string>): string => words[dice.under(words.length)] ?? ""

/** What a client that registered can do, and what it cannot because no document says so. */
const walkFlows = Effect.fnUntraced(function* (address: Address, dice: Dice, token: string | undefined) {
  const { document } = address
  const method = anyOf(dice, list(document, "token_endpoint_auth_methods_supported"))
  const response = yield* registered(address, { redirect_uris: [redirect], token_endpoint_auth_method: method }, token)
  expect([method, response.status]).toEqual([method, 201])
  const member = memberOf(response, method)

  const scopes = list(document, "scopes_supported")
  expect(scopes.length).toBeGreaterThan(0)
  const scope = anyOf(dice, scopes)
  const answer = yield* tokensFor(address, member, scope)
  // Taken, and of no meaning: alone it asks for the default.
  const granted = scope === "offline_access" ? "api" : scope
  expect([scope, answer.status, textField(jsonOf(answer), "scope")]).toEqual([scope, 200, granted])
  expect((yield* approved(address, member, { scope: "not_advertised" })).get("error")).toBe("invalid_scope")

  const refreshToken = textField(jsonOf(answer), "refresh_token") ?? ""
  const refreshed = yield* post(address, "token", member, { grant_type: "refresh_token", refresh_token: refreshToken })
  expect(list(document, "grant_types_supported").includes("refresh_token")).toBe(true)
  expect(refreshed.status).toBe(200)
  const access = textField(jsonOf(refreshed), "access_token") ?? ""

  const mayAsk = list(document, "introspection_endpoint_auth_methods_supported").includes(method)
  expect(mayAsk).toBe(method !== "none")
  const asked = post(address, "introspection", member, { token: access })
  expect((yield* asked).status).toBe(mayAsk ? 200 : 401)
  if (mayAsk) expect(jsonOf(yield* asked)?.active).toBe(true)
  const profile = yield* at(address, "GET", endpoint(address, "userinfo"), {
    headers: { authorization: `Bearer ${access}` }
  })
  expect([scope, profile.status]).toEqual([scope, scope === "profile" ? 200 : 403])
  expect(list(document, "revocation_endpoint_auth_methods_supported")).toContain(method)
  expect((yield* post(address, "revocation", member, { token: access })).status).toBe(200)
  if (mayAsk) expect(jsonOf(yield* asked)).toEqual({ active: false })

  const grant = anyOf(dice, neverAdvertised.grants)
  expect(list(document, "grant_types_supported")).not.toContain(grant)
  expect(jsonOf(yield* post(address, "token", member, { grant_type: grant }))?.error).toBe("unsupported_grant_type")
  const refused = [
    [{ response_type: anyOf(dice, neverAdvertised.types) }, "unsupported_response_type"],
    [{ response_mode: anyOf(dice, neverAdvertised.modes) }, "invalid_request"],
    [{ code_challenge_method: anyOf(dice, neverAdvertised.challenges) }, "invalid_request"]
  ] as const
  for (const [more, error] of refused) {
    expect([more, (yield* approved(address, member, more)).get("error")]).toEqual([more, error])
  }
  for (const mode of list(document, "response_modes_supported")) {
    expect((yield* approved(address, member, { response_mode: mode })).has("code")).toBe(true)
  }

  expect(document?.require_pushed_authorization_requests).toBe(false)
  expect((yield* pushed(address, member)).has("code")).toBe(true)
  expect(document?.request_uri_parameter_supported).toBe(false)
  const elsewhere = { request_uri: "https://app.example/request.jwt" }
  expect((yield* approved(address, member, elsewhere)).get("error")).toBe("request_uri_not_supported")

  for (const prompt of list(document, "prompt_values_supported")) {
    const back = yield* approved(address, member, { prompt })
    expect([prompt, [...back.keys()][0]]).toEqual([prompt, walked.prompts[prompt] ?? "unknown"])
  }

  // All that is advertised was walked above or is walked below; what comes to be advertised has to be walked too.
  expect(list(document, "grant_types_supported").toSorted()).toEqual(walked.grants)
  expect(list(document, "response_types_supported")).toEqual(walked.types)
  expect(list(document, "code_challenge_methods_supported")).toEqual(walked.challenges)
  expect(document?.authorization_response_iss_parameter_supported).toBe(true)
  expect(Object.keys(document ?? {}).filter((name) => !walked.members.includes(name))).toEqual([])

  const odd = anyOf(dice, neverAdvertised.methods)
  expect(list(document, "token_endpoint_auth_methods_supported")).not.toContain(odd)
  const oddly = { redirect_uris: [redirect], token_endpoint_auth_method: odd }
  expect((yield* registered(address, oddly, token)).status).toBe(400)

  expect(list(document, "grant_types_supported")).toContain("client_credentials")
  const service = { grant_types: ["client_credentials"], token_endpoint_auth_method: "client_secret_basic" }
  const alone = memberOf(yield* registered(address, service, token), "client_secret_basic")
  expect((yield* post(address, "token", alone, { grant_type: "client_credentials" })).status).toBe(200)
  const again = yield* tokensFor(address, member, "api")
  yield* walkExchange(address, alone, textField(jsonOf(again), "access_token") ?? "")
})

/** No client registers for it, so that an owner has to let this one. */
const walkExchange = Effect.fnUntraced(function* (address: Address, member: Member, token: string) {
  const { world, document } = address
  const issuer = textField(document, "issuer") ?? ""
  const asked = { workspace: world.workspace.id, by: "command line", requestId: "law" } as const
  const serves = setServedResource(world.services, asked, world.workspace, ClientId.make(member.id), issuer)
  expect(yield* Effect.orDie(serves)).toBe("done")
  const answer = yield* post(address, "token", member, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: token,
    subject_token_type: "urn:ietf:params:oauth:token-type:access_token"
  })
  expect(answer.status).toBe(200)
})

/** From a resource without a token to the documents, as a client goes that knows nothing else (RFC 9728 §5). */
const walkFromResource = Effect.fnUntraced(function* (address: Address, base: string) {
  expect(list(address.document, "protected_resources")).toEqual([base])
  const turnedAway = yield* at(address, "GET", `${base}/rest/companies`)
  const named = /resource_metadata="([^"]+)"/.exec(headerOf(turnedAway, "www-authenticate") ?? "")?.[1] ?? ""
  const found = jsonOf(yield* at(address, "GET", named))
  expect(base.startsWith(textField(found, "resource") ?? "nowhere")).toBe(true)
  expect(list(found, "authorization_servers")).toEqual([base])
  expect(list(found, "scopes_supported")).toEqual(
    list(address.document, "scopes_supported").filter((name) => name !== "offline_access")
  )
  expect(list(found, "bearer_methods_supported")).toEqual(["header"])
  const inQuery = yield* at(address, "GET", `${base}/rest/companies?access_token=tsr_at_whatever`)
  expect(headerOf(inQuery, "www-authenticate")).not.toContain("error=")
})

law("what the discovery documents advertise is what the server does", (dice, seed) =>
  Effect.gen(function* () {
    const [base] = yield* samplesOf(issuer, seed, 1)
    if (base === undefined) return
    const registration = dice.pick<"open" | "token" | "closed">(["open", "token", "closed"])
    const extra = { name: ScopeName.make("reports"), meaning: "Read reports", needsUser: false, byDefault: false }
    const layers = {
      open: RegistrationPolicy.layerOpen,
      token: RegistrationPolicy.layerToken(Redacted.make(initialToken)),
      closed: RegistrationPolicy.layerClosed
    }
    const body = (world: World) =>
      Effect.gen(function* () {
        const { origin, pathname } = new URL(base)
        const path = pathname === "/" ? "" : pathname
        const published = `${origin}/.well-known/oauth-authorization-server${path}`
        const unknowing: Address = { world, document: null }
        const answer = yield* at(unknowing, "GET", published)
        const address: Address = { world, document: jsonOf(answer) }
        const { document } = address
        expect([published, answer.status, textField(document, "issuer")]).toEqual([published, 200, base])

        const endpoints = Object.keys(document ?? {}).filter((name) => name.endsWith("_endpoint"))
        for (const name of endpoints) {
          const where = textField(document, name) ?? ""
          expect([name, where.startsWith(`${base}/`)]).toEqual([name, true])
          expect([name, (yield* at(address, "GET", where)).status === 404]).toEqual([name, false])
        }
        expect(endpoints.includes("registration_endpoint")).toBe(registration !== "closed")
        if (registration === "closed") {
          const knocking: Address = { world, document: { registration_endpoint: `${base}/oauth/register` } }
          const refused = yield* registered(knocking, { redirect_uris: [redirect] }, undefined)
          expect(refused.status).toBeGreaterThanOrEqual(400)
        } else {
          if (registration === "token") {
            expect((yield* registered(address, { redirect_uris: [redirect] }, undefined)).status).toBe(401)
          }
          yield* walkFlows(address, dice, registration === "token" ? initialToken : undefined)
        }
        yield* walkFromResource(address, base)
      })
    yield* Effect.promise(() =>
      inWorld(body, {
        seed: String(seed),
        registration: layers[registration],
        workspaces: [{ id: WorkspaceId.make("home"), issuer: base, name: "Home" }],
        policy: {
          requirePkce: dice.chance(50),
          ...(dice.chance(50) ? { scopes: ScopeRegistry.make([...standardScopes, extra]) } : {})
        }
      })
    )
  })
)
