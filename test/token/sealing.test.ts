import { describe, expect, test } from "bun:test"
import { createHmac } from "node:crypto"
import { Effect, Redacted, Result } from "effect"
import { Base64Url } from "effect/encoding"
import { csrfField, isCsrfField } from "../../core/http/csrf.ts"
import { openTicket, readerOf, sealTicket, type Ticket } from "../../core/request/Ticket.ts"
import { authorizationRequestIdOf, clientIdOf, GrantId, UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { RedirectTarget } from "../../core/rules/RedirectUri.ts"
import { allScopes, standardScopes } from "../../core/rules/Scope.ts"
import {
  BadSealKey,
  type KeyRing,
  Keys,
  makeSealer,
  type Place,
  parseKeyRing,
  type SealKey,
  type SealPurpose,
  sealKey
} from "../../core/token/KeyRing.ts"
import {
  type AccessToken,
  open,
  openAny,
  openReference,
  openToRevoke,
  seal,
  tokens as sealedTokens,
  sealReference,
  type Token
} from "../../core/token/Token.ts"
import { workspacesKept } from "../../core/workspace/Workspace.ts"
import { withChecksum } from "../given/withChecksum.ts"
import { scopes } from "../grant/given.ts"

const key = (byte: number) => sealKey(new Uint8Array(32).fill(byte))
const sealer = makeSealer([key(1)])
const home: Place = { id: "home", issuer: "https://auth.example.com" }
const other: Place = { ...home, id: "other" }
const staging: Place = { ...home, issuer: "https://staging.example.com" }

/** The same key, and a note of every time that its bytes are asked for. */
const watching = (of: SealKey, asked: Array<string>): SealKey => ({
  id: of.id,
  idBytes: of.idBytes,
  get bytes() {
    asked.push(of.id)
    return of.bytes
  }
})
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
  resources: null,
  binding: null,
  actors: null
}
const tokens: ReadonlyArray<Token> = [
  { kind: "code", grant, expiresAt },
  { kind: "refresh", grant, expiresAt, generation: 7 },
  access,
  { ...access, scope: null },
  { ...access, binding: { thumbprint: "ASNFZ4mrze8BI0VniavN7wEjRWeJq83vASNFZ4mrze8" } }
]

