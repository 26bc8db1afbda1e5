import { describe, expect, test } from "bun:test"
import { rootCertificates } from "node:tls"
import { Redacted } from "effect"
import { pageEndpoint } from "../../core/http/Route.ts"
import { BadOption, type CreateOptions, createTessera } from "../../runtimes/tessera.ts"
import { aKey, options, people } from "./host.ts"

/** What callers without types can pass, and values from an environment. */
const refusal = (over: object): BadOption => {
  try {
    // Wrong on purpose: the types would not let it through.
    createTessera({ ...options(), ...over } as CreateOptions)
  } catch (error) {
    if (error instanceof BadOption) return error
    throw error
  }
  throw new Error("it was not refused")
}

const secret = "do-not-tell-anybody-about-this"

const wrong: ReadonlyArray<readonly [option: string, over: object]> = [
  ["issuer", { issuer: undefined }],
  ["issuer", { issuer: "https://shop.example/" }],
  ["issuer", { issuer: "http://shop.example" }],
  ["issuer", { issuer: "https://shop.example?a=b" }],
  ["name", { name: " " }],
  ["name", { name: 5 }],
  ["keys", { keys: undefined }],
  ["keys", { keys: "" }],
  ["keys", { keys: secret }],
  ["keys", { keys: [aKey, secret] }],
  ["keys", { keys: [aKey, aKey] }],
  ["keys", { keys: Redacted.make(secret) }],
  ["storage", { storage: undefined }],
  ["storage", { storage: "sqlite:here" }],
  ["storage", { storage: { get: () => undefined } }],
  ["clientDocuments", { clientDocuments: "claude.ai" }],
  ["clientDocuments", { clientDocuments: ["https://claude.ai"] }],
  ["owner", { owner: undefined }],
  ["owner.signedIn", { owner: { signInAt: people.signInAt } }],
  ["owner.signInAt", { owner: { signedIn: people.signedIn } }],
  ["owner.profile", { owner: { ...people, profile: {} } }],
  ["scopes", { scopes: [] }],
  ["scopes", { scopes: [{ name: "with space", meaning: "Do things" }] }],
  ["scopes", { scopes: [{ name: "a", meaning: "" }] }],
  [
    "scopes",
    {
      scopes: [
        { name: "a", meaning: "A" },
        { name: "a", meaning: "B" }
      ]
    }
  ],
  ["lifetimes.access", { lifetimes: { access: "soon" } }],
  ["lifetimes.refreshGrace", { lifetimes: { refreshGrace: Number.POSITIVE_INFINITY } }],
  ["lifetimes.refreshGrace", { lifetimes: { refreshGrace: Number.NaN } }],
  ["lifetimes.refreshGrace", { lifetimes: { refreshGrace: { seconds: Number.NaN } } }],
  ["lifetimes.refreshGrace", { lifetimes: { refreshGrace: [Number.NaN, 0] } }],
  ...["code", "access", "refreshIdle", "refreshMax", "consent"].flatMap((name) =>
    [Number.NaN, Number.POSITIVE_INFINITY, 0, -1, 999, "999 millis", "-1 days", {}, null].map(
      (lasts): readonly [string, object] => [`lifetimes.${name}`, { lifetimes: { [name]: lasts } }]
    )
  ),
  ["lifetimes.device", { lifetimes: { device: 59_999 } }],
  ["registration", { registration: "sometimes" }],
  ["registration", { registration: { token: "short" } }],
  ["registration", { registration: { token: `${secret} with spaces` } }],
  ["registration", { registration: null }],
  ["theme", { theme: { accent: "no colour" } }],
  ["theme", { theme: { brand: "#112233" } }],
  ["theme", { theme: "#112233" }],
  ["consentPage", { consentPage: "//evil.example/allow" }],
  ["consentPage", { consentPage: "/\\evil.example/allow" }],
  ["consentPage", { consentPage: "http://app.example/allow" }],
  ["consentPage", { consentPage: "/allow#form" }],
  ["consentPage", { consentPage: "allow" }],
  ["consentPage", { consentPage: {} }],
  ["owner.switchAt", { owner: { ...people, switchAt: "/switch" } }],
  ["owner.places", { owner: { ...people, places: [] } }],
  ["owner.asserted", { owner: { ...people, asserted: {} } }],
  ["owner.signOut", { owner: { ...people, signOut: "/sign-out" } }],
  ["consent", { consent: "always" }],
  ["audit", { audit: {} }],
  ["endpoints", { endpoints: () => [] }],
  ["endpoints", { endpoints: [null] }],
  ["endpoints", { endpoints: [{}] }],
  ["endpoints", { endpoints: [pageEndpoint("/consent", {})] }],
  ["extras", { extras: ["kitchen"] }],
  ["extras", { extras: "settings" }],
  ["fetch", { fetch: null }],
  ["fetch", { fetch: ["keys.internal"] }],
  ["fetch.hosts", { fetch: { hosts: ["keys.internal"] } }],
  ...["keys.internal", null, [5], ["https://keys.internal"], ["*.internal"], ["keys.internal."], ["10.0.0.0/8"]].map(
    (allow): readonly [string, object] => ["fetch.allow", { fetch: { allow } }]
  ),
  ...["", "ca.pem", 5, null, [], [""], [5], ["-----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----"]].map(
    (ca): readonly [string, object] => ["fetch.ca", { fetch: { allow: ["keys.internal"], ca } }]
  ),
  ["fetch.ca", { fetch: { ca: rootCertificates[0] } }],
  ["log", { log: "loud" }],
  ["registrationRows", { registrationRows: "at_approval" }],
  ["registrationRows", { registrationRows: null }],
  ["workspaceAccess", { workspaceAccess: "owners" }],
  ["workspaceAccess", { workspaceAccess: null }],
  ...[0, -1, 1.5, "100", null, Number.NaN].map((most): readonly [string, object] => [
    "maxUnprovenClients",
    { maxUnprovenClients: most }
  ]),
  ["workspaceAccess", { workspaceAccess: "everybody" }],
  ["issuers", { issuers: [] }],
  ["lifetimes", { lifetimes: null }],
  ["lifetimes", { lifetimes: "5 minutes" }],
  ["lifetimes", { lifetimes: [] }],
  ["lifetimes.acess", { lifetimes: { acess: "5 minutes" } }],
  ["scopes", { scopes: {} }],
  ["scopes", { scopes: [null] }],
  ["scopes", { scopes: ["api"] }],
  ["resources[0].accessTokens", { resources: [{ at: "https://api.example", accessTokens: "jwt" }] }],
  ["resources[0].accessTokenFormat", { resources: [{ at: "https://api.example", accessTokenFormat: "JWT" }] }],
  ["resources[0].accessTokenFormat", { resources: [{ at: "https://api.example", accessTokenFormat: null }] }],
  ["resources[0].accessTokenTtl", { resources: [{ at: "https://api.example", accessTokenTtl: "soon" }] }],
  ["resources[0].accessTokenTtl", { resources: [{ at: "https://api.example", accessTokenTtl: 999 }] }],
  ...["HS256", "none", "es256", "", null, 256].map((jwtAlgorithm): readonly [string, object] => [
    "jwtAlgorithm",
    { jwtAlgorithm }
  ]),
  ["scopes.default", { scopes: [{ name: "api", meaning: "Do things", default: true }] }],
  ["scopes", { scopes: [{ name: "api", meaning: "Do things", byDefault: "yes" }] }],
  ["theme.dark", { theme: { dark: null } }],
  ["owner.swithAt", { owner: { ...people, swithAt: people.signInAt } }],
  ["registration.tokens", { registration: { token: "initial-access-token", tokens: [] } }],
  ["dpop", { dpop: true }],
  ["dpop.required", { dpop: { required: "yes" } }],
  ["dpop.nonces", { dpop: { nonces: "on" } }],
  ["dpop.nonce", { dpop: { nonce: "all" } }],
  ["clock", { clock: {} }],
  ["clock", { clock: null }],
  ...[0.09, 1001, Number.NaN, "4", undefined].map((factor): readonly [string, object] => [
    "rateLimits",
    { rateLimits: { factor } }
  ]),
  ["par", { par: "yes" }],
  ["par", { par: true }],
  ["profile", { profile: "fapi" }],
  ["profile", { profile: null }],
  ...["requirePkce", "devices", "rateLimits", "housekeeping"].flatMap((name) =>
    ["no", "false", "true", 0, 1, null].map((given): readonly [string, object] => [name, { [name]: given }])
  )
]

