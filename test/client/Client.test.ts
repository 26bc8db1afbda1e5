import { describe, expect, test } from "bun:test"
import { Option, Schema } from "effect"
import {
  authMethodOf,
  Client,
  changed,
  displayName,
  exchangeGrant,
  hasGrant,
  identifierOf,
  isOnTrial,
  knownAs,
  makerOf,
  mayGo,
  mayMakeRoom,
  type Origin,
  proven,
  scopesToAsk,
  serving,
  shownIdentifier,
  sweptAt
} from "../../core/client/Client.ts"
import { DocumentAddress, SealedIdentifier } from "../../core/client/ClientIdentifier.ts"
import { clientName } from "../../core/pages/Consent.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { after, client, policy, scopes, t0 } from "../grant/given.ts"

const answer = { approved: true, by: "ada", at: t0 }
const asked = { askedAt: t0, network: "192.0.2.1", answer }

test.each([
  { workspaceAccess: asked, reads: true },
  { workspaceAccess: { ...asked, network: null, answer: null }, reads: true },
  { workspaceAccess: {}, reads: false },
  { workspaceAccess: { ...asked, askedAt: "yesterday" }, reads: false },
  { workspaceAccess: { ...asked, answer: {} }, reads: false },
  { workspaceAccess: { ...asked, answer: { ...answer, approved: "yes" } }, reads: false }
])("a stored client whose question for workspace access is $workspaceAccess", ({ reads, workspaceAccess }) => {
  expect(Option.isSome(Schema.decodeUnknownOption(Client)({ ...client(), workspaceAccess }))).toBe(reads)
})

const address = DocumentAddress.make("https://app.example/client.json")
const document = { host: "app.example", fetchedAt: t0, freshUntil: after(1000), digest: digestOf("{}") }
const sealed = SealedIdentifier.make(`tsr_c_${"A".repeat(64)}`)

/** As the record of a client that brings its identifier. */
const brought = (over: Partial<Origin>, rest: Partial<Client> = {}) =>
  client({ ...rest, origin: { identifier: address, since: t0, ...over } })

const ofDocument = brought({ document })
const ofSealed = brought({ identifier: sealed, until: after(1000) })
const asSealed = brought({ identifier: sealed, until: after(1000), asSealed: true })

