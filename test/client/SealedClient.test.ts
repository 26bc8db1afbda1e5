import { describe, expect, test } from "bun:test"
import { Option, Redacted } from "effect"
import type { Client } from "../../core/client/Client.ts"
import { longestSealed, readSealedIdentifier, sealedPrefix } from "../../core/client/ClientIdentifier.ts"
import { openClient, sealClient, sealedUnder } from "../../core/client/SealedClient.ts"
import { base64Url, readBase64Url } from "../../core/codec/Base64Url.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { makeSealer, sealKey } from "../../core/token/KeyRing.ts"
import { after, client, home, ring, t0 } from "../grant/given.ts"

const rules = { unusedClientTtl: 1000 }
const nonce = new Uint8Array(16).fill(5)
const secret: Client["credential"] = { _tag: "Secret", digest: digestOf("of before"), method: "client_secret_post" }
const members = { dpop_bound_access_tokens: true }
const notes = client({ about: { client_name: "Notes" }, credential: secret, members })
const open = client()

const sealed = (of: Client, drawn = nonce, sealer = ring, place = home) => {
  const registration = sealClient(sealer, place, of, rules, drawn)
  if (registration === undefined) throw new Error("too long")
  const { identifier } = registration.brought
  const read = Option.getOrThrow(readSealedIdentifier(identifier))
  return { ...registration, identifier: read }
}

const opened = (text: string, sealer = ring, place = home, now = t0) => {
  const identifier = Option.getOrUndefined(readSealedIdentifier(text))
  return identifier && openClient(sealer, place, identifier, now)
}

const textOf = (secret: Redacted.Redacted<string> | undefined) => (secret === undefined ? "" : Redacted.value(secret))

describe("an identifier that holds a registration", () => {
  test("says all of it, and is read as it was written", () => {
    const { brought, identifier, registrationToken, secret: shown } = sealed(notes)
    const { about, createdAt, grantTypes, redirectUris, scope } = notes
    const text = textOf(shown)
    expect(text).toMatch(/^tsr_cs_/)
    expect(Redacted.value(registrationToken)).toMatch(/^tsr_rg_/)
    expect(brought).toEqual({
      about,
      redirectUris,
      grantTypes,
      scope,
      members,
      createdAt,
      until: after(1000),
      identifier,
      credential: { _tag: "Secret", method: "client_secret_post", digest: digestOf(text) },
      registration: digestOf(Redacted.value(registrationToken))
    })
    expect(opened(identifier)).toEqual(brought)
  })

  test("of a client without a secret, or without members, has none", () => {
    const { brought, identifier, secret: none } = sealed(open)
    expect([none, brought.credential, "members" in brought]).toEqual([undefined, { _tag: "Public" }, false])
    expect(opened(identifier)).toEqual(brought)
  })

  test("is another for each that registers the same, with secrets of its own", () => {
    const all = [
      sealed(notes),
      sealed(notes, new Uint8Array(16).fill(6)),
      sealed(notes, nonce, ring, { ...home, id: "x" })
    ]
    const texts = all.flatMap(({ identifier, registrationToken, secret: shown }) => [
      identifier,
      Redacted.value(registrationToken).slice(7),
      textOf(shown).slice(7)
    ])
    expect(new Set(texts).size).toBe(9)
    // Who has the secret does not look after the registration with it: that is more than another name and checksum.
    const bodies = all.flatMap(({ registrationToken, secret: shown }) =>
      [Redacted.value(registrationToken), textOf(shown)].map((text) => text.slice(7, 47))
    )
    expect(new Set(bodies).size).toBe(6)
    expect(sealed(notes).identifier).toBe(sealed(notes).identifier)
  })

  test("opens in its own place, until its time is over", () => {
    const { identifier } = sealed(notes)
    expect(opened(identifier, ring, home, after(999))).toBeDefined()
    expect(opened(identifier, ring, home, after(1000))).toBeUndefined()
    for (const place of [
      { ...home, id: "abroad" },
      { ...home, issuer: "https://other.example" }
    ]) {
      expect(opened(identifier, ring, place)).toBeUndefined()
    }
  })

  test("opens, with the same secret, for as long as its key is in the ring", () => {
    const [first, second] = [sealKey(new Uint8Array(32).fill(1)), sealKey(new Uint8Array(32).fill(9))]
    const { brought, identifier } = sealed(notes, nonce, makeSealer([first]))
    expect(opened(identifier, makeSealer([second, first]))).toEqual(brought)
    expect(opened(identifier, makeSealer([second]))).toBeUndefined()
    expect(sealedUnder(identifier)).toBe(makeSealer([first]).first.id)
    expect(sealedUnder(sealed(notes, nonce, makeSealer([second, first])).identifier)).toBe(
      makeSealer([second]).first.id
    )
  })

  test("opens no more with any byte of it changed, or without its end", () => {
    const { identifier } = sealed(open)
    const bytes = readBase64Url(identifier, sealedPrefix.length) ?? expect.unreachable()
    for (let at = 0; at < bytes.length; at++) {
      const other = Uint8Array.from(bytes)
      other[at] = (other[at] ?? 0) ^ 1
      expect([at, opened(sealedPrefix + base64Url(other))]).toEqual([at, undefined])
    }
    for (const more of ["A", "AA", "AAA"]) expect(opened(identifier + more)).toBeUndefined()
    for (const length of [48, bytes.length - 1]) {
      expect(opened(sealedPrefix + base64Url(bytes.subarray(0, length)))).toBeUndefined()
    }
  })

  test("is not made where it would be too long", () => {
    const named = (length: number) =>
      sealClient(ring, home, client({ about: { client_name: "n".repeat(length) } }), rules, nonce)
    const lengths = Array.from({ length: 400 }, (_, n) => n)
    const fitting = lengths.filter((length) => named(length) !== undefined)
    const longest = Math.max(...fitting)
    expect(fitting).toEqual(lengths.slice(0, longest + 1))
    const { length } = named(longest)?.brought.identifier ?? expect.unreachable()
    expect([length <= longestSealed, length > longestSealed - 4]).toEqual([true, true])
  })
})