describe("an option that cannot be", () => {
  for (const [index, [option, over]] of wrong.entries()) {
    test(`is refused by its name: ${option} (${index + 1})`, () => {
      const error = refusal(over)
      expect(error._tag).toBe("BadOption")
      expect(error.option).toBe(option)
      expect(error.message).toStartWith(`createTessera: ${option} `)
    })
  }

  test("is all of them, where there are none", () => {
    // Wrong on purpose, and so are the others.
    for (const none of [undefined, null, "https://shop.example"] as ReadonlyArray<unknown>) {
      expect(() => createTessera(none as CreateOptions)).toThrow(
        new BadOption({ option: "options", message: "createTessera: options have to be an object" })
      )
    }
  })

  test("is never told with a secret", () => {
    for (const [, over] of wrong) {
      const error = refusal(over)
      expect(`${error.message} ${JSON.stringify(error)} ${error.stack}`).not.toContain(secret)
    }
  })
})

test("certificates for hosts of a private network are refused where none can be taken, as on Workers", async () => {
  const { navigator } = globalThis
  const having = (value: unknown) => Object.defineProperty(globalThis, "navigator", { value, configurable: true })
  const fetch = { allow: ["keys.internal"], ca: rootCertificates[0] ?? "" }
  await createTessera(options({ fetch })).close()
  having({ userAgent: "Cloudflare-Workers" })
  try {
    expect(refusal({ fetch })).toMatchObject({ _tag: "BadOption", option: "fetch.ca" })
    await createTessera(options({ fetch: { allow: ["keys.internal"] } })).close()
  } finally {
    having(navigator)
  }
})

test("a lifetime may be a second, and no time at all for a spent refresh token", async () => {
  const second = 1000
  const lifetimes = {
    code: second,
    access: "1 second",
    refreshIdle: second,
    refreshMax: second,
    consent: second
  } as const
  await createTessera(options({ lifetimes: { ...lifetimes, refreshGrace: 0 } })).close()
})

test("a host's people may be an object of a class, which has what it needs", async () => {
  class Shop {
    readonly sessions = new Map<string, string>()
    signedIn = () => undefined
    signInAt = () => "/sign-in"
  }
  await createTessera(options({ owner: new Shop() })).close()
})

describe("keys", () => {
  for (const [form, keys] of [
    ["text", `${aKey},${"B".repeat(42)}A`],
    ["a list", [aKey, `${"B".repeat(42)}A`]],
    ["a secret that is wrapped", Redacted.make(aKey)]
  ] as const) {
    test(`may be ${form}`, async () => {
      await createTessera(options({ keys })).close()
    })
  }
})
