import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { authMethodOf, type Client, isPublic, serving } from "../../core/client/Client.ts"
import { withNewSecret } from "../../core/client/ClientSecret.ts"
import { clientMembers } from "../../core/client/members.ts"
import type { RegistrationRequest } from "../../core/client/RegistrationRequest.ts"
import { drawnSecret, leavesRoom, register, reregister } from "../../core/client/register.ts"
import { answered } from "../../core/client/workspaceAccess.ts"
import { clientKind, decodeBody, encodeBody } from "../../core/engine/Records.ts"
import { clientAuths } from "../../core/oauth/clients/table.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import type { Json } from "../../core/ports/Storage.ts"
import { ClientId, GrantId } from "../../core/rules/Id.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { client, policy, t0 } from "../grant/given.ts"

const tables = {
  clientAuths: new Map(clientAuths.map((row) => [row.name, row])),
  clientMembers,
  grantTypes: new Map(grantTypes.map((row) => [row.name, row]))
}
const fresh = {
  id: ClientId.make("i".repeat(22)),
  workspaceGrant: GrantId.make("w".repeat(22)),
  secret: new Uint8Array(30).fill(1),
  registration: new Uint8Array(30).fill(2)
}
const asked = { redirect_uris: ["https://app.example/cb"], client_name: "App" }

/** What stands in the store. */
const written = (of: Client) => JSON.stringify(encodeBody(clientKind, of, "add"))
const readBack = (body: string) => Result.getOrThrow(decodeBody(clientKind)(JSON.parse(body) as Json)).value
const credentialIn = (body: string) => /"credential":(\{[^}]*\})/.exec(body)?.[1]

const digest = "OShF4PS1qb4nnjCL-MNfT-qTsF4cJOxDb5lLNY5iEmk"
const basic = `{"_tag":"Secret","method":"client_secret_basic","digest":"${digest}"}`
const post = `{"_tag":"Secret","method":"client_secret_post","digest":"${digest}"}`
const open = '{"_tag":"Public"}'

describe("a client's record", () => {
  const utf8 = new TextEncoder()
  const bytesOf = (text: string) => utf8.encode(text).length
  const withContacts = (bytes: number, letter: string) => {
    const size = bytesOf(letter)
    const one = letter.repeat(1500 / size)
    const rest = bytes - 1500 * Math.floor(bytes / 1500)
    return { ...asked, contacts: [...Array(Math.floor(bytes / 1500)).fill(one), "x".repeat(rest)] }
  }
  const first = (request: RegistrationRequest) => register(tables, request, policy, t0, fresh, "itself")
  const anew = (request: RegistrationRequest) =>
    reregister(tables, Result.getOrThrow(first(asked)).client, request, policy, { at: t0, network: null }, fresh, true)

  for (const [what, make] of Object.entries({ "a first registration": first, "a later one": anew })) {
    for (const letter of ["x", "é", "界"]) {
      test(`takes 8 KiB of a store at most, by ${what} (${letter})`, () => {
        const sizes = Array.from({ length: 160 }, (_, n) => 6000 + 10 * n)
        const fitting = sizes.filter((bytes) => Result.isSuccess(make(withContacts(bytes, letter))))
        const longest = Math.max(...fitting)
        // One that fits is not followed by one that does not, and again by one that does.
        expect(fitting).toEqual(sizes.filter((bytes) => bytes <= longest))
        const kept = Result.getOrThrow(make(withContacts(longest, letter))).client
        const later = encodeBody(clientKind, { ...kept, provenAt: t0, expiresAt: t0 }, "f".repeat(18))
        expect(bytesOf(JSON.stringify(later))).toBeLessThanOrEqual(8192)
        expect(bytesOf(JSON.stringify(later))).toBeGreaterThan(8192 - 384)
        const refused = make(withContacts(longest + 10, letter))
        expect(refused).toMatchObject({ failure: { _tag: "InvalidClientMetadata" } })
      })
    }
  }

  test("has room for all that an owner does to the client, but for the API that it serves", () => {
    const grant_types = ["authorization_code", "client_credentials"]
    const fitting = Array.from({ length: 2000 }, (_, n) => first({ ...withContacts(6000 + n, "x"), grant_types }))
    const kept = fitting.flatMap((made) => (Result.isSuccess(made) ? [made.success.client] : [])).at(-1)
    if (kept === undefined || fitting.every(Result.isSuccess)) throw new Error("none is the longest")
    const drawn = drawnSecret(new Uint8Array(30).fill(3))
    const by = "u".repeat(128)
    const changed: Client = {
      ...answered(Result.getOrThrow(withNewSecret(kept, drawn, 60_000, t0)), { approved: false, by, at: t0 }, policy),
      provenAt: t0,
      accessTokenFormat: "opaque",
      members: { ...kept.members, security_profile: "standard" }
    }
    const later = JSON.stringify(encodeBody(clientKind, changed, "f".repeat(18)))
    expect(bytesOf(later)).toBeLessThanOrEqual(8192)
    expect([leavesRoom(kept), leavesRoom(serving(kept, Resource.make("https://api.example")))]).toEqual([true, false])
  })
})

/** As releases before the tables wrote them: an older one reads what this one writes, in a rolling upgrade. */
const before = [
  ["client_secret_basic", basic],
  ["client_secret_post", post],
  ["none", open]
] as const

describe("the credential in a client's record", () => {
  test("is written as it always was", () => {
    for (const [token_endpoint_auth_method, credential] of before) {
      const request = { ...asked, token_endpoint_auth_method }
      const made = Result.getOrThrow(register(tables, request, policy, t0, fresh, "itself")).client
      expect(credentialIn(written(made))).toBe(credential)
      expect(written(made)).toEndWith(`"disabled":false,"_v":1,"_by":"add"}`)
      expect(written(readBack(written(made)))).toBe(written(made))
      expect(authMethodOf(made)).toBe(token_endpoint_auth_method)
      expect(isPublic(made)).toBe(token_endpoint_auth_method === "none")
    }
  })

  test("keeps its secret where the client is registered anew, and gets one where it had none", () => {
    const later = { ...fresh, secret: new Uint8Array(30).fill(3) }
    for (const [from] of before) {
      const made = Result.getOrThrow(
        register(tables, { ...asked, token_endpoint_auth_method: from }, policy, t0, fresh, "itself")
      ).client
      for (const [to, credential] of before) {
        const request = { ...asked, token_endpoint_auth_method: to }
        const drawn = from === "none" ? fresh : later
        const again = Result.getOrThrow(
          reregister(tables, made, request, policy, { at: t0, network: null }, drawn, true)
        ).client
        // JSON's members have no order that a reader knows.
        expect(JSON.parse(credentialIn(written(again)) ?? "")).toEqual(JSON.parse(credential))
      }
    }
  })

  test("of a method that this release does not know stays as it is", () => {
    const later = client({
      credential: { _tag: "Keys", method: "later_method", keys: [{ kty: "OKP", x: ["y", null] }] }
    })
    const kept = readBack(written(later))
    expect(kept).toEqual(later)
    expect(written({ ...kept, disabled: true })).toBe(written({ ...later, disabled: true }))
    expect([authMethodOf(kept), isPublic(kept)]).toEqual(["later_method", false])
  })
})
