import { describe, expect, test } from "bun:test"
import { Deferred, Effect, Fiber, Option, Redacted, Result } from "effect"
import { noble } from "../../adapters/password/noble.ts"
import { isActive, normaliseEmail, passwordBytes } from "../../core/people/Account.ts"
import { fitPassword, makePasswords } from "../../core/people/Passwords.ts"
import { SignInThrottle } from "../../core/people/SignInThrottle.ts"
import { makeSignIn } from "../../core/people/signIn.ts"
import type { UserId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { Overloaded } from "../../core/rules/Refusal.ts"
import { addAccount, Browser, cheap, type House, inHouse, secret } from "./House.ts"

/** Composed in a way that NFKC takes apart. */
const typed = "ﬁne café №1 long enough"

const stored = (house: House, id: UserId) =>
  Effect.map(
    house.accounts.book.find(house.workspace.id, id),
    (account) => Option.getOrUndefined(Option.filter(account, isActive))?.password
  )

describe("a password of an earlier release", () => {
  const cost = { memory: 16, passes: 2, lanes: 1 } as const

  test("is hashed anew when its owner signs in, and works as before", () =>
    inHouse(
      Effect.fnUntraced(function* (house) {
        const { id } = yield* addAccount(house)
        const bytes = new TextEncoder().encode(typed.normalize("NFKC"))
        const old = yield* Effect.promise(() => noble.hash(bytes, cheap, new Uint8Array(16)))
        yield* house.accounts.book.change(house.workspace.id, id, (account) =>
          Option.some({ ...account, password: old })
        )

        yield* new Browser(house).signIn("ada@example.com", "not the password")
        expect(yield* stored(house, id)).toBe(old)
        expect((yield* new Browser(house).signIn("ada@example.com", typed)).status).toBe(303)
        const fresh = yield* stored(house, id)
        expect(fresh).toStartWith("$argon2id$v=19$m=16,t=2,p=1$")
        const { hash } = house.hashed
        expect((yield* new Browser(house).signIn("ada@example.com", typed)).status).toBe(303)
        expect([yield* stored(house, id), house.hashed.hash]).toEqual([fresh, hash])
      }),
      { cost }
    ))

  test("ends no session by being hashed anew", () =>
    inHouse(
      Effect.fnUntraced(function* (house) {
        const { id } = yield* addAccount(house)
        const browser = new Browser(house)
        yield* browser.signIn()
        const bytes = new TextEncoder().encode("correct horse battery")
        const old = yield* Effect.promise(() => noble.hash(bytes, cheap, new Uint8Array(16)))
        yield* house.accounts.book.change(house.workspace.id, id, (account) =>
          Option.some({ ...account, password: old })
        )
        yield* new Browser(house).signIn()
        expect((yield* browser.get("/settings/profile")).status).toBe(200)
      }),
      { cost }
    ))
})

describe("what may become a password", () => {
  const email = Option.getOrThrow(normaliseEmail("ada.lovelace@example.com"))
  const faultOf = (text: string) =>
    Option.getOrUndefined(Result.getFailure(fitPassword(secret(text), email, 10)))?.reason

  test("has as many characters as it takes, however many bytes they are, and not too many bytes", () => {
    expect(faultOf("0123456789")).toBeUndefined()
    expect(faultOf("012345678")).toBe("password_too_short")
    // Five that people count, though JavaScript counts ten.
    expect(faultOf("😀😁😂😃😄")).toBe("password_too_short")
    expect(faultOf("ab".repeat(passwordBytes / 2))).toBeUndefined()
    expect(faultOf(`${"ab".repeat(passwordBytes / 2)}c`)).toBe("password_too_long")
  })

  test("is no blank, no single character and not the email, however it is written", () => {
    for (const plain of [" ".repeat(12), "\t ".repeat(6), "aaaaaaaaaaaa"])
      expect(faultOf(plain)).toBe("password_too_plain")
    for (const said of ["ada.lovelace@example.com", " ADA.Lovelace@EXAMPLE.com ", "Ada.Lovelace"]) {
      expect(faultOf(said)).toBe("password_is_email")
    }
  })
})

describe("hashing", () => {
  test("runs four at a time, lets 128 wait, and turns the rest away until there is room", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        let running = 0
        let most = 0
        const slow = Effect.gen(function* () {
          running++
          most = Math.max(most, running)
          yield* Deferred.await(gate)
          running--
          return true
        })
        const passwords = makePasswords({
          hash: () => Effect.as(slow, ""),
          verify: () => slow,
          isOutdated: () => false,
          decoy: "decoy"
        })
        const attempt = Effect.result(passwords.verify(secret("one"), Option.some("hash")))
        const waiting = yield* Effect.forEach(Array.from({ length: 132 }), () =>
          Effect.forkChild(attempt, { startImmediately: true })
        )
        const beyond = yield* attempt
        expect(beyond).toMatchObject({ _tag: "Failure", failure: { _tag: "Overloaded" } })
        expect(most).toBe(4)
        const [impatient, ...rest] = [...waiting].reverse()
        if (impatient !== undefined) yield* Fiber.interrupt(impatient)
        const instead = yield* Effect.forkChild(attempt, { startImmediately: true })
        yield* Deferred.succeed(gate, undefined)
        for (const fiber of [...rest, instead]) expect((yield* Fiber.join(fiber))._tag).toBe("Success")
        expect(most).toBe(4)
        expect((yield* attempt)._tag).toBe("Success")
      })
    ))

  test("of what can be nobody's password costs the same, and never fits", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const verified: Array<readonly [password: string, hash: string]> = []
        const passwords = makePasswords({
          hash: () => Effect.succeed(""),
          verify: (password, hash) =>
            Effect.sync(() => {
              verified.push([Redacted.value(password), hash])
              return true
            }),
          isOutdated: () => false,
          decoy: "decoy"
        })
        const fitting = "é".repeat(passwordBytes / 2)
        expect(yield* passwords.verify(secret(fitting), Option.some("hash"))).toBe(true)
        expect(yield* passwords.verify(secret(`${fitting}a`), Option.some("hash"))).toBe(false)
        expect(yield* passwords.verify(secret("one"), Option.none())).toBe(false)
        expect(verified).toEqual([
          [fitting, "hash"],
          ["nothing", "decoy"],
          ["nothing", "decoy"]
        ])
      })
    ))

  test("that nobody waited for is not held against whoever is signed in", () =>
    inHouse(
      Effect.fnUntraced(function* (house) {
        const account = yield* addAccount(house)
        const confirm = (typed: string) =>
          Effect.flatMap(currentInstant, (now) =>
            house.accounts.confirm(house.workspace.id, account, secret(typed), "session one", now)
          )
        for (let tries = 0; tries < 20; tries++) {
          const { verify } = house.hashed
          const asking = yield* Effect.forkChild(confirm("a guess"), { startImmediately: true })
          expect(house.hashed.verify).toBe(verify + 1)
          yield* Fiber.interrupt(asking)
        }
        expect(yield* confirm("correct horse battery")).toBe(true)
      })
    ))

  test("that is turned away is not held against whoever tried", () =>
    inHouse(
      Effect.fnUntraced(function* (house) {
        yield* addAccount(house)
        const { book, passwords, sessions } = house.accounts
        const busy = { ...passwords, verify: () => Effect.fail(new Overloaded()) }
        const signIn = makeSignIn(book, busy, sessions, Option.some(new SignInThrottle()))
        const credentials = {
          email: "ada@example.com",
          password: secret("correct horse battery"),
          network: "192.0.2.1",
          deviceOf: () => Option.none<string>()
        }
        for (let tries = 0; tries < 20; tries++) {
          const failure = yield* Effect.flip(signIn(house.workspace.id, credentials, yield* currentInstant))
          expect(failure._tag).toBe("Overloaded")
        }
      })
    ))
})
