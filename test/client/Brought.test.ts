import { describe, expect, test } from "bun:test"
import { type Brought, broughtAs, clientOf, isNewer, renewed } from "../../core/client/Brought.ts"
import { type Client, exchangeGrant, type ReadDocument } from "../../core/client/Client.ts"
import { clientKey, DocumentAddress, SealedIdentifier } from "../../core/client/ClientIdentifier.ts"
import type { Policy } from "../../core/rules/Policy.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { after, client, policy, t0 } from "../grant/given.ts"

const day = 86_400_000
const identifier = DocumentAddress.make("https://app.example/client.json")
const sealed = SealedIdentifier.make(`tsr_c_${"A".repeat(64)}`)
const { about, credential, grantTypes, redirectUris, scope, workspaceGrant } = client()
const said = { about, credential, grantTypes, redirectUris, scope }
const readAt = (fetchedAt = t0): ReadDocument => ({
  host: "app.example",
  fetchedAt,
  freshUntil: after(1000),
  digest: digestOf("{}")
})

const ofDocument: Brought = { ...said, identifier, document: readAt() }
const ofSealed: Brought = {
  ...said,
  identifier: sealed,
  createdAt: after(-day),
  until: after(400 * day),
  registration: digestOf("registration")
}
const signing = { _tag: "Keys", method: "private_key_jwt" } as unknown as Client["credential"]
const usual: Policy = { ...policy, refreshIdleTtl: 30 * day, unusedClientTtl: 20 * day }

describe("a client that brings its identifier", () => {
  test("is one like any other from then on, with what it said and where that was read", () => {
    expect(clientOf(ofDocument, workspaceGrant, t0, usual)).toEqual({
      ...said,
      id: clientKey(identifier),
      // Of no token: no client changes it here.
      registration: expect.stringMatching(/^A{43}$/) as never,
      workspaceGrant,
      createdAt: t0,
      madeBy: "itself",
      provenAt: null,
      expiresAt: after(38 * day),
      disabled: false,
      origin: { identifier, since: after(-5000), document: readAt() }
    })
    expect(clientOf(ofSealed, workspaceGrant, t0, usual)).toEqual({
      ...said,
      id: clientKey(sealed),
      registration: digestOf("registration"),
      workspaceGrant,
      createdAt: after(-day),
      madeBy: "itself",
      provenAt: null,
      expiresAt: after(400 * day),
      disabled: false,
      origin: { identifier: sealed, since: after(-5000), until: after(400 * day) }
    })
    expect(Object.keys(clientOf(ofDocument, workspaceGrant, t0, usual).origin ?? {})).not.toContain("until")
    expect(Object.keys(clientOf(ofSealed, workspaceGrant, t0, usual).origin ?? {})).not.toContain("document")
  })

  test.each([
    [30, 20, undefined, 31],
    [20, 30, undefined, 31],
    [20, 30, 30, 31],
    [20, 30, 32, 32]
  ] as const)("goes with the last of its grants: idle %p, unused %p, until %p", (idle, unused, until, days) => {
    const rules = { ...policy, refreshIdleTtl: idle * day, unusedClientTtl: unused * day }
    const of = { ...ofSealed, ...(until === undefined ? { until: t0 } : { until: after(until * day) }) }
    expect(clientOf(of, workspaceGrant, t0, rules).expiresAt).toBe(after(days * day))
  })

  test("is read back from its record as it came", () => {
    const members = { security_profile: "fapi2" }
    for (const brought of [ofSealed, { ...ofSealed, members }, { ...ofDocument, createdAt: t0 }]) {
      const { registration: _, ...rest } =
        broughtAs(clientOf(brought, workspaceGrant, t0, usual)) ?? expect.unreachable()
      const { registration: __, ...expected } = brought
      expect(rest).toEqual(expected)
      expect("members" in rest).toBe("members" in brought)
    }
    const record = clientOf(ofSealed, workspaceGrant, t0, usual)
    const origin = { ...(record.origin ?? expect.unreachable()), asSealed: true as const }
    expect(broughtAs({ ...record, origin })).toEqual(ofSealed)
    expect(broughtAs(client())).toBeUndefined()
  })

  test("is newer where both were read, and it later", () => {
    const recordOf = (brought: Brought) => clientOf(brought, workspaceGrant, t0, usual)
    const later = { ...ofDocument, document: readAt(after(1)) }
    const rows = [
      [later, recordOf(ofDocument), true],
      [ofDocument, recordOf(ofDocument), false],
      [ofDocument, recordOf(later), false],
      [later, recordOf(ofSealed), false],
      [ofSealed, recordOf(ofDocument), false],
      [ofSealed, recordOf(ofSealed), false],
      [later, client(), false]
    ] as const
    for (const [brought, record, isIt] of rows) expect(isNewer(brought, record)).toBe(isIt)
  })
})

