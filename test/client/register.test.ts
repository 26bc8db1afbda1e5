import { describe, expect, test } from "bun:test"
import { Redacted, Result, Schema } from "effect"
import {
  Client,
  displayName,
  exchangeGrant,
  isKnown,
  isOnTrial,
  mayUse,
  proven as provenClient,
  used
} from "../../core/client/Client.ts"
import { clientMembers } from "../../core/client/members.ts"
import { type RegistrationRequest, readRegistration } from "../../core/client/RegistrationRequest.ts"
import {
  clientInformation,
  type FreshClient,
  nameableGrantTypes,
  register,
  reregister
} from "../../core/client/register.ts"
import { clientAuths } from "../../core/oauth/clients/table.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { ClientId, GrantId } from "../../core/rules/Id.ts"
import type { Policy } from "../../core/rules/Policy.ts"
import { RedirectUri } from "../../core/rules/RedirectUri.ts"
import { InvalidClientMetadata, InvalidRedirectUri } from "../../core/rules/Refusal.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { ScopeRegistry } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { after, client, policy, scopes, t0 } from "../grant/given.ts"

const uri = "https://app.example.org/cb"
/** Members of the table's rows are no part of the request's type. */
const keyed = { redirect_uris: [uri], dpop_bound_access_tokens: true }
const tables = {
  clientAuths: new Map(clientAuths.map((row) => [row.name, row])),
  clientMembers,
  grantTypes: new Map(grantTypes.map((row) => [row.name, row]))
}
const fresh: FreshClient = {
  id: ClientId.make("i".repeat(22)),
  workspaceGrant: GrantId.make("w".repeat(22)),
  secret: new Uint8Array(32).fill(1),
  registration: new Uint8Array(32).fill(2)
}
const ask = (request: RegistrationRequest) => register(tables, request, policy, t0, fresh, "itself")
const made = (request: RegistrationRequest) => Result.getOrThrow(ask(request))
const textOf = (secret: Redacted.Redacted<string> | undefined) => (secret === undefined ? "" : Redacted.value(secret))

test.each([
  { client_uri: "https://app.example/", taken: true },
  { client_uri: "HTTP://app.example/a?b=c", taken: true },
  { client_uri: "about:https://app.example/", taken: false },
  { client_uri: " https://app.example/", taken: false },
  { client_uri: "https://app.example/ and more", taken: false },
  { client_uri: "https://", taken: false },
  { client_uri: "ftp://app.example/", taken: false }
])("an address that a client tells of itself: $client_uri", ({ client_uri, taken }) => {
  const read = readRegistration(tables, JSON.stringify({ redirect_uris: [uri], client_uri }))
  expect(Result.isSuccess(read)).toBe(taken)
})

const device = "urn:ietf:params:oauth:grant-type:device_code"

