import { describe, expect, test } from "bun:test"
import { Redacted, Result } from "effect"
import { Base64Url } from "effect/encoding"
import { GrantId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { withChecksum } from "../../core/rules/Secret.ts"
import { csrfField, isCsrfField } from "../../core/token/csrf.ts"
import { BadSealKey, type KeyRing, Keys, makeSealer, parseKeyRing, sealKey } from "../../core/token/KeyRing.ts"
import { openTicket, sealTicket } from "../../core/token/Ticket.ts"
import { type AccessToken, open, openAny, seal, type Token } from "../../core/token/Token.ts"
import { scopes } from "../grant/given.ts"

const key = (byte: number) => sealKey(new Uint8Array(32).fill(byte))
const sealer = makeSealer([key(1)])
const now = Instant.make(1_900_000_000_000)
const expiresAt = Instant.make(now + 1000)
const grant = GrantId.make("abcdefghijklmnopqrstuw")

const access: AccessToken = {
  kind: "access",
  grant,
  expiresAt,
  epoch: 0,
  serial: "0123456789abcdef",
  scope: scopes("api"),
  resource: null
}
const tokens: ReadonlyArray<Token> = [
  { kind: "code", grant, expiresAt },
  { kind: "refresh", grant, expiresAt, generation: 7 },
  access,
  { ...access, scope: null }
]

describe("a sealed token", () => {
  for (const token of tokens) {
    const text = seal(sealer, "home", token)
    const opened = (what: string, at = now, by = sealer, where = "home") => openAny(by, where, what, at)

    test(`${token.kind}: opens to what was sealed, by its own kind only`, () => {
      expect(opened(text)).toEqual(Result.succeed(token))
      for (const kind of ["code", "access", "refresh"] as const) {
        const expected = kind === token.kind ? Result.succeed(token) : Result.fail("wrong_kind" as const)
        expect<unknown>(open(sealer, "home", kind, text, now)).toEqual(expected)
      }
    })

    test(`${token.kind}: opens in no other workspace and by no other ring`, () => {
      expect(opened(text, now, sealer, "other")).toEqual(Result.fail("forged"))
      expect(opened(text, now, makeSealer([key(2)]))).toEqual(Result.fail("unknown_key"))
    })

    test(`${token.kind}: no change of one character opens, nor any cut, even with a right checksum`, () => {
      for (let at = 0; at < text.length - 6; at++) {
        const changed = text.slice(0, at) + (text[at] === "A" ? "B" : "A") + text.slice(at + 1)
        expect(Result.isFailure(opened(changed))).toBe(true)
        expect(Result.isFailure(opened(withChecksum(changed.slice(0, -6))))).toBe(true)
        expect(Result.isFailure(opened(withChecksum(text.slice(0, at))))).toBe(true)
        expect(Result.isFailure(opened(text.slice(0, at)))).toBe(true)
      }
    })

    test(`${token.kind}: no other prefix makes it another kind`, () => {
      for (const prefix of ["tsr_ac_", "tsr_at_", "tsr_rt_", "tsr_xx_"]) {
        if (text.startsWith(prefix)) continue
        expect(opened(withChecksum(prefix + text.slice(7, -6)))).toEqual(Result.fail("malformed"))
      }
    })
  }

  test("has one text: spare bits, padding and white space do not make another", () => {
    const text = seal(sealer, "home", { kind: "code", grant, expiresAt })
    const payload = text.slice(7, -6)
    const bytes = Result.getOrThrow(Base64Url.decode(payload))
    expect(bytes.length % 3).not.toBe(0)
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    const lastAt = alphabet.indexOf(payload.slice(-1))
    const twin = payload.slice(0, -1) + (alphabet[lastAt ^ 1] ?? "")
    for (const other of [twin, `${payload}=`, ` ${payload}`, `${payload}\n`]) {
      expect(Result.isFailure(openAny(sealer, "home", withChecksum(`tsr_ac_${other}`), now))).toBe(true)
    }
  })

  test("is not looked at beyond a length that no token has", () => {
    expect(openAny(sealer, "home", withChecksum(`tsr_at_${"A".repeat(5000)}`), now)).toEqual(Result.fail("malformed"))
    for (const odd of ["", "tsr_at_", "x", withChecksum("tsr_at_"), withChecksum(`tsr_at_${"A".repeat(84)}`)]) {
      expect(openAny(sealer, "home", odd, now)).toEqual(Result.fail("malformed"))
    }
  })

  test("expires at its last moment", () => {
    const text = seal(sealer, "home", access)
    expect(Result.isSuccess(openAny(sealer, "home", text, Instant.make(expiresAt - 1)))).toBe(true)
    expect(openAny(sealer, "home", text, expiresAt)).toEqual(Result.fail("expired"))
  })

  test("keeps an expiry beyond 32 bits to the millisecond", () => {
    const late = Instant.make(2 ** 47 + 4_294_967_295)
    const text = seal(sealer, "home", { kind: "code", grant, expiresAt: late })
    expect(openAny(sealer, "home", text, now)).toEqual(Result.succeed({ kind: "code", grant, expiresAt: late }))
  })
})

describe("the key ring", () => {
  test("opens what any of its keys sealed, and seals with the first", () => {
    const old = seal(makeSealer([key(1)]), "home", access)
    const turned: KeyRing = [key(2), key(1)]
    expect(Result.isSuccess(openAny(makeSealer(turned), "home", old, now))).toBe(true)
    expect(seal(makeSealer(turned), "home", access)).toBe(seal(makeSealer([key(2)]), "home", access))
    expect(seal(makeSealer(turned), "home", access, key(1))).toBe(old)
    expect(openAny(makeSealer([key(2)]), "home", old, now)).toEqual(Result.fail("unknown_key"))
  })

  test("is read from base64url texts of 32 bytes, each once", () => {
    const text = (byte: number, length = 32) => Base64Url.encode(new Uint8Array(length).fill(byte))
    const read = (ring: string) => Result.map(parseKeyRing(Redacted.make(ring)), (keys) => keys.map((one) => one.id))
    expect(read(`${text(1)}, ${text(2)}`)).toEqual(Result.succeed([key(1).id, key(2).id]))
    const fault = (message: string) => Result.fail(new BadSealKey({ message }))
    expect(read("")).toEqual(fault("seal key 1 is not 32 bytes of base64url"))
    expect(read(`${text(1)},${text(2, 31)}`)).toEqual(fault("seal key 2 is not 32 bytes of base64url"))
    expect(read(`${text(1)},${text(1)}`)).toEqual(fault("seal key 2 repeats an earlier one"))
    expect(read("not base64!")).toEqual(fault("seal key 1 is not 32 bytes of base64url"))
  })

  test("prints no key", () => {
    const printed = `${JSON.stringify(key(7))} ${String(key(7).bytes)}`
    expect(printed).not.toContain("7,7,7")
    expect(Keys.layer([key(1)])).toBeDefined()
  })

  test("derives different MACs for different purposes and workspaces", () => {
    const data = new Uint8Array([1, 2, 3])
    const purposes = ["token", "ticket", "form", "session"] as const
    const macs = purposes.flatMap((purpose) =>
      ["a", "b"].map((workspace) => Base64Url.encode(sealer.mac(sealer.first, workspace, purpose, data)))
    )
    expect(new Set(macs).size).toBe(8)
    expect(Base64Url.encode(sealer.mac(sealer.first, "a", "token", data))).toBe(macs[0] ?? "")
  })
})

describe("a consent page's ticket", () => {
  const binding = { session: "s", user: "alice", request: "client_id=x" }
  const text = sealTicket(sealer, "home", grant, expiresAt, binding)

  test("opens for the session, person and request that it was made for, until it expires", () => {
    expect(openTicket(sealer, "home", text, binding, now)).toEqual(Result.succeed(grant))
    expect(openTicket(sealer, "home", text, binding, expiresAt)).toEqual(Result.fail("expired"))
    const turned = makeSealer([key(2), key(1)])
    expect(openTicket(turned, "home", text, binding, now)).toEqual(Result.succeed(grant))
  })

  test("opens for nothing else", () => {
    const refused = Result.fail("ticket" as const)
    for (const other of [
      { ...binding, session: "t" },
      { ...binding, user: "bob" },
      { ...binding, request: "client_id=y" }
    ]) {
      expect(openTicket(sealer, "home", text, other, now)).toEqual(refused)
    }
    expect(openTicket(sealer, "other", text, binding, now)).toEqual(refused)
    expect(openTicket(makeSealer([key(2)]), "home", text, binding, now)).toEqual(refused)
    for (const bad of ["", "!", text.slice(0, -2), `${text}AA`])
      expect(openTicket(sealer, "home", bad, binding, now)).toEqual(refused)
    const bytes = Result.getOrThrow(Base64Url.decode(text))
    for (let at = 0; at < bytes.length; at++) {
      const changed = bytes.slice()
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(openTicket(sealer, "home", Base64Url.encode(changed), binding, now)).toEqual(refused)
    }
  })

  test("keeps apart what only runs together", () => {
    const shifted = { session: "sa", user: "lice", request: "client_id=x" }
    expect(openTicket(sealer, "home", text, shifted, now)).toEqual(Result.fail("ticket"))
  })
})

describe("a form's hidden field", () => {
  test("fits its session and workspace, by any key of the ring", () => {
    const field = csrfField(sealer, "home", "s")
    expect(isCsrfField(sealer, "home", "s", field)).toBe(true)
    expect(isCsrfField(makeSealer([key(2), key(1)]), "home", "s", field)).toBe(true)
    for (const [where, session, text] of [
      ["home", "t", field],
      ["other", "s", field],
      ["home", "s", `${field}x`],
      ["home", "s", ""],
      ["home", "s", "."]
    ] as const) {
      expect(isCsrfField(sealer, where, session, text)).toBe(false)
    }
    expect(isCsrfField(makeSealer([key(2)]), "home", "s", field)).toBe(false)
  })
})
