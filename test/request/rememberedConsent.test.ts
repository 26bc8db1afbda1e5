import { describe, expect, test } from "bun:test"
import type { Client } from "../../core/client/Client.ts"
import { DocumentAddress } from "../../core/client/ClientIdentifier.ts"
import type { Connected, Consent } from "../../core/grant/Grant.ts"
import type { CheckedRequest } from "../../core/request/readRequest.ts"
import { consentGiven, rememberedConsent, stillCounts } from "../../core/request/rememberedConsent.ts"
import { ClientId } from "../../core/rules/Id.ts"
import type { Policy } from "../../core/rules/Policy.ts"
import { RedirectTarget } from "../../core/rules/RedirectUri.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { standardScopes } from "../../core/rules/Scope.ts"
import { type Digest, digestOf } from "../../core/rules/Secret.ts"
import { active, after, client, pending, policy, scopes, standing, t0 } from "../grant/given.ts"

const day = 86_400_000
const remembering = { ...policy, consent: "remember" } as const
const owners = client({ madeBy: "owner" })
const target = RedirectTarget.make("https://app.example.org/cb")
const place = { _tag: "Redirect", target, state: null } as const

const given = (by: Client = owners, at: CheckedRequest["to"] = place) => consentGiven(remembering, by, at, t0)

const identifier = DocumentAddress.make("https://a.example/client.json")
const read = { host: "a.example", fetchedAt: t0, freshUntil: t0 }

const yes = (by: Client = owners): Consent => {
  const consent = given(by)
  if (consent === undefined) throw new Error("not kept")
  return consent
}

const request = (more: Partial<CheckedRequest> = {}): CheckedRequest => ({
  client: owners,
  to: place,
  scope: scopes("api"),
  scopeByDefault: false,
  resources: null,
  challenge: null,
  ...more
})

const remembered = (
  grants: ReadonlyArray<Connected>,
  more: Partial<CheckedRequest> = {},
  rules: Policy = remembering
) => rememberedConsent(grants, request(more), rules, standardScopes, after(1))

describe("a person's yes is kept", () => {
  test("where the server remembers, and the answer goes to an address that is the client's alone", () => {
    expect(given()).toMatchObject({ at: t0 })
    expect(consentGiven(policy, owners, place, t0)).toBeUndefined()
    for (const elsewhere of [
      "http://127.0.0.1:8080/cb",
      "https://localhost/cb",
      "https://127.0.0.1/cb",
      "app.example:/cb"
    ]) {
      expect([elsewhere, given(owners, { ...place, target: RedirectTarget.make(elsewhere) })]).toEqual([
        elsewhere,
        undefined
      ])
    }
    expect(given(owners, { _tag: "Device", secret: digestOf("s") })).toBeUndefined()
  })

  test("of what the person saw: another name, maker, page of terms, document or place of return is another", () => {
    const document = (digest: Digest) =>
      client({ madeBy: "owner", origin: { identifier, since: t0, document: { ...read, digest } } })
    const clients = [
      owners,
      client({ madeBy: "itself" }),
      client({ madeBy: "owner", about: { client_name: "App" } }),
      client({ madeBy: "owner", about: { client_name: "Ape" } }),
      client({ madeBy: "owner", about: { tos_uri: "https://app.example.org/1" } }),
      client({ madeBy: "owner", about: { tos_uri: "https://app.example.org/2" } }),
      client({ madeBy: "owner", about: { policy_uri: "https://app.example.org/1" } }),
      document(digestOf("one")),
      document(digestOf("two"))
    ]
    const shown = clients.map((one) => yes(one).shown)
    const other = given(owners, { ...place, target: RedirectTarget.make("https://app.example.org/cb2") })
    expect(new Set([...shown, other?.shown]).size).toBe(clients.length + 1)
  })
})