describe("a registration (RFC 7591)", () => {
  test("becomes a client of which only digests are kept", () => {
    const { client: registered, secret, registrationToken } = made({ redirect_uris: [uri], client_name: "An app" })
    const text = textOf(secret)
    expect(registered).toEqual({
      id: fresh.id,
      about: { client_name: "An app" },
      credential: { _tag: "Secret", digest: digestOf(text), method: "client_secret_basic" },
      registration: digestOf(Redacted.value(registrationToken)),
      redirectUris: [RedirectUri.make(uri)],
      grantTypes: ["authorization_code", "refresh_token"],
      scope: scopes("api", "profile"),
      workspaceGrant: fresh.workspaceGrant,
      createdAt: t0,
      madeBy: "itself",
      provenAt: null,
      expiresAt: after(policy.unusedClientTtl),
      disabled: false
    })
    expect(text).toMatch(/^tsr_cs_/)
    expect(Redacted.value(registrationToken)).toMatch(/^tsr_rg_/)
    expect(text.slice(7)).not.toBe(Redacted.value(registrationToken).slice(7))
  })

  test("by an owner of the workspace is for good, used or not", () => {
    const { client: registered } = Result.getOrThrow(
      register(tables, { redirect_uris: [uri] }, policy, t0, fresh, "owner")
    )
    expect(registered).toMatchObject({ madeBy: "owner", expiresAt: null })
  })

  test("for the workspace's own access takes an owner, where the policy says so", () => {
    const strict = { ...policy, workspaceAccess: "owner" as const }
    const by = (madeBy: "itself" | "owner", grant_types: ReadonlyArray<string>) =>
      Result.map(
        register(tables, { redirect_uris: [uri], grant_types }, strict, t0, fresh, madeBy),
        ({ client }) => client.grantTypes
      )
    const both = ["authorization_code", "client_credentials"]
    expect(by("itself", both)).toEqual(Result.succeed(["authorization_code", "refresh_token"]))
    expect(by("itself", ["client_credentials"])).toEqual(
      Result.fail(
        new InvalidClientMetadata({
          message: `The grant_types have to name one of these: authorization_code, ${device}. What they name is none of them: client_credentials.`
        })
      )
    )
    expect(by("owner", both)).toEqual(Result.succeed(["authorization_code", "refresh_token", "client_credentials"]))
    expect(by("owner", ["client_credentials"])).toEqual(Result.succeed(["client_credentials"]))
  })

  test("of a public client has no secret to hand out", () => {
    const { client: registered, secret } = made({ redirect_uris: [uri], token_endpoint_auth_method: "none" })
    expect(registered.credential).toEqual({ _tag: "Public" })
    expect(secret).toBeUndefined()
  })

  test("keeps what a client says about itself, and nothing else", () => {
    const about = {
      client_name: "n",
      client_uri: "https://a.example",
      logo_uri: "https://a.example/l",
      tos_uri: "https://a.example/t",
      policy_uri: "https://a.example/p",
      contacts: ["c"],
      software_id: "s",
      software_version: "1",
      application_type: "web"
    }
    expect(made({ redirect_uris: [uri], ...about }).client.about).toEqual(about)
  })

  test("may name grant types that the server lacks beside ones that it has", () => {
    const types = (...grant_types: ReadonlyArray<string>) =>
      Result.map(ask({ redirect_uris: [uri], grant_types }), ({ client: registered }) => registered.grantTypes)
    expect(types("authorization_code")).toEqual(Result.succeed(["authorization_code", "refresh_token"]))
    expect(types("authorization_code", "implicit")).toEqual(Result.succeed(["authorization_code", "refresh_token"]))
    expect(types("client_credentials", "authorization_code")).toEqual(
      Result.succeed(["authorization_code", "refresh_token", "client_credentials"])
    )
    expect(types("client_credentials", "refresh_token")).toEqual(Result.succeed(["client_credentials"]))
    for (const none of [[], ["implicit"], ["refresh_token"], ["implicit", "password"]]) {
      const named = none.length === 0 ? "" : ` What they name is none of them: ${none.join(", ")}.`
      expect(types(...none)).toEqual(
        Result.fail(
          new InvalidClientMetadata({
            message: `The grant_types have to name one of these: authorization_code, client_credentials, ${device}.${named}`
          })
        )
      )
    }
  })

  test("is refused by the names of what it asked for, as far as those are names", () => {
    const told = (request: RegistrationRequest) =>
      Result.getOrThrow(Result.flip(ask({ redirect_uris: [uri], ...request }))).message
    const types = ["code id_token", "code token", "id_token token", "id_token", "token"]
    for (const type of types) expect(told({ response_types: [type] })).toContain(type)
    expect(told({ response_types: types })).toContain(types.join(", "))
    // What is sent may hold anything, and as much as a body does.
    const odd = ['im"plicit', "im\\plicit", "implicité", "<implicit>", "x".repeat(65)]
    for (const message of [
      told({ grant_types: [...odd, "implicit"] }),
      told({ response_types: [...odd, "implicit"] })
    ]) {
      expect([message.includes("implicit"), ...odd.filter((name) => message.includes(name))]).toEqual([true])
    }
    expect(told({ grant_types: [...odd, ""] })).toBe(told({ grant_types: [] }))
    expect(told({ response_types: odd })).not.toContain("plicit")
    expect(told({ grant_types: Array(20).fill("x".repeat(64)) }).length).toBeLessThan(600)
  })

  test("takes the response type code, or none said, for the code flow; any for a machine", () => {
    const types = (response_types: ReadonlyArray<string>, grant_types = ["authorization_code"]) =>
      Result.isSuccess(ask({ redirect_uris: [uri], response_types, grant_types }))
    expect([types([]), types(["code"]), types(["code", "token"]), types(["token"])]).toEqual([true, true, true, false])
    expect(types(["token"], ["client_credentials"])).toBe(true)
  })

  test("needs redirect URIs for the code flow, and says which of them may not be, and why", () => {
    const fault = (message: string) => Result.fail(new InvalidRedirectUri({ message }))
    for (const none of [{}, { redirect_uris: [] }]) {
      expect(ask(none)).toEqual(fault("The grant type authorization_code takes a client with redirect_uris."))
    }
    const reasons: ReadonlyArray<readonly [string, string]> = [
      ["https://app.example.org/ä", "has characters that an address cannot have, or is too long"],
      ["https:\\\\app.example.org", "has a backslash"],
      ["https://app.example.org/#x", "has a fragment"],
      ["/cb", "is not absolute"],
      ["myapp://cb", "is neither https, nor http on this device, nor a private-use scheme with a dot in it"],
      ["http://app.example.org", "is http for a host that is not this device"],
      ["https://user@app.example.org", "has a user name in it"],
      ["https://app.example.org:443", "has a host that is not written as a browser reads it"]
    ]
    for (const [bad, why] of reasons) {
      expect(ask({ redirect_uris: [uri, bad] })).toEqual(fault(`Redirect URI number 2 ${why}.`))
      expect(ask({ redirect_uris: [bad], grant_types: ["client_credentials"] })).toEqual(
        fault(`Redirect URI number 1 ${why}.`)
      )
    }
  })

  test("lets a machine do without redirect URIs, and keeps each that there is once", () => {
    expect(made({ grant_types: ["client_credentials"] }).client.redirectUris).toEqual([])
    expect(made({ redirect_uris: [uri, `${uri}2`, uri] }).client.redirectUris).toEqual([
      RedirectUri.make(uri),
      RedirectUri.make(`${uri}2`)
    ])
  })

  test("of a machine takes a secret", () => {
    const grant_types = ["client_credentials"]
    expect(Result.isFailure(ask({ grant_types, token_endpoint_auth_method: "none" }))).toBe(true)
    expect(made({ grant_types, token_endpoint_auth_method: "client_secret_post" }).client.credential).toMatchObject({
      method: "client_secret_post"
    })
    expect(Result.isSuccess(ask({ redirect_uris: [uri], token_endpoint_auth_method: "none" }))).toBe(true)
  })

  test("is held to the scopes that it names, to all where it names none of ours", () => {
    const scope = (text?: string) =>
      made({ redirect_uris: [uri], ...(text === undefined ? {} : { scope: text }) }).client.scope
    expect(scope()).toEqual(scopes("api", "profile"))
    expect(scope("profile offline_access")).toEqual(scopes("profile"))
    expect(scope("openid")).toEqual(scopes("api", "profile"))
  })
})

