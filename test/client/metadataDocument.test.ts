import { describe, expect, test } from "bun:test"
import { Result } from "effect"
import { DocumentAddress } from "../../core/client/ClientIdentifier.ts"
import { clientMembers } from "../../core/client/members.ts"
import { readDocument } from "../../core/client/metadataDocument.ts"
import type { Tables } from "../../core/client/register.ts"
import { clientAuths } from "../../core/oauth/clients/table.ts"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { RedirectUri } from "../../core/rules/RedirectUri.ts"
import { signInScopes } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { after, policy, scopes, t0 } from "../grant/given.ts"

const address = DocumentAddress.make("https://app.example:8443/client.json")
const uri = "https://app.example/cb"
const device = "urn:ietf:params:oauth:grant-type:device_code"
const key = { kty: "EC", crv: "P-256", alg: "ES256", x: "A".repeat(43), y: "A".repeat(43) }

const tables: Tables = {
  clientAuths: new Map(clientAuths.map((row) => [row.name, row])),
  clientMembers,
  grantTypes: new Map(grantTypes.map((row) => [row.name, row]))
}

const whole = { client_id: address, redirect_uris: [uri] }
const read = (body: unknown, by = tables, rules = policy) =>
  readDocument(
    by,
    address,
    { body: typeof body === "string" ? body : JSON.stringify(body), fetchedAt: t0, freshUntil: after(1000) },
    rules
  )

const signing = { token_endpoint_auth_method: "private_key_jwt", jwks_uri: "https://app.example/keys" }