describe("a record that is brought up to date", () => {
  const api = Resource.make("https://api.example")
  const first = clientOf(ofDocument, workspaceGrant, t0, usual)
  const before = (over: Partial<Client> = {}): Client => ({
    ...first,
    provenAt: after(3),
    createdAt: after(2),
    ...over
  })
  const anew = (stored: Client, over: Partial<Brought> = {}, now = after(day)) =>
    renewed(stored, { ...ofDocument, document: readAt(after(day)), ...over }, now, usual)

  test("has what is said now, and keeps what the server and owners know of it", () => {
    expect(anew(before(), { about: { client_name: "Now" } })).toEqual({
      ...before(),
      about: { client_name: "Now" },
      expiresAt: after(39 * day),
      origin: { identifier, since: after(-5000), document: readAt(after(day)) }
    })
    expect(anew(before({ accessTokenFormat: "jwt" })).accessTokenFormat).toBe("jwt")
    expect("accessTokenFormat" in anew(before())).toBe(false)
    expect(anew(before({ disabled: true }))).toMatchObject({ disabled: true, expiresAt: null })
  })

  test("is another client once its time was over, which an owner's no outlives", () => {
    const over = { expiresAt: after(day) }
    const next = anew(before(over))
    expect(next).toMatchObject({ provenAt: null, createdAt: after(day), disabled: false })
    expect(next.origin?.since).toBe(after(day - 5000))
    expect(anew(before({ ...over, disabled: true })).disabled).toBe(true)
    expect(anew(before(over), {}, after(day - 1)).provenAt).toBe(after(3))
  })

  test("stays as it was where it is no record of such a client", () => {
    expect(anew(client())).toEqual(client())
  })

  test("loses its grants where less proof is asked of it than before", () => {
    const since = (stored: Client["credential"], now: Client["credential"]) =>
      anew(before({ credential: stored }), { credential: now }).origin?.since
    const open = credential
    expect([since(signing, open), since(signing, signing), since(open, open), since(open, signing)]).toEqual([
      after(day),
      after(-5000),
      after(-5000),
      after(-5000)
    ])
  })

  test("exchanges on as an API where it proves itself, and no more where it does not", () => {
    const stored = before({ serves: api, grantTypes: ["authorization_code", exchangeGrant], credential: signing })
    expect(anew(stored, { credential: signing })).toMatchObject({
      serves: api,
      grantTypes: ["authorization_code", "refresh_token", exchangeGrant]
    })
    const open = anew(stored)
    expect([open.serves, open.grantTypes]).toEqual([undefined, grantTypes])
    expect(anew(before({ credential: signing }), { credential: signing }).grantTypes).toEqual(grantTypes)
  })

  test.each([
    [undefined, undefined, undefined],
    [undefined, "fapi2", "fapi2"],
    ["standard", undefined, "standard"],
    ["fapi2", undefined, "fapi2"],
    ["fapi2", "standard", "fapi2"],
    ["standard", "fapi2", "fapi2"]
  ] as const)("is held to the stricter profile: before %p, now %p", (was, is, held) => {
    const membersOf = (profile: string | undefined) =>
      profile === undefined ? {} : { members: { security_profile: profile, other: "kept" } }
    const { members } = anew(before(membersOf(was)), membersOf(is))
    expect(members).toEqual(
      held === undefined ? undefined : { security_profile: held, ...(is === undefined ? {} : { other: "kept" }) }
    )
  })
})