describe("what a registration names", () => {
  const registry = Schema.decodeUnknownSync(ScopeRegistry)([
    { name: "api", meaning: "All", needsUser: false, byDefault: true },
    { name: "orders", meaning: "Orders", needsUser: false, byDefault: false },
    { name: "openid", meaning: "You", needsUser: true, byDefault: false }
  ])
  const atSignIn: Policy = { ...policy, scopes: registry }
  const by = (madeBy: "itself" | "owner", request: RegistrationRequest, rules: Policy = atSignIn) =>
    Result.map(register(tables, { redirect_uris: [uri], ...request }, rules, t0, fresh, madeBy), (done) => done.client)
  const scopeBy = (madeBy: "itself" | "owner", scope: string) =>
    Result.map(by(madeBy, { scope }), (made) => made.scope.join(" "))

  test.each([
    ["api", "api", "api"],
    ["openid orders", "orders openid", "orders openid"],
    ["api other", "api", undefined],
    ["openid", "api orders openid", "openid"],
    ["other", "api orders openid", undefined],
    ["", "api orders openid", undefined]
  ] as const)("is a limit where an owner says it, and of its own word what it can be: %p", (asked, own, owners) => {
    expect(scopeBy("itself", asked)).toEqual(Result.succeed(own))
    expect(Result.getOrUndefined(scopeBy("owner", asked))).toBe(owners)
  })

  test.each([
    [{ token_endpoint_auth_method: "tls_client_auth" }, "InvalidClientMetadata"],
    [{ response_types: ["token"] }, "InvalidClientMetadata"],
    [{ grant_types: ["implicit"] }, "InvalidClientMetadata"],
    [{ grant_types: ["client_credentials"], token_endpoint_auth_method: "none" }, "InvalidClientMetadata"],
    [{ redirect_uris: [uri], security_profile: "fapi2" }, "InvalidClientMetadata"],
    [{ redirect_uris: [] }, "InvalidRedirectUri"],
    [{ redirect_uris: ["x"] }, "InvalidRedirectUri"]
  ] as const)("is refused in words where it cannot be had: %j", (request, tag) => {
    const refusal = Result.getOrThrow(Result.flip(by("itself", request)))
    expect([refusal._tag, refusal.message !== ""]).toEqual([tag, true])
  })

  test("is told what there is instead", () => {
    const words = (madeBy: "itself" | "owner", request: RegistrationRequest) =>
      Result.getOrThrow(Result.flip(by(madeBy, request))).message
    for (const name of tables.clientAuths.keys()) {
      expect(words("itself", { token_endpoint_auth_method: "x" })).toContain(name)
    }
    for (const { name } of registry) expect(words("owner", { scope: "api x" })).toContain(name)
  })

  test("is kept by the names of the members that there are", () => {
    const bound = Result.getOrThrow(by("itself", keyed))
    expect(bound.members).toEqual({ dpop_bound_access_tokens: true })
    expect("members" in Result.getOrThrow(by("itself", {}))).toBe(false)
  })

  test("may be what an owner alone gives, where an owner registers", () => {
    const exchange = { grant_types: [exchangeGrant, "client_credentials"] }
    expect(Result.getOrThrow(by("owner", exchange)).grantTypes).toEqual(["client_credentials", exchangeGrant])
    expect(Result.getOrThrow(by("itself", exchange)).grantTypes).toEqual(["client_credentials"])
    expect(Result.isFailure(by("itself", { grant_types: [exchangeGrant] }))).toBe(true)
    expect(nameableGrantTypes(tables, policy)).toEqual(["authorization_code", "client_credentials", device])
    expect(nameableGrantTypes(tables, { ...policy, workspaceAccess: "owner" })).toEqual(["authorization_code", device])
  })
})