describe("a client's document", () => {
  test("comes to what a registration of the same does, with where it was read", () => {
    const body = JSON.stringify({ ...whole, client_name: "Notes", dpop_bound_access_tokens: true })
    expect(read(body)).toEqual(
      Result.succeed({
        about: { client_name: "Notes" },
        credential: { _tag: "Public" },
        redirectUris: [RedirectUri.make(uri)],
        grantTypes: ["authorization_code", "refresh_token"],
        scope: scopes("api", "profile"),
        members: { dpop_bound_access_tokens: true },
        identifier: address,
        document: { host: "app.example:8443", fetchedAt: t0, freshUntil: after(1000), digest: digestOf(body) }
      })
    )
    expect("members" in Result.getOrThrow(read(whole))).toBe(false)
  })

  test.each([
    ["", "document_malformed"],
    ["{", "document_malformed"],
    ["null", "document_malformed"],
    ["[]", "document_malformed"],
    ['"x"', "document_malformed"],
    ["1", "document_malformed"],
    [{ ...whole, client_id: undefined }, "document_mismatch"],
    [{ ...whole, client_id: `${address}?` }, "document_mismatch"],
    [{ ...whole, client_id: [address] }, "document_mismatch"],
    [{ ...whole, client_secret: "x" }, "document_secret"],
    [{ ...whole, client_secret: "" }, "document_secret"],
    [{ ...whole, client_secret_expires_at: 0 }, "document_secret"],
    [{ ...whole, token_endpoint_auth_method: "client_secret_basic" }, "document_secret"],
    [{ ...whole, token_endpoint_auth_method: "client_secret_jwt" }, "document_secret"],
    [{ ...whole, jwks: { keys: [key, { ...key, d: "AQAB" }] } }, "document_secret"],
    [{ ...whole, ...signing, jwks: { keys: [{ kty: "oct", k: "AQAB" }] } }, "document_secret"],
    [{ ...whole, jwks: { keys: [key] }, jwks_uri: "https://app.example/keys" }, "document_unusable"],
    [{ ...whole, token_endpoint_auth_method: "tls_client_auth" }, "document_unusable"],
    [{ ...whole, token_endpoint_auth_methods_supported: ["client_secret_post", "none"] }, "document_unusable"],
    [{ ...whole, token_endpoint_auth_method: "private_key_jwt" }, "document_unusable"],
    [
      { ...whole, token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [{ ...key, use: "enc" }] } },
      "document_unusable"
    ],
    [{ ...whole, redirect_uris: undefined }, "document_unusable"],
    [{ ...whole, redirect_uris: ["http://app.example/cb"] }, "document_unusable"],
    [{ ...whole, dpop_bound_access_tokens: "yes" }, "document_unusable"],
    [{ ...whole, security_profile: "fapi2" }, "document_unusable"]
  ] as const)("of which no client comes: %j", (body, fault) => {
    expect(read(body)).toEqual(Result.fail(fault))
  })

  test("has no secret where it names none", () => {
    expect(Result.isSuccess(read({ ...whole, client_secret: null }))).toBe(true)
    expect(Result.isSuccess(read({ ...whole, not_client_secret: "x" }))).toBe(true)
  })

  test.each([
    [{}, "Public"],
    [{ token_endpoint_auth_method: "none" }, "Public"],
    [{ token_endpoint_auth_method: "" }, "Public"],
    [{ token_endpoint_auth_method: 7 }, "Public"],
    [signing, "Keys"],
    [{ ...signing, token_endpoint_auth_method: "none" }, "Public"],
    // Of several, and of a name that is none of ours beside them, the first of ours.
    [
      {
        ...signing,
        token_endpoint_auth_method: "",
        token_endpoint_auth_methods_supported: ["x", "private_key_jwt", "none"]
      },
      "Keys"
    ],
    [
      {
        ...signing,
        token_endpoint_auth_method: "x",
        token_endpoint_auth_methods_supported: [7, "none", "private_key_jwt"]
      },
      "Public"
    ],
    [{ ...signing, token_endpoint_auth_methods_supported: ["none"] }, "Keys"],
    [{ token_endpoint_auth_methods_supported: ["x"] }, "Public"],
    [{ token_endpoint_auth_methods_supported: "private_key_jwt" }, "Public"]
  ] as const)("proves itself as it says: %j", (said, tag) => {
    expect(Result.getOrThrow(read({ ...whole, ...said })).credential._tag).toBe(tag)
  })

  test("is for every server: flows that are none here are left out beside codes, where people sign in too", () => {
    const flows = {
      grant_types: ["implicit", "authorization_code"],
      response_types: ["code", "id_token token", "code id_token"]
    }
    const signsIn = { ...policy, scopes: signInScopes }
    const found = read({ ...whole, ...flows }, tables, signsIn)
    expect(Result.getOrThrow(found).grantTypes).toEqual(["authorization_code", "refresh_token"])
    expect(read({ ...whole, response_types: ["code id_token"] }, tables, signsIn)).toEqual(
      Result.fail("document_unusable")
    )
  })

  test.each([
    [undefined, ["authorization_code", "refresh_token"]],
    [[], ["authorization_code", "refresh_token"]],
    ["implicit", ["authorization_code", "refresh_token"]],
    [
      ["implicit", 7],
      ["authorization_code", "refresh_token"]
    ],
    [
      ["implicit", device],
      ["refresh_token", device]
    ],
    // What acts for the workspace, and what an owner gives, no document has.
    [
      ["client_credentials", "authorization_code"],
      ["authorization_code", "refresh_token"]
    ],
    [["client_credentials"], ["authorization_code", "refresh_token"]],
    [["urn:ietf:params:oauth:grant-type:token-exchange"], ["authorization_code", "refresh_token"]],
    [
      ["urn:ietf:params:oauth:grant-type:token-exchange", device],
      ["refresh_token", device]
    ]
  ] as const)("has of grant types what is here: %j", (grant_types, expected) => {
    const { grantTypes: has } = Result.getOrThrow(read({ ...whole, grant_types }))
    expect(has).toEqual([...expected])
  })

  test("leaves out what is odd of it, and keeps what is right beside that", () => {
    const redirect_uris = [uri, "http://app.example/cb", 7, "com.example.app:/cb"]
    const odd = { client_name: 7, client_uri: "javascript:alert(1)", policy_uri: "https://app.example/policy" }
    const { about, redirectUris } = Result.getOrThrow(read({ ...whole, redirect_uris, ...odd }))
    expect(about).toEqual({ policy_uri: "https://app.example/policy" })
    expect(redirectUris as ReadonlyArray<string>).toEqual([uri, "com.example.app:/cb"])
  })

  test("of a method that takes a secret is none, whatever the server's is called", () => {
    const [none] = clientAuths.filter(({ name }) => name === "none")
    if (none === undefined) throw new Error("no row")
    const handshake = (proves: boolean): Tables => ({
      ...tables,
      clientAuths: new Map([["handshake", { ...none, name: "handshake", proves }]])
    })
    const said = { ...whole, token_endpoint_auth_method: "handshake" }
    expect(read(said, handshake(true))).toEqual(Result.fail("document_unusable"))
    expect(Result.isSuccess(read(said, handshake(false)))).toBe(true)
  })

  test("has keys of its own, or says where they are", () => {
    const { credential } = Result.getOrThrow(
      read({ ...whole, token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [key] } })
    )
    expect(credential).toMatchObject({ _tag: "Keys", method: "private_key_jwt" })
  })
})
