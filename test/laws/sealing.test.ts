import { expect } from "bun:test"
import { Effect, Layer, Result } from "effect"
import { Base64Url } from "effect/encoding"
import * as Memory from "../../adapters/memory/Memory.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { checksumLength } from "../../core/rules/Secret.ts"
import { token, workspaceId } from "../../core/testing/Arbitraries.ts"
import { type Dice, makeDice } from "../../core/testing/Dice.ts"
import { samplesOf } from "../../core/testing/forAll.ts"
import { defaultWorld } from "../../core/testing/model/World.ts"
import { inProcess } from "../../core/testing/play/inProcess.ts"
import { headersOf } from "../../core/testing/play/requestOf.ts"
import { makeSealer, type Place, sealKey } from "../../core/token/KeyRing.ts"
import { open, openAny, seal, type Token, tokens } from "../../core/token/Token.ts"
import { type Calls, countingStorage } from "../given/countingStorage.ts"
import { withChecksum } from "../given/withChecksum.ts"
import { law } from "./law.ts"

const prefixLength = tokens.code.prefix.length
const kinds = ["code", "access", "refresh"] as const

const bytesOf = (text: string): Uint8Array =>
  Result.getOrThrow(Base64Url.decode(text.slice(prefixLength, -checksumLength)))

/** A text whose prefix and checksum are as they should be, whatever its bytes say. */
const dressed = (kind: Token["kind"], bytes: Uint8Array): string =>
  withChecksum(tokens[kind].prefix + Base64Url.encode(bytes))

const joined = (...parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]))

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** What an attacker could make of two tokens without the key; the checksum is no secret, so it is made to fit. */
const forgery = (dice: Dice, one: string, other: string): string => {
  const kind = dice.pick(kinds)
  const own = bytesOf(one)
  const more = bytesOf(other)
  const at = dice.under(own.length)
  const cut = dice.under(Math.min(own.length, more.length))
  const character = dice.under(one.length)
  return dice.pick([
    () => dressed(kind, own.with(at, ((own[at] ?? 0) ^ (1 << dice.under(8))) & 0xff)),
    () => dressed(kind, own.slice(0, at)),
    () => dressed(kind, own.slice(at)),
    () => dressed(kind, joined(own, Uint8Array.of(dice.under(256)))),
    () => dressed(kind, joined(own.slice(0, cut), more.slice(cut))),
    // One token's content with another's seal.
    () => dressed(kind, joined(own.slice(0, -32), more.slice(-32))),
    () => dressed(kind, joined(own.slice(0, 5), Uint8Array.of(1 + dice.under(3)), own.slice(6))),
    () => dressed(kind, joined(own.slice(0, -32), new Uint8Array(32))),
    () => one.slice(0, character) + dice.pick([...alphabet] as [string]) + one.slice(character + 1),
    () => one.slice(0, character),
    () => one.slice(character),
    () => one + dice.pick([...alphabet] as [string]),
    () => ` ${one}`,
    () => `${one}=`,
    () => one.toLowerCase(),
    // The same bytes in another spelling.
    () => withChecksum(`${one.slice(0, -checksumLength)}=`),
    () => withChecksum(one.slice(0, -checksumLength).replaceAll("-", "+").replaceAll("_", "/")),
    () => withChecksum(one.slice(0, -checksumLength - 1) + dice.pick([...alphabet] as [string]))
  ])()
}

law(
  "opening a mutated, cut or spliced token fails; none opens in another workspace, under another issuer, as another kind or by another ring",
  (dice, seed) =>
    Effect.gen(function* () {
      const [one, other] = yield* samplesOf(token, seed, 2)
      const [here, there] = yield* samplesOf(workspaceId, seed, 2)
      if (one === undefined || other === undefined || here === undefined || there === undefined) return
      const home: Place = { id: here, issuer: "https://auth.example.com", sealedBefore: dice.chance(50) }
      const away: Place = { ...home, id: there }
      const staging: Place = { ...home, issuer: "https://staging.example.com" }
      const keys = [1, 2, 3].map((byte) => sealKey(new Uint8Array(32).fill(byte + dice.under(50) * 4)))
      const [first, second, third] = keys
      if (first === undefined || second === undefined || third === undefined) return
      const sealer = makeSealer([first, second])
      const earlier = Instant.make(Math.max(one.expiresAt - 1, 0))
      const text = seal(sealer, home, one, dice.pick([first, second]))
      const otherText = seal(sealer, home, other)

      if (one.expiresAt > 0) {
        expect(openAny(sealer, home, text, earlier)).toEqual(Result.succeed(one))
        for (const kind of kinds)
          expect(Result.isSuccess(open(sealer, home, kind, text, earlier))).toBe(kind === one.kind)
      }
      expect(openAny(sealer, home, text, one.expiresAt)).toEqual(Result.fail("expired"))
      expect(Result.isFailure(openAny(makeSealer([third]), home, text, earlier))).toBe(true)
      expect(Result.isFailure(openAny(sealer, staging, text, earlier))).toBe(true)
      if (here !== there) expect(Result.isFailure(openAny(sealer, away, text, earlier))).toBe(true)

      for (let tries = 8; tries > 0; tries--) {
        const forged = forgery(dice, text, otherText)
        if (forged === text || forged === otherText) continue
        for (const moment of [Instant.make(0), earlier]) {
          const found = openAny(sealer, home, forged, moment)
          expect([forged, Result.isFailure(found)]).toEqual([forged, true])
        }
      }
    })
)

law("what does not open is refused before the store is asked", (dice, seed) => {
  const calls: Calls = { get: [], insert: [], replace: [], remove: [], list: [] }
  return Effect.gen(function* () {
    const world = { ...defaultWorld, seed }
    const { system } = yield* inProcess(world)
    const [one, other] = yield* samplesOf(token, seed, 2)
    if (one === undefined || other === undefined) return
    const strangers = makeSealer([sealKey(new Uint8Array(32).fill(7))])
    for (const made of Object.values(calls)) made.length = 0
    const place: Place = { id: "workspace-0", issuer: "https://one.example" }
    const text = seal(strangers, place, { ...one, expiresAt: Instant.make(world.startsAt + 1000) })
    const forged = forgery(makeDice(seed), text, seal(strangers, place, other))
    const bearer = /^[A-Za-z0-9_=+/-]+$/.test(forged) ? forged : text
    const response = yield* system.request({
      method: "GET",
      path: dice.pick(["/rest/companies", "/oauth/userinfo"]),
      query: "",
      headers: headersOf([
        ["host", "one.example"],
        ["authorization", `Bearer ${bearer}`]
      ]),
      body: ""
    })
    expect(response.status).toBe(401)
    expect(Object.values(calls).flat()).toEqual([])
  }).pipe(Effect.provide(countingStorage(calls, new Set()).pipe(Layer.provideMerge(Memory.layer)), { local: true }))
})