describe("registering anew (RFC 7592 §2.2)", () => {
  const asked = { at: after(1000), network: "203.0.113.9" }
  const redrawn: FreshClient = { ...fresh, secret: new Uint8Array(32).fill(3) }
  const before = made({ redirect_uris: [uri], client_name: "Old", grant_types: ["authorization_code"] }).client
  const again = (of: Client, request: RegistrationRequest) =>
    Result.getOrThrow(reregister(tables, of, request, policy, asked, redrawn, true))

  test("replaces what was registered and keeps what the server gave: id, dates, token, secret", () => {
    const { client: changed, secret } = again(before, {
      redirect_uris: [`${uri}2`],
      grant_types: ["authorization_code", "client_credentials"],
      scope: "api",
      token_endpoint_auth_method: "client_secret_post"
    })
    expect(changed).toEqual({
      ...before,
      about: {},
      credential: { ...before.credential, method: "client_secret_post" } as Client["credential"], // a Secret before
      redirectUris: [RedirectUri.make(`${uri}2`)],
      grantTypes: ["authorization_code", "refresh_token", "client_credentials"],
      scope: scopes("api"),
      workspaceAccess: { askedAt: asked.at, network: asked.network, answer: null }
    })
    expect(secret).toBeUndefined()
  })

  test("gives a secret to a client that had none and needs one, and takes it from one that stops", () => {
    const open = again(before, { redirect_uris: [uri], token_endpoint_auth_method: "none" })
    expect(open.client.credential).toEqual({ _tag: "Public" })
    expect(open.secret).toBeUndefined()
    expect(again(open.client, { redirect_uris: [uri], token_endpoint_auth_method: "none" }).secret).toBeUndefined()
    const closed = again(open.client, { redirect_uris: [uri] })
    const text = textOf(closed.secret)
    expect(text).toMatch(/^tsr_cs_/)
    expect(closed.client.credential).toEqual({
      _tag: "Secret",
      digest: digestOf(text),
      method: "client_secret_basic"
    })
  })

  test("is the client's own word, also for an owner's client", () => {
    expect(again({ ...before, madeBy: "owner" }, { redirect_uris: [uri] }).client.madeBy).toBe("itself")
  })

  test("brings the workspace's own access to a client that has it, and else only as a first registration would", () => {
    const both = { redirect_uris: [uri], grant_types: ["authorization_code", "client_credentials"] }
    const comesTo = (of: Client, rules: Policy, isOpen: boolean) =>
      mayUse(
        Result.getOrThrow(reregister(tables, of, both, rules, asked, redrawn, isOpen)).client,
        "client_credentials"
      )
    const has = made(both).client
    const strict: Policy = { ...policy, workspaceAccess: "owner" }
    expect([comesTo(before, policy, true), comesTo(before, policy, false), comesTo(has, policy, false)]).toEqual([
      true,
      false,
      true
    ])
    for (const of of [before, has, { ...has, madeBy: "owner" as const }]) {
      expect([comesTo(of, strict, true), comesTo(of, strict, false)]).toEqual([false, false])
    }
    const only = { grant_types: ["client_credentials"] }
    expect(Result.isFailure(reregister(tables, before, only, policy, asked, redrawn, false))).toBe(true)
  })

  test("keeps what an owner gave for the scopes that the owner saw, and not for more", () => {
    const serves = Resource.make("https://api.example")
    const given = { ...before, grantTypes: [...before.grantTypes, exchangeGrant], scope: scopes("api"), serves }
    const anew = (request: RegistrationRequest) => {
      const { client: next } = again(given, { redirect_uris: [uri], ...request })
      return [next.grantTypes.includes(exchangeGrant), next.serves]
    }
    const grant_types = ["authorization_code", exchangeGrant]
    expect(anew({ grant_types, scope: "api" })).toEqual([true, serves])
    // Other grant types come and go beside it.
    const machine = { ...given, grantTypes: [...given.grantTypes, "client_credentials"] }
    const fewer = again(machine, { redirect_uris: [uri], grant_types, scope: "api" }).client
    expect([fewer.serves, fewer.grantTypes]).toEqual([serves, ["authorization_code", "refresh_token", exchangeGrant]])
    const wider = again(given, { redirect_uris: [uri], grant_types, scope: "api profile" }).client
    expect(wider.grantTypes).toEqual(["authorization_code", "refresh_token"])
    // Of more scopes, or without the grant type, it is no API any more.
    expect(anew({ grant_types, scope: "api profile" })).toEqual([false, undefined])
    expect(anew({ grant_types: ["authorization_code"], scope: "api" })).toEqual([false, undefined])
    const { client: never } = again(before, { redirect_uris: [uri], grant_types, scope: "api" })
    expect(never.grantTypes).toEqual(["authorization_code", "refresh_token"])
    // What it registered for by itself is no gift.
    const own = again({ ...before, scope: scopes("api"), serves }, { redirect_uris: [uri], scope: "api profile" })
    expect([own.client.serves, own.client.scope]).toEqual([serves, scopes("api", "profile")])
  })

  test("is possible where the server knows less by now than the client had", () => {
    const older = { ...before, grantTypes: [...before.grantTypes, "urn:example:gone"] }
    expect(again(older, { redirect_uris: [uri], grant_types: older.grantTypes }).client.grantTypes).toEqual([
      "authorization_code",
      "refresh_token"
    ])
    const method = { ...client(), credential: { _tag: "Gone", method: "gone" } }
    expect(clientInformation(tables, method).token_endpoint_auth_method).toBe("gone")
  })

  test("leaves out members that are not sent again", () => {
    const bound = again(before, keyed).client
    expect(bound.members).toEqual({ dpop_bound_access_tokens: true })
    expect("members" in again(bound, { redirect_uris: [uri] }).client).toBe(false)
  })

  test("refuses what a first registration refuses", () => {
    expect(Result.isFailure(reregister(tables, before, {}, policy, asked, redrawn, true))).toBe(true)
  })
})

