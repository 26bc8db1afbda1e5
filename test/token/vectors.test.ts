import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { crc32 } from "node:zlib"
import { Result, Schema } from "effect"
import { Hex } from "effect/encoding"
import { Binding } from "../../core/grant/Binding.ts"
import { GrantId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { Resources } from "../../core/rules/Resource.ts"
import { Scopes } from "../../core/rules/Scope.ts"
import { makeSealer, type Place, type SealPurpose, sealKey } from "../../core/token/KeyRing.ts"
import { Actor, openAny, seal, type Token } from "../../core/token/Token.ts"
import vectors from "./vectors.json" with { type: "json" }

const common = { grant: GrantId, expiresAt: Instant }
const VectorToken = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("code"), ...common }),
  Schema.Struct({ kind: Schema.Literal("refresh"), ...common, generation: Schema.Int }),
  Schema.Struct({
    kind: Schema.Literal("access"),
    ...common,
    epoch: Schema.Int,
    serial: Schema.String,
    scope: Schema.NullOr(Scopes),
    resources: Schema.NullOr(Resources),
    binding: Schema.NullOr(Binding),
    actors: Schema.NullOr(Schema.Array(Actor))
  })
])
const tokenOf: (value: unknown) => Token = Schema.decodeUnknownSync(VectorToken)

const keyOf = (hex: string) => sealKey(Result.getOrThrow(Hex.decode(hex)))

describe("the token format's vectors", () => {
  test("there are some of each kind", () => {
    expect(new Set(vectors.map((vector) => vector.token.kind))).toEqual(new Set(["code", "access", "refresh"]))
  })

  for (const vector of vectors) {
    const sealer = makeSealer([keyOf(vector.key)])
    const token = tokenOf(vector.token)
    const place = { id: vector.workspace, issuer: vector.issuer }

    test(`${vector.name}: seals to the text`, () => {
      expect(seal(sealer, place, token)).toBe(vector.text)
    })

    test(`${vector.name}: opens to the token until its last millisecond`, () => {
      const lastMoment = Instant.make(token.expiresAt - 1)
      expect(openAny(sealer, place, vector.text, lastMoment)).toEqual(Result.succeed(token))
      expect(openAny(sealer, place, vector.text, token.expiresAt)).toEqual(Result.fail("expired"))
    })

    test(`${vector.name}: as the release before sealed it, opens only where that may have been`, () => {
      const lastMoment = Instant.make(token.expiresAt - 1)
      const opened = openAny(sealer, { ...place, sealedBefore: true }, vector.before, lastMoment)
      expect(opened).toEqual(Result.succeed(token))
      expect(openAny(sealer, place, vector.before, lastMoment)).toEqual(Result.fail("forged"))
    })

    test.each([
      [vector.text, `tessera 2 token ${vector.workspace} ${vector.issuer}`],
      [vector.before, `tessera 1 token ${vector.workspace}`]
    ])(`${vector.name}: %s has the MAC and checksum that FORMAT.md describes, by another library`, (text, words) => {
      const payload = Buffer.from(text.slice(7, -6), "base64url")
      const derived = createHmac("sha256", Buffer.from(vector.key, "hex")).update(words)
      const mac = createHmac("sha256", derived.digest()).update(payload.subarray(0, -32)).digest()
      expect(payload.subarray(-32).toString("hex")).toBe(mac.toString("hex"))
      const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
      const written = [...text.slice(-6)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
      expect(written).toBe(crc32(text.slice(0, -6)))
    })
  }
})

describe("a key of the ring", () => {
  const bytes = new Uint8Array(32).fill(3)
  const key = sealKey(bytes)
  const sealer = makeSealer([key])
  const purposes: ReadonlyArray<SealPurpose> = [
    "token",
    "ticket",
    "request",
    "device",
    "user_code",
    "form",
    "session",
    "sender",
    "signing",
    "stamp",
    "nonce",
    "client",
    "secret",
    "registration"
  ]
  const places: ReadonlyArray<Place> = [
    { id: "home", issuer: "https://auth.example.com" },
    { id: "abroad", issuer: "https://auth.example.com" },
    { id: "home", issuer: "https://other.example" }
  ]
  const data = new TextEncoder().encode("data")
  const macOf = (words: string) =>
    createHmac("sha256", createHmac("sha256", bytes).update(words).digest()).update(data).digest("hex")
  const hex = (mac: Uint8Array | undefined) => mac && Buffer.from(mac).toString("hex")

  // What was sealed by one release is opened by the next.
  test.each(purposes)("makes the MACs of a %s under words of its own, in each place and as before", (purpose) => {
    // The same place comes again, and after another issuer of it.
    for (const place of [...places, ...places]) {
      const { id, issuer } = place
      expect(hex(sealer.mac(key, place, purpose, data))).toBe(macOf(`tessera 2 ${purpose} ${id} ${issuer}`))
      expect(sealer.before(key, place, purpose)).toBeUndefined()
      const before = sealer.before(key, { ...place, sealedBefore: true }, purpose)
      expect(hex(before?.of(data))).toBe(macOf(`tessera 1 ${purpose} ${id}`))
    }
  })
})