describe("a sealed token", () => {
  for (const token of tokens) {
    const text = seal(sealer, home, token)
    const opened = (what: string, at = now, by = sealer, where = home) => openAny(by, where, what, at)

    test(`${token.kind}: opens to what was sealed, by its own kind only`, () => {
      expect(opened(text)).toEqual(Result.succeed(token))
      for (const kind of ["code", "access", "refresh"] as const) {
        const expected = kind === token.kind ? Result.succeed(token) : Result.fail("wrong_kind" as const)
        expect<unknown>(open(sealer, home, kind, text, now)).toEqual(expected)
      }
    })

    test(`${token.kind}: opens in no other workspace and by no other ring`, () => {
      expect(opened(text, now, sealer, staging)).toEqual(Result.fail("forged"))
      expect(opened(text, now, sealer, other)).toEqual(Result.fail("forged"))
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
    const text = seal(sealer, home, { kind: "code", grant, expiresAt })
    const payload = text.slice(7, -6)
    const bytes = Result.getOrThrow(Base64Url.decode(payload))
    expect(bytes.length % 3).not.toBe(0)
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    const lastAt = alphabet.indexOf(payload.slice(-1))
    const twin = payload.slice(0, -1) + (alphabet[lastAt ^ 1] ?? "")
    for (const other of [twin, `${payload}=`, ` ${payload}`, `${payload}\n`]) {
      expect(Result.isFailure(openAny(sealer, home, withChecksum(`tsr_ac_${other}`), now))).toBe(true)
    }
  })

  test("is not looked at beyond a length that no token has", () => {
    expect(openAny(sealer, home, withChecksum(`tsr_at_${"A".repeat(9000)}`), now)).toEqual(Result.fail("malformed"))
    for (const odd of ["", "tsr_at_", "x", withChecksum("tsr_at_"), withChecksum(`tsr_at_${"A".repeat(84)}`)]) {
      expect(openAny(sealer, home, odd, now)).toEqual(Result.fail("malformed"))
    }
  })

  test("expires at its last moment", () => {
    const text = seal(sealer, home, access)
    expect(Result.isSuccess(openAny(sealer, home, text, Instant.make(expiresAt - 1)))).toBe(true)
    expect(openAny(sealer, home, text, expiresAt)).toEqual(Result.fail("expired"))
  })

  test("opens whatever its MAC begins with, a claim's tag too", () => {
    const begins = new Set<number>()
    for (let at = 0; at < 3000; at++) {
      const token = { ...access, scope: null, epoch: at }
      const text = seal(sealer, home, token)
      begins.add(Result.getOrThrow(Base64Url.decode(text.slice(7, -6))).at(-32) ?? 0)
      expect(openAny(sealer, home, text, now)).toEqual(Result.succeed(token))
    }
    for (const tag of [1, 2, 3, 4, 5]) expect(begins).toContain(tag)
  })

  test("opens for revoking as long after its expiry as its last access token may live, if it refreshes", () => {
    const accessTtl = 3_600_000
    for (const token of tokens) {
      const over = Instant.make(expiresAt + (token.kind === "refresh" ? accessTtl : 0))
      const text = seal(sealer, home, token)
      const opened = (at: number) => openToRevoke(sealer, home, text, Instant.make(at), accessTtl)
      expect(opened(over - 1)).toEqual(Result.succeed(token))
      expect(opened(over)).toEqual(Result.fail("expired"))
    }
  })

  test("within a JWT opens there alone, and no token of its own opens there", () => {
    const reference = sealReference(sealer, home, access)
    const opened = (text: string, at = now) => openReference(sealer, home, text, at)
    expect(opened(reference)).toEqual(Result.succeed(access))
    expect(opened(reference, Instant.make(expiresAt - 1))).toEqual(Result.succeed(access))
    expect(opened(reference, expiresAt)).toEqual(Result.fail("expired"))
    expect(openReference(sealer, other, reference, now)).toEqual(Result.fail("forged"))
    for (const token of tokens) {
      const { prefix } = sealedTokens[token.kind]
      const text = seal(sealer, home, token)
      for (const odd of [text, withChecksum(text.slice(prefix.length, -6))]) {
        expect(Result.isFailure(opened(odd))).toBe(true)
      }
      const borne = withChecksum(prefix + reference.slice(0, -6))
      for (const odd of [reference, borne]) expect(openAny(sealer, home, odd, now)).toEqual(Result.fail("malformed"))
    }
  })

  test("keeps an expiry beyond 32 bits to the millisecond", () => {
    const late = Instant.make(2 ** 47 + 4_294_967_295)
    const text = seal(sealer, home, { kind: "code", grant, expiresAt: late })
    expect(openAny(sealer, home, text, now)).toEqual(Result.succeed({ kind: "code", grant, expiresAt: late }))
  })
})

describe("a body that a key of ours sealed, and no release ever wrote", () => {
  /** Bytes as FORMAT.md has them, under a right MAC and checksum. */
  const forge = (change: (body: Uint8Array) => Uint8Array, token: Token = access, prefix = "tsr_at_") => {
    const payload = Result.getOrThrow(Base64Url.decode(seal(sealer, home, token).slice(7, -6)))
    const body = change(payload.slice(0, -32))
    const mac = sealer.mac(sealer.first, home, "token", body)
    return openAny(sealer, home, withChecksum(prefix + Base64Url.encode(new Uint8Array([...body, ...mac]))), now)
  }
  const put =
    (at: number, ...bytes: ReadonlyArray<number>) =>
    (body: Uint8Array) => {
      const changed = body.slice()
      changed.set(bytes, at)
      return changed
    }
  const withClaims =
    (...claims: ReadonlyArray<number>) =>
    (body: Uint8Array) =>
      new Uint8Array([...body.slice(0, 32), ...claims])
  const serial = [1, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]
  const malformed = Result.fail("malformed" as const)

  test("is read where it has a form that there is", () => {
    expect(forge((body) => body)).toEqual(Result.succeed(access))
    expect(Result.getOrThrow(forge(withClaims(...serial)))).toMatchObject({ serial: "0102030405060708", scope: null })
    expect(Result.getOrThrow(forge(withClaims(...serial, 3, 0, 1, 0x78)))).toMatchObject({ resources: ["x"] })
    const bound = forge(withClaims(...serial, 4, 0, 32, ...Array(32).fill(0)))
    expect(Result.getOrThrow(bound)).toMatchObject({ binding: { thumbprint: "A".repeat(43) } })
  })

  test("is refused with another version or kind", () => {
    for (const version of [0, 2, 255]) expect(forge(put(0, version))).toEqual(malformed)
    for (const kind of [0, 1, 3, 4, 255]) expect(forge(put(5, kind))).toEqual(malformed)
  })

  test("is refused with claims that repeat, descend, are unknown, or end behind the body", () => {
    for (const claims of [
      [...serial, ...serial],
      [2, 0, 3, 0x61, 0x70, 0x69, ...serial],
      [0, 0, 0, ...serial],
      [...serial, 4, 0, 0],
      [...serial, 5, 0, 0],
      [...serial, 5, 0, 1, 0x78],
      [...serial, 4, 0, 31, ...Array(31).fill(1)],
      [...serial, 2, 0, 3, 0x61, 0x70],
      [...serial, 2, 0],
      [...serial, 2],
      [...serial, 2, 0, 3, 0x61, 0x70, 0x69, 2, 0, 3, 0x61, 0x70, 0x69]
    ]) {
      expect([claims, forge(withClaims(...claims))]).toEqual([claims, malformed])
    }
  })

  test("is refused as an access token without a serial of eight bytes", () => {
    for (const claims of [[], [2, 0, 3, 0x61, 0x70, 0x69], [1, 0, 7, 1, 2, 3, 4, 5, 6, 7], [1, 0, 0]]) {
      expect(forge(withClaims(...claims))).toEqual(malformed)
    }
  })

  test("is refused with scopes that no registry has: repeated, in odd bytes", () => {
    for (const scope of [[0x61, 0x20, 0x61], [0xff], [0x22]]) {
      expect(forge(withClaims(...serial, 2, 0, scope.length, ...scope))).toEqual(malformed)
    }
  })

  test("is refused as a code with a number or claims, as a refresh token with claims", () => {
    const code: Token = { kind: "code", grant, expiresAt }
    const refresh: Token = { kind: "refresh", grant, expiresAt, generation: 7 }
    expect(Result.isSuccess(forge((body) => body, code, "tsr_ac_"))).toBe(true)
    expect(forge(put(25, 1), code, "tsr_ac_")).toEqual(malformed)
    expect(forge(withClaims(...serial), code, "tsr_ac_")).toEqual(malformed)
    expect(Result.isSuccess(forge((body) => body, refresh, "tsr_rt_"))).toBe(true)
    expect(forge(withClaims(...serial), refresh, "tsr_rt_")).toEqual(malformed)
  })

  test("is refused when it is shorter than a head", () => {
    for (const length of [0, 1, 31]) expect(forge((body) => body.slice(0, length))).toEqual(malformed)
  })

  test("is not looked at beyond 8192 characters, a right seal or not", () => {
    const padded = (length: number) =>
      forge(withClaims(...serial, 3, length >> 8, length & 255, ...Array(length).fill(65)))
    expect(Result.isSuccess(padded(6000))).toBe(true)
    expect(padded(6200)).toEqual(malformed)
  })
})

/** Every purpose: one that is left out does not compile. */
const purposes = Object.keys({
  token: true,
  ticket: true,
  request: true,
  device: true,
  user_code: true,
  form: true,
  session: true,
  sender: true,
  signing: true,
  stamp: true,
  nonce: true,
  client: true,
  secret: true,
  registration: true
} satisfies { readonly [purpose in SealPurpose]: true }) as ReadonlyArray<SealPurpose>

/** A MAC under what `key(1)` is derived to by these words, by another library. */
const derived = (words: string, data: Uint8Array): string => {
  const under = createHmac("sha256", new Uint8Array(32).fill(1)).update(words).digest()
  return createHmac("sha256", under).update(data).digest("base64url")
}

describe("the key ring", () => {
  test("opens what any of its keys sealed, and seals with the first", () => {
    const old = seal(makeSealer([key(1)]), home, access)
    const turned: KeyRing = [key(2), key(1)]
    expect(Result.isSuccess(openAny(makeSealer(turned), home, old, now))).toBe(true)
    expect(seal(makeSealer(turned), home, access)).toBe(seal(makeSealer([key(2)]), home, access))
    expect(seal(makeSealer(turned), home, access, key(1))).toBe(old)
    expect(openAny(makeSealer([key(2)]), home, old, now)).toEqual(Result.fail("unknown_key"))
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
    expect(new BadSealKey({ message: "x" })).toMatchObject({ _tag: "BadSealKey", message: "x" })
  })

  test("prints no key", () => {
    const printed = `${JSON.stringify(key(7))} ${String(key(7).bytes)}`
    expect(printed).not.toContain("7,7,7")
  })

  test("is a service that can be asked for the keys of the moment", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const keys = yield* Keys
        expect(keys.current().first.id).toBe(key(1).id)
        expect(Result.isSuccess(openAny(keys.current(), home, seal(sealer, home, access), now))).toBe(true)
      }).pipe(Effect.provide(Keys.layer([key(1)])))
    ))

  test("keeps the derived keys of ten thousand workspaces in turn, and lets go of those not used lately", () => {
    const asked: Array<string> = []
    const watched = makeSealer([watching(key(1), asked)])
    const data = new Uint8Array([1])
    const macIn = (id: string) => Base64Url.encode(watched.mac(watched.first, { ...home, id }, "token", data))
    const first = macIn("w0")
    for (let round = 0; round < 2; round++) for (let at = 0; at < 10_000; at++) macIn(`w${at}`)
    expect([macIn("w0"), asked.length]).toEqual([first, 10_000])
    for (let at = 10_000; at < 10_000 + workspacesKept; at++) macIn(`w${at}`)
    const before = asked.length
    expect([macIn("w0"), asked.length]).toEqual([first, before + 1])
  })

  test("derives a MAC for each purpose, workspace and issuer, as FORMAT.md has it", () => {
    const fresh = makeSealer([key(1)])
    const data = new Uint8Array([1, 2, 3])
    const macs = purposes.flatMap((purpose) =>
      [home, other, staging].map((place) => {
        const mac = Base64Url.encode(fresh.mac(fresh.first, place, purpose, data))
        expect([purpose, mac]).toEqual([purpose, derived(`tessera 2 ${purpose} ${place.id} ${place.issuer}`, data)])
        return mac
      })
    )
    expect(new Set(macs).size).toBe(3 * purposes.length)
    expect(Base64Url.encode(fresh.mac(fresh.first, home, "token", data))).toBe(macs[0] ?? "")
  })

  test("opens what an earlier release sealed only where one may have, and seals nothing so", () => {
    const data = new Uint8Array([1, 2, 3])
    const sealer = makeSealer([key(1)])
    const since: Place = { ...home, sealedBefore: true }
    expect(sealer.before(sealer.first, home, "token")).toBeUndefined()
    expect(sealer.before(sealer.first, { ...home, sealedBefore: false }, "token")).toBeUndefined()
    for (const purpose of purposes) {
      const before = sealer.before(sealer.first, since, purpose)
      expect(Base64Url.encode(before?.of(data) ?? new Uint8Array())).toBe(derived(`tessera 1 ${purpose} home`, data))
      expect(sealer.mac(sealer.first, since, purpose, data)).toEqual(sealer.mac(sealer.first, home, purpose, data))
    }
    const field = `${sealer.first.id}.${Base64Url.encode(sealer.before(sealer.first, since, "form")?.of(new TextEncoder().encode("s")) ?? data)}`
    expect([isCsrfField(sealer, since, "s", field), isCsrfField(sealer, home, "s", field)]).toEqual([true, false])
    expect(isCsrfField(sealer, since, "t", field)).toBe(false)
  })
})