describe("what a client is told of itself (RFC 7591 §3.2.1)", () => {
  test("is everything that was registered, and no secret", () => {
    expect(clientInformation(tables, { ...before(), createdAt: after(999) })).toEqual({
      client_id: fresh.id,
      client_id_issued_at: t0 / 1000,
      client_name: "An app",
      redirect_uris: [uri],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_basic",
      scope: "api profile"
    })
    const machine = made({ grant_types: ["client_credentials"] }).client
    expect(clientInformation(tables, machine)).toMatchObject({
      response_types: [],
      grant_types: ["client_credentials"]
    })
    expect(clientInformation(tables, client()).token_endpoint_auth_method).toBe("none")
  })
  const before = () => made({ redirect_uris: [uri], client_name: "An app" }).client
})

describe("a registration's body", () => {
  const read = (members: Record<string, unknown>) => readRegistration(tables, JSON.stringify(members))
  const fault = (message: string) => Result.fail(new InvalidClientMetadata({ message }))

  test("is a JSON object", () => {
    for (const bad of ["", "{", "null", "[]", '"x"', "1"]) {
      expect(readRegistration(tables, bad)).toEqual(fault("The body has to be a JSON object."))
    }
  })

  test("is read member by member; null, the empty text and unknown members say nothing", () => {
    expect(read({ client_name: null, client_uri: "", made_up_member: 1, software_id: "x" })).toEqual(
      Result.succeed({ software_id: "x" })
    )
  })

  const limits: ReadonlyArray<readonly [string, unknown, unknown]> = [
    ["redirect_uris", Array(50).fill(uri), Array(51).fill(uri)],
    ["redirect_uris", ["x".repeat(2048)], ["x".repeat(2049)]],
    ["redirect_uris", [uri], ["a\u0007"]],
    ["redirect_uris", [uri], uri],
    ["grant_types", Array(20).fill("x"), Array(21).fill("x")],
    ["response_types", Array(20).fill("x"), Array(21).fill("x")],
    ["scope", "x".repeat(2048), "x".repeat(2049)],
    ["client_name", "日本 ".repeat(170), "x".repeat(513)],
    ["client_name", "a", "a\u0000b"],
    ["client_name", "a", "\ud800"],
    ["software_id", "x".repeat(512), "x".repeat(513)],
    ["software_version", "1", 1],
    ["application_type", "web", ["web"]],
    ["contacts", Array(20).fill("x"), Array(21).fill("x")],
    ...["client_uri", "logo_uri", "tos_uri", "policy_uri"].flatMap((name) => [
      [name, "HTTPS://a.example/x", "ftp://a.example"] as const,
      [name, "http://a.example", "see https://a.example"] as const,
      [name, `https://a.example/${"x".repeat(2030)}`, `https://a.example/${"x".repeat(2031)}`] as const,
      [name, "https://a.example/", "https://a b"] as const,
      [name, "https://a.example/", "https://["] as const,
      [name, "https://a.example/", "https://"] as const,
      [name, "https://a.example/", "javascript:alert(1)"] as const
    ])
  ]
  for (const [name, good, bad] of limits) {
    test(`takes ${name} ${JSON.stringify(good).slice(0, 40)}, not ${JSON.stringify(bad).slice(0, 40)}`, () => {
      expect(Result.isSuccess(read({ [name]: good }))).toBe(true)
      expect(read({ [name]: bad })).toEqual(fault(`The member ${name} has a value that is not taken here.`))
    })
  }

  test("names the methods that there are to a client that asks for another", () => {
    expect(
      [...tables.clientAuths.keys()].every((method) => Result.isSuccess(read({ token_endpoint_auth_method: method })))
    ).toBe(true)
    for (const method of ["tls_client_auth", "client_secret_jwt", 1]) {
      expect(read({ token_endpoint_auth_method: method })).toEqual(
        fault(
          "The token_endpoint_auth_method has to be one of these: client_secret_basic, client_secret_post, private_key_jwt, none."
        )
      )
    }
  })
})

