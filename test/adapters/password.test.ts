import { describe, expect, test } from "bun:test"
import { argon2id } from "@noble/hashes/argon2.js"
import { Effect, Logger, Option, Redacted } from "effect"
import { type Argon2id, readPhc, standardCost, writePhc } from "../../adapters/password/Argon2id.ts"
import { bun } from "../../adapters/password/bun.ts"
import { noble } from "../../adapters/password/noble.ts"
import { node } from "../../adapters/password/node.ts"
import { fastest, layer } from "../../adapters/password/Password.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { PasswordHasher } from "../../core/ports/PasswordHasher.ts"

const utf8 = new TextEncoder()
const here: ReadonlyArray<Argon2id> = [bun, node, noble].filter((one) => one !== undefined)
const salt = Uint8Array.from({ length: 16 }, (_, index) => index)

const withHasher = <A, E>(body: (hasher: PasswordHasher["Service"]) => Effect.Effect<A, E>) =>
  Effect.runPromise(
    Effect.flatMap(PasswordHasher, body).pipe(
      Effect.provide(layer),
      Effect.provide(Entropy.layer),
      Effect.provide(Logger.layer([Logger.make(() => undefined)]))
    )
  )

/** What JavaScript can do a few dozen times while a person waits. */
const small = { memory: 64, passes: 3, lanes: 1 } as const

const secret = (text: string) => Redacted.make(text)

describe("Argon2id", () => {
  test("is the runtime's own where it has one", () => {
    expect(here.map(({ name }) => name)).toEqual(["bun", "node", "noble"])
    expect(fastest.name).toBe("bun")
  })

  for (const writer of here) {
    for (const reader of here) {
      test(`by ${writer.name} is verified by ${reader.name}`, async () => {
        for (const password of ["correct horse battery", "pässwörd ✓ \u0000 end", "a".repeat(1024)]) {
          const hash = await writer.hash(utf8.encode(password), small, salt)
          expect(hash).toMatch(/^\$argon2id\$v=19\$m=64,t=3,p=1\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/)
          expect(await reader.verify(utf8.encode(password), hash)).toBe(true)
          expect(await reader.verify(utf8.encode(`${password}x`), hash)).toBe(false)
        }
      })
    }
  }

  for (const one of here) {
    test(`by ${one.name} costs what OWASP asks for, and says so`, async () => {
      const hash = await one.hash(utf8.encode("correct horse battery"), standardCost, salt)
      expect(hash).toStartWith("$argon2id$v=19$m=19456,t=2,p=1$")
      expect(await fastest.verify(utf8.encode("correct horse battery"), hash)).toBe(true)
    })
  }

  for (const one of here.filter(({ name }) => name !== "bun")) {
    test(`by ${one.name} takes no password for what is no hash of its kind`, async () => {
      for (const hash of [
        "",
        "password",
        "$argon2id$v=19$m=64,t=3,p=1$AAAA$AAAA",
        "$argon2i$v=19$m=64,t=3,p=1$AAAA$AAAA"
      ]) {
        expect([hash, await one.verify(utf8.encode("password"), hash)]).toEqual([hash, false])
      }
    })
  }

  test("is the function that RFC 9106 defines", async () => {
    // The reference implementation's own vector (phc-winner-argon2, src/test.c).
    const hash = "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
    for (const one of here) expect(await one.verify(utf8.encode("password"), hash)).toBe(true)
  })

  for (const one of here) {
    test(`by ${one.name} is verified to the last bit`, async () => {
      const password = utf8.encode("correct horse battery")
      const phc = Option.getOrThrow(readPhc(await one.hash(password, small, salt)))
      expect(await one.verify(password, writePhc(phc))).toBe(true)
      for (const at of [0, 15, 31]) {
        for (const bit of [1, 128]) {
          const tag = phc.tag.map((byte, index) => (index === at ? byte ^ bit : byte))
          expect([at, bit, await one.verify(password, writePhc({ ...phc, tag }))]).toEqual([at, bit, false])
        }
      }
    })
  }

  test("is hashed with a new salt each time", () =>
    withHasher(
      Effect.fnUntraced(function* (hasher) {
        const [a, b] = [yield* hasher.hash(secret("one password")), yield* hasher.hash(secret("one password"))]
        expect(a).not.toBe(b)
        expect(yield* hasher.verify(secret("one password"), a)).toBe(true)
        expect(yield* hasher.verify(secret("one password"), b)).toBe(true)
      })
    ))
})

describe("a stored hash", () => {
  test("survives being read and written", () => {
    const tag = argon2id("password", salt, { t: 1, m: 8, p: 1, dkLen: 32 })
    const phc = { cost: { memory: 8, passes: 1, lanes: 1 }, salt, tag } as const
    expect(Option.getOrThrow(readPhc(writePhc(phc)))).toEqual(phc)
  })

  test("that is none, or another kind's, or absurdly dear fits nothing, and is never computed", () =>
    withHasher(
      Effect.fnUntraced(function* (hasher) {
        const good = yield* hasher.hash(secret("password"))
        const others = [
          "",
          "password",
          // Of a length that base64 never has, and too short.
          good.slice(0, -2),
          good.slice(0, -28),
          good.replace("argon2id", "argon2i"),
          good.replace("v=19", "v=16"),
          good.replace("m=19456", "m=99999999"),
          good.replace("m=19456", "m=0"),
          good.replace("t=2", "t=1000"),
          good.replace("p=1", "p=4"),
          `${good}=`,
          `${good}\n`,
          "$2b$10$abcdefghijklmnopqrstuuJ1Xq1Jr3hP7sE2y1Z0Y0Y0Y0Y0Y0Y0Y"
        ]
        for (const hash of others) {
          expect(yield* hasher.verify(secret("password"), hash)).toBe(false)
          expect(hasher.isOutdated(hash)).toBe(true)
        }
      })
    ))

  test("is outdated once it costs less than a fresh one, and not before", () =>
    withHasher(
      Effect.fnUntraced(function* (hasher) {
        const fresh = yield* hasher.hash(secret("password"))
        expect(hasher.isOutdated(fresh)).toBe(false)
        expect(hasher.isOutdated(fresh.replace("m=19456", "m=19455"))).toBe(true)
        expect(hasher.isOutdated(fresh.replace("t=2", "t=1"))).toBe(true)
        expect(hasher.isOutdated(fresh.replace("t=2", "t=3"))).toBe(false)
      })
    ))

  test("of no account costs what a fresh one does, and nothing fits it", () =>
    withHasher(
      Effect.fnUntraced(function* (hasher) {
        expect(Option.getOrThrow(readPhc(hasher.decoy)).cost).toEqual(standardCost)
        expect(hasher.isOutdated(hasher.decoy)).toBe(false)
        expect(yield* hasher.verify(secret("nothing"), hasher.decoy)).toBe(false)
      })
    ))
})