describe("a client", () => {
  test("is known to people by its name, or by the host of its document, of which no end is cut off", () => {
    const about = { client_name: "Notes" }
    expect(knownAs(client())).toBeUndefined()
    expect(knownAs(client({ about }))).toBe("Notes")
    expect(knownAs(brought({ identifier: sealed }, { about }))).toBe("Notes")
    const at = (host: string) => knownAs(brought({ document: { ...document, host } }, { about }))
    expect(at("app.example:8443")).toBe("app.example:8443")
    const whole = `${"a".repeat(48)}.evil.example`.slice(-60)
    expect([at(whole), whole.length]).toEqual([whole, 60])
    const long = `accounts.example.com.${whole}`
    expect(at(long)).toBe(`…${long.slice(-59)}`)
    expect(clientName(at(long))).toBe(`…${long.slice(-59)}`)
  })

  test("is called by what it goes by, and shown as people read it", () => {
    const of = (one: Client) => [makerOf(one), identifierOf(one), shownIdentifier(one), displayName(one)]
    const { id } = client()
    expect(of(client())).toEqual(["itself", id, id, id])
    expect(of(client({ madeBy: "owner", about: { client_name: "Notes" } }))).toEqual(["owner", id, id, "Notes"])
    expect(of(ofDocument)).toEqual(["document", address, address, address])
    expect(of(ofSealed)).toEqual(["itself", sealed, id, id])
    expect(
      [client(), client({ credential: { _tag: "Secret", digest: digestOf(""), method: "m" } })].map(authMethodOf)
    ).toEqual(["none", "m"])
  })

  test("has the grants that were given to itself, and none from before it came again", () => {
    const { id } = client()
    const other = ClientId.make("x".repeat(22))
    const rows = [
      [client(), id, t0, true],
      [client(), id, after(-1), true],
      [client(), other, t0, false],
      [client(), null, t0, false],
      [ofDocument, id, t0, true],
      [ofDocument, id, after(-1), false],
      [ofDocument, other, t0, false]
    ] as const
    for (const [of, by, createdAt, has] of rows) expect(hasGrant(of, { client: by, createdAt })).toBe(has)
  })

  test("is kept until nothing brings it back, and makes room where nothing is lost by it", () => {
    const ending = (expiresAt: number | null, until?: number) =>
      sweptAt(
        brought(
          { identifier: sealed, ...(until === undefined ? {} : { until: after(until) }) },
          { expiresAt: expiresAt === null ? null : after(expiresAt) }
        )
      )
    expect([ending(null), ending(null, 1000), ending(10), ending(10, 9), ending(10, 10), ending(10, 11)]).toEqual([
      null,
      null,
      after(10),
      after(10),
      after(10),
      after(11)
    ])
    expect([sweptAt(client()), sweptAt(client({ expiresAt: after(10) }))]).toEqual([null, after(10)])
    const rooms = [client(), ofDocument, ofSealed, asSealed].map((one) =>
      [after(999), after(1000)].map((now) => [mayGo(one, now), mayMakeRoom(one, now)])
    )
    const [always, later] = [
      [true, true],
      [false, false]
    ]
    expect(rooms).toEqual([
      [always, always],
      [always, always],
      [later, always],
      [[false, true], always]
    ])
  })

  test("that was changed holds more than its identifier says", () => {
    const { asSealed: _, ...origin } = asSealed.origin ?? expect.unreachable()
    expect(changed(asSealed)).toEqual({ ...asSealed, origin })
    expect(Object.keys(changed(asSealed).origin ?? {})).not.toContain("asSealed")
    for (const one of [client(), ofSealed]) expect(changed(one)).toBe(one)
  })

  test("may ask for all that there is where it registered itself, and for what an owner said elsewhere", () => {
    const few = { scope: scopes("api") }
    expect<unknown>(scopesToAsk(client(few), policy.scopes)).toEqual(policy.scopes.map(({ name }) => name))
    expect(scopesToAsk(client({ ...few, madeBy: "owner" }), policy.scopes)).toEqual(scopes("api"))
  })

  test("exchanges as the API that an owner says it is, and no more once it is none", () => {
    const api = Resource.make("https://api.example")
    const one = serving(client({ grantTypes: ["client_credentials"] }), api)
    expect(one).toEqual({ ...client(), grantTypes: ["client_credentials", exchangeGrant], serves: api })
    const other = Resource.make("https://other.example")
    expect(serving(one, other)).toEqual({ ...one, serves: other })
    const none = serving(one, undefined)
    expect(none).toEqual(client({ grantTypes: ["client_credentials"] }))
    expect("serves" in none).toBe(false)
  })

  test("is on trial until a person answers for it, and let in for good but for one that can come back", () => {
    const on = { expiresAt: after(1000) }
    expect(
      [client(on), client(), client({ ...on, madeBy: "owner" }), client({ ...on, provenAt: t0 })].map(isOnTrial)
    ).toEqual([true, false, false, false])
    const letIn = [client(on), brought({ document }, on), brought({ identifier: sealed }, on)].map((one) =>
      proven(one, after(5))
    )
    expect(letIn.map((one) => [one?.provenAt, one?.expiresAt])).toEqual([
      [after(5), null],
      [after(5), after(1000)],
      [after(5), null]
    ])
    for (const [of, now] of [
      [client({ provenAt: t0 }), t0],
      [client(on), after(1000)]
    ] as const) {
      expect(proven(of, now)).toBeUndefined()
    }
  })
})