describe("a client", () => {
  test("is known until it is forgotten, for good where it has been proven", () => {
    expect(isKnown(client({ expiresAt: after(1) }), t0)).toBe(true)
    expect(isKnown(client({ expiresAt: t0 }), t0)).toBe(false)
    expect(isKnown(client({ expiresAt: null }), t0)).toBe(true)
  })

  test("is proven once, and then stays", () => {
    const late = provenClient(client({ expiresAt: after(6) }), after(5))
    expect(late).toEqual(client({ provenAt: after(5), expiresAt: null }))
    expect(provenClient(client({ provenAt: t0 }), after(5))).toBeUndefined()
  })

  test("is not brought back once it is forgotten, by whatever it does", () => {
    for (const end of [4, 5]) {
      const forgotten = client({ expiresAt: after(end) })
      expect(provenClient(forgotten, after(5))).toBeUndefined()
      expect(used(forgotten, after(5), policy)).toBeUndefined()
    }
  })

  test("has its time again by a use, which is written once a day", () => {
    const day = 24 * 60 * 60 * 1000
    const fresh = client({ expiresAt: after(policy.unusedClientTtl) })
    expect(used(fresh, after(day - 1), policy)).toBeUndefined()
    expect(used(fresh, after(day), policy)).toEqual({ ...fresh, expiresAt: after(policy.unusedClientTtl + day) })
  })

  test("that is kept for good needs no use", () => {
    const long = after(2 * policy.unusedClientTtl)
    for (const over of [
      { provenAt: t0, expiresAt: null },
      { madeBy: "owner", expiresAt: null },
      // An owner's that registered itself anew.
      { madeBy: "itself", expiresAt: null },
      { madeBy: "owner", expiresAt: after(3 * policy.unusedClientTtl) }
    ] as const) {
      expect(used(client(over), long, policy)).toBeUndefined()
      expect(isOnTrial(client(over))).toBe(false)
    }
    expect(isOnTrial(client({ expiresAt: t0 }))).toBe(true)
  })

  test("may use what it registered for, and is called by its name or else its id", () => {
    expect([mayUse(client(), "authorization_code"), mayUse(client(), "client_credentials")]).toEqual([true, false])
    expect(displayName(client({ about: { client_name: "An app" } }))).toBe("An app")
    expect(displayName(client())).toBe(client().id)
  })

  test("comes back from its stored form as it went, and not with a member less or of another kind", () => {
    const read = Schema.decodeUnknownResult(Client)
    const samples = [
      made({ redirect_uris: [uri], client_name: "An app", contacts: ["a"] }).client,
      client({ provenAt: t0, expiresAt: after(1), madeBy: "owner" })
    ]
    for (const one of samples) {
      // JSON.parse gives back what was written.
      const stored = JSON.parse(JSON.stringify(one)) as Record<string, unknown>
      expect(read(stored)).toEqual(Result.succeed(one))
      for (const name of Object.keys(one)) {
        const { [name]: _, ...rest } = stored
        expect([name, Result.isFailure(read(rest))]).toEqual([name, true])
        expect([name, Result.isFailure(read({ ...stored, [name]: 7.5 }))]).toEqual([name, true])
      }
      for (const [name, inner] of [
        ["credential", {}],
        ["credential", { _tag: "Secret", method: 1 }],
        ["about", { client_name: 1 }],
        ["about", { client_uri: 1 }],
        ["about", { logo_uri: 1 }],
        ["about", { tos_uri: 1 }],
        ["about", { policy_uri: 1 }],
        ["about", { contacts: "a" }],
        ["about", { software_id: 1 }],
        ["about", { software_version: 1 }],
        ["about", { application_type: 1 }],
        ["redirectUris", ["http://evil.example"]],
        ["grantTypes", [1]]
      ] as const) {
        expect([inner, Result.isFailure(read({ ...stored, [name]: inner }))]).toEqual([inner, true])
      }
    }
  })

  test("stays readable with a grant type that the server does not know", () => {
    const stored = JSON.parse(JSON.stringify({ ...client(), grantTypes: ["implicit"] }))
    expect(Schema.decodeUnknownResult(Client)(stored)).toEqual(Result.succeed(client({ grantTypes: ["implicit"] })))
  })
})
