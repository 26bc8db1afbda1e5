import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { Result } from "effect"
import { Base64Url } from "effect/encoding"
import { authorizationRequestIdOf } from "../../core/rules/Id.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { UserCode } from "../../core/rules/UserCode.ts"
import {
  idOfUserCode,
  idsOfUserCode,
  isOfUserCode,
  openDeviceCode,
  sealDeviceCode
} from "../../core/token/DeviceCode.ts"
import { makeSealer, type Place, sealKey } from "../../core/token/KeyRing.ts"
import { withChecksum } from "../given/withChecksum.ts"

const key = (byte: number) => sealKey(new Uint8Array(32).fill(byte))
const sealer = makeSealer([key(1)])
const turned = makeSealer([key(2), key(1)])
const home: Place = { id: "home", issuer: "https://auth.example.com" }
const elsewhere: ReadonlyArray<Place> = [
  { ...home, id: "other" },
  { ...home, issuer: "https://staging.example.com" }
]

/** By another library, under what `key(1)` is derived to at home. */
const macFor = (purpose: string, data: Uint8Array) =>
  createHmac(
    "sha256",
    createHmac("sha256", new Uint8Array(32).fill(1)).update(`tessera 2 ${purpose} ${home.id} ${home.issuer}`).digest()
  )
    .update(data)
    .digest()

const idBytes = Uint8Array.from({ length: 16 }, (_, at) => at)
const secretBytes = Uint8Array.from({ length: 32 }, (_, at) => 200 - at)
const id = authorizationRequestIdOf(idBytes)
const secret = digestOf(Base64Url.encode(secretBytes))

/** A code made by hand under a right MAC: its head with these bytes put in. */
const forged = (purpose = "device", put: Readonly<Record<number, number>> = {}): string => {
  const head = Uint8Array.from([1, ...key(1).idBytes, ...idBytes, ...secretBytes])
  for (const [at, byte] of Object.entries(put)) head[Number(at)] = byte
  return withChecksum(`tsr_dc_${Base64Url.encode(new Uint8Array([...head, ...macFor(purpose, head)]))}`)
}

describe("a device code", () => {
  const sealed = sealDeviceCode(sealer, home, id, secretBytes)
  const opened = (text: string, by = sealer, where = home) => openDeviceCode(by, where, text)
  const malformed = Result.fail("malformed" as const)

  test("is version, key, id, secret and a MAC for devices over these, and says the digest of its secret", () => {
    expect(sealed).toEqual({ text: forged(), secret })
  })

  test("opens to its record's id and its secret's digest, by any key of the ring", () => {
    for (const by of [sealer, turned]) expect(opened(sealed.text, by)).toEqual(Result.succeed({ id, secret }))
    expect(sealDeviceCode(turned, home, id, secretBytes).text).not.toBe(sealed.text)
  })

  test("opens in no other place, by no other ring, and under no MAC for another purpose", () => {
    for (const where of elsewhere) expect(opened(sealed.text, sealer, where)).toEqual(Result.fail("forged"))
    expect(opened(sealed.text, makeSealer([key(2)]))).toEqual(Result.fail("unknown_key"))
    expect(opened(forged("token"))).toEqual(Result.fail("forged"))
  })

  test("is refused with one character changed, cut, or padded, also with a right checksum", () => {
    const { text } = sealed
    for (let at = 0; at < text.length; at++) {
      const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)
      expect(opened(changed)).toEqual(malformed)
      expect(opened(text.slice(0, at))).toEqual(malformed)
      if (at >= text.length - 6) continue
      expect(Result.isFailure(opened(withChecksum(changed.slice(0, -6))))).toBe(true)
      expect(opened(withChecksum(text.slice(0, at)))).toEqual(malformed)
    }
    for (const odd of [`${text}A`, ` ${text}`, withChecksum(`${text.slice(0, -6)}A`)]) {
      expect(opened(odd)).toEqual(malformed)
    }
    expect(opened(withChecksum(`${text.slice(0, -7)}!`))).toEqual(malformed)
  })

  test("of another version is none", () => {
    for (const version of [0, 2, 255]) expect(opened(forged("device", { 0: version }))).toEqual(malformed)
  })
})

describe("a user code", () => {
  const code = UserCode.make("BCDFGHJK")
  const idByMac = authorizationRequestIdOf(
    new Uint8Array(macFor("user_code", new TextEncoder().encode(code)).subarray(0, 16))
  )

  test("stands for a record whose id is the start of its MAC", () => {
    expect(idOfUserCode(sealer, home, code)).toBe(idByMac)
    for (const where of elsewhere) expect(idOfUserCode(sealer, where, code)).not.toBe(idByMac)
  })

  test("is found under each key of the ring, and made under the first", () => {
    const ids = idsOfUserCode(turned, home, code)
    expect(ids).toEqual([idOfUserCode(turned, home, code), idByMac])
    expect(new Set(ids).size).toBe(2)
    for (const one of ids) expect(isOfUserCode(turned, home, code, one)).toBe(true)
    expect(isOfUserCode(turned, home, UserCode.make("BCDFGHJL"), idByMac)).toBe(false)
    expect(isOfUserCode(makeSealer([key(2)]), home, code, idByMac)).toBe(false)
  })
})