describe("a consent page's ticket", () => {
  const ticket: Ticket = {
    reader: readerOf({ session: "s", user: UserId.make("alice") }),
    request: {
      _tag: "Waiting",
      id: authorizationRequestIdOf(new Uint8Array(16).fill(7)),
      client: clientIdOf(new Uint8Array(16).fill(8)),
      expiresAt,
      to: { _tag: "Redirect", target: RedirectTarget.make("https://app.example/cb"), state: "a%20b" },
      scope: allScopes(standardScopes),
      scopeByDefault: true,
      resources: null,
      challenge: null
    },
    shown: { name: '\u00e9\ud800"', madeBy: "itself" }
  }
  const text = sealTicket(sealer, home, ticket)

  test("brings back what was sealed, by any key of the ring, however long that is", () => {
    expect(openTicket(sealer, home, text)).toEqual(ticket)
    expect(openTicket(makeSealer([key(2), key(1)]), home, text)).toEqual(ticket)
    const long = {
      ...ticket,
      request: { ...ticket.request, to: { ...ticket.request.to, state: "x".repeat(12 * 1024) } }
    }
    expect(openTicket(sealer, home, sealTicket(sealer, home, long))).toEqual(long)
  })

  test("opens for nothing else", () => {
    expect(openTicket(sealer, other, text)).toBeUndefined()
    expect(openTicket(sealer, staging, text)).toBeUndefined()
    expect(openTicket(makeSealer([key(2)]), home, text)).toBeUndefined()
    for (const bad of ["", "!", text.slice(0, -2), `${text}AA`, text.slice(0, 49)]) {
      expect(openTicket(sealer, home, bad)).toBeUndefined()
    }
    const bytes = Result.getOrThrow(Base64Url.decode(text))
    for (let at = 0; at < bytes.length; at++) {
      const changed = bytes.slice()
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(openTicket(sealer, home, Base64Url.encode(changed))).toBeUndefined()
    }
  })

  /** A ticket made by hand, under a MAC of ours. */
  const forge = (purpose: "ticket" | "form", version: number, body: unknown) => {
    const head = new Uint8Array([version, ...sealer.first.idBytes, ...Buffer.from(JSON.stringify(body))])
    const mac = sealer.mac(sealer.first, home, purpose, head)
    return openTicket(sealer, home, Base64Url.encode(new Uint8Array([...head, ...mac])))
  }

  test("is version, key, the ticket as JSON, and a MAC made for tickets over these", () => {
    expect(forge("ticket", 5, ticket)).toEqual(ticket)
    expect(forge("form", 5, ticket)).toBeUndefined()
    for (const version of [0, 1, 2, 6]) expect(forge("ticket", version, ticket)).toBeUndefined()
    // Earlier ones were always answered by a redirect, and before that were for one resource at most.
    const { resources: _, to, ...request } = ticket.request
    const { _tag, ...redirect } = to
    for (const resource of [null, "https://auth.example.com/rest"]) {
      const resources = resource === null ? null : [resource]
      const same = { ...ticket, request: { ...request, to, resources } }
      for (const [version, kept] of [
        [3, { resource }],
        [4, { resources }]
      ] as const) {
        const opened: unknown = forge("ticket", version, { ...ticket, request: { ...request, ...redirect, ...kept } })
        expect(opened).toEqual(same)
      }
    }
    for (const body of [null, {}, { ...ticket, reader: "" }, { ...ticket, request: { ...ticket.request, to: 7 } }]) {
      for (const version of [3, 4, 5]) expect(forge("ticket", version, body)).toBeUndefined()
    }
  })

  test("tells readers apart, also where their names only run together", () => {
    const readers = [
      ["s", "alice"],
      ["t", "alice"],
      ["s", "bob"],
      ["sa", "lice"]
    ].map(([session = "", user = ""]) => readerOf({ session, user: UserId.make(user) }))
    expect(new Set(readers).size).toBe(4)
  })
})

describe("a form's hidden field", () => {
  test("fits its session and workspace, by any key of the ring", () => {
    const field = csrfField(sealer, home, "s")
    expect(isCsrfField(sealer, home, "s", field)).toBe(true)
    expect(isCsrfField(makeSealer([key(2), key(1)]), home, "s", field)).toBe(true)
    for (const [where, session, text] of [
      [home, "t", field],
      [other, "s", field],
      [staging, "s", field],
      [home, "s", `${field}x`],
      [home, "s", ""],
      [home, "s", "."]
    ] as const) {
      expect(isCsrfField(sealer, where, session, text)).toBe(false)
    }
    expect(isCsrfField(makeSealer([key(2)]), home, "s", field)).toBe(false)
  })

  test("is the key's id and a MAC made for forms", () => {
    const mac = sealer.mac(sealer.first, home, "form", new TextEncoder().encode("s"))
    expect(csrfField(sealer, home, "s")).toBe(`${sealer.first.id}.${Base64Url.encode(mac)}`)
  })
})