describe("a yes counts again", () => {
  const grant = active({ scope: scopes("api", "profile"), consent: yes() })

  test("for the same, or less", () => {
    expect(remembered([grant])).toEqual(yes())
    expect(remembered([grant], { scope: scopes("api", "profile") })).toEqual(yes())
    expect(remembered([grant], { resources: [Resource.make("https://api.example.com")] })).toEqual(yes())
    expect(remembered([grant], { prompt: ["select_account"] })).toEqual(yes())
  })

  const narrow = active({ consent: yes(), scope: scopes("api"), resources: [Resource.make("https://api.example.com")] })
  // No release writes one; a grant is remembered by what it is, and not by what stands in it.
  const asserted = { ...standing(), consent: yes() }
  const rows: ReadonlyArray<readonly [string, ReadonlyArray<Connected>, Partial<CheckedRequest>]> = [
    ["without a grant", [], {}],
    ["for more scopes", [narrow], { scope: scopes("api", "profile"), resources: narrow.resources }],
    ["for more resources", [narrow], {}],
    ["at another address", [grant], { to: { ...place, target: RedirectTarget.make("https://app.example.org/cb2") } }],
    ["where the client asks for the page", [grant], { prompt: ["consent"] }],
    ["where the client asks for a sign-in", [grant], { prompt: ["login", "select_account"] }],
    ["for a device", [grant], { to: { _tag: "Device", secret: digestOf("s") } }],
    ["of a grant that was not redeemed", [pending({ consent: yes() })], {}],
    ["of what an issuer asserted", [asserted], {}],
    ["of a grant without one", [active()], {}],
    ["of another client's grant", [{ ...active({ consent: yes() }), client: ClientId.make("o".repeat(22)) }], {}],
    ["of another name then", [active({ consent: yes(client({ madeBy: "owner", about: { client_name: "x" } })) })], {}]
  ]
  for (const [what, grants, more] of rows) test(`never ${what}`, () => expect(remembered(grants, more)).toBeUndefined())

  test("never where the server does not remember", () => {
    expect(remembered([grant], {}, policy)).toBeUndefined()
  })

  test("the latest of several, wherever it stands among grants that do not do", () => {
    const later = active({ consent: { ...yes(), at: after(1) } })
    for (const grants of [
      [grant, later],
      [later, grant],
      [active(), grant, pending(), later]
    ]) {
      expect(remembered(grants)?.at).toBe(after(1))
    }
    expect(remembered([later, active({ consent: { ...yes(), at: after(1), shown: digestOf("x") } })])?.at).toBe(
      after(1)
    )
  })

  test("of a client that no owner answers for, for thirty days", () => {
    const proven = client({ provenAt: t0 })
    const kept = active({ consent: yes(proven) })
    const at = (now: number) =>
      rememberedConsent([kept], request({ client: proven }), remembering, standardScopes, after(now))
    expect([at(30 * day - 1), at(30 * day)]).toEqual([yes(proven), undefined])
  })

  test("of a client of before that had the same document, never", () => {
    const origin = { identifier, since: after(1), document: { ...read, digest: digestOf("d") } }
    const documents = client({ madeBy: "owner", origin })
    const consent = yes(documents)
    expect(remembered([active({ consent })], { client: documents })).toBeUndefined()
    expect(remembered([{ ...active({ consent }), createdAt: after(1) }], { client: documents })).toEqual(consent)
  })
})

test("a yes lasts as long as a person answers for the client, or thirty days, and never for a stranger", () => {
  const consent = yes()
  const proven = client({ provenAt: t0 })
  const answered = (approved: boolean) =>
    client({ provenAt: t0, workspaceAccess: { askedAt: t0, network: null, answer: { approved, by: "x", at: t0 } } })
  const rows: ReadonlyArray<readonly [Client, ReadonlyArray<boolean>]> = [
    [owners, [true, true, true]],
    [answered(true), [true, true, true]],
    [answered(false), [true, true, false]],
    [proven, [true, true, false]],
    [client({ provenAt: t0, workspaceAccess: { askedAt: t0, network: null, answer: null } }), [true, true, false]],
    [client(), [false, false, false]]
  ]
  for (const [of, counts] of rows) {
    expect([0, 30 * day - 1, 30 * day].map((since) => stillCounts(consent, of, after(since)))).toEqual([...counts])
  }
})
