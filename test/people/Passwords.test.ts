import { describe, expect, test } from "bun:test"
import { Deferred, Effect, Fiber, Option, Redacted, Result } from "effect"
import { noble } from "../../adapters/password/noble.ts"
import { activeOf, normaliseEmail, passwordBytes } from "../../core/people/Account.ts"
import { fitPassword, makePasswords, type Waiting } from "../../core/people/Passwords.ts"
import { SignInThrottle } from "../../core/people/SignInThrottle.ts"
import { makeSignIn } from "../../core/people/signIn.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import type { UserId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { Overloaded } from "../../core/rules/Refusal.ts"
import { addAccount, Browser, cheap, type House, inHouse, reveal, secret } from "./House.ts"

/** Composed in a way that NFKC takes apart. */
const typed = "ﬁne café №1 long enough"

const stored = (house: House, id: UserId) =>
  Effect.map(house.accounts.book.find(house.workspace.id, id), (account) => activeOf(account)?.password)

describe("a password of an earlier release", () => {
  const cost = { memory: 16, passes: 2, lanes: 1 } as const

  test("is hashed anew when its owner signs in, and works as before", () =>
    inHouse(
      function* (house) {
        const { id } = yield* addAccount(house)
        const bytes = new TextEncoder().encode(typed.normalize("NFKC"))
        const old = yield* Effect.promise(() => noble.hash(bytes, cheap, new Uint8Array(16)))
        yield* house.accounts.book.change(house.workspace.id, id, (account) => ({ ...account, password: old }))

        yield* new Browser(house).signIn("ada@example.com", "not the password")
        expect(yield* stored(house, id)).toBe(old)
        expect((yield* new Browser(house).signIn("ada@example.com", typed)).status).toBe(303)
        const fresh = yield* stored(house, id)
        expect(fresh).toStartWith("$argon2id$v=19$m=16,t=2,p=1$")
        const { hash } = house.hashed
        expect((yield* new Browser(house).signIn("ada@example.com", typed)).status).toBe(303)
        expect([yield* stored(house, id), house.hashed.hash]).toEqual([fresh, hash])
      },
      { cost }
    ))

  test("ends no session by being hashed anew", () =>
    inHouse(
      function* (house) {
        const { id } = yield* addAccount(house)
        const browser = new Browser(house)
        yield* browser.signIn()
        const bytes = new TextEncoder().encode("correct horse battery")
        const old = yield* Effect.promise(() => noble.hash(bytes, cheap, new Uint8Array(16)))
        yield* house.accounts.book.change(house.workspace.id, id, (account) => ({ ...account, password: old }))
        yield* new Browser(house).signIn()
        expect((yield* browser.get("/settings/profile")).status).toBe(200)
      },
      { cost }
    ))

  test("is hashed anew beside those who have been here, though strangers queue", () =>
    inHouse(
      function* (house) {
        const { book, passwords, signIn } = house.accounts
        const { id } = yield* addAccount(house)
        const bytes = new TextEncoder().encode("correct horse battery")
        const old = yield* Effect.promise(() => noble.hash(bytes, cheap, new Uint8Array(16)))
        yield* book.change(house.workspace.id, id, (account) => ({ ...account, password: old }))
        yield* Effect.forEach(Array.from({ length: 131 }), (_, at) =>
          Effect.forkChild(passwords.verify(secret("never answered"), "hash", { network: `192.0.2.${at}` }), {
            startImmediately: true
          })
        )
        const credentials = {
          email: "ada@example.com",
          password: secret("correct horse battery"),
          network: "198.51.100.1",
          device: "hers"
        }
        expect((yield* signIn(house.workspace.id, credentials, yield* currentInstant))._tag).toBe("SignedIn")
        expect(yield* stored(house, id)).toStartWith("$argon2id$v=19$m=16,t=2,p=1$")
      },
      {
        cost,
        hasher: (below) => ({
          ...below,
          verify: (typed, hash) => (reveal(typed) === "never answered" ? Effect.never : below.verify(typed, hash))
        })
      }
    ))
})

describe("what may become a password", () => {
  const email = normaliseEmail("ada.lovelace@example.com") ?? expect.unreachable()
  const faultOf = (text: string) =>
    Option.getOrUndefined(Result.getFailure(fitPassword(secret(text), email, 10)))?.reason

  test("has as many characters as it takes, however many bytes they are, and not too many bytes", () => {
    expect(faultOf("0246813579")).toBeUndefined()
    expect(faultOf("012345678")).toBe("password_too_short")
    // Five that people count, though JavaScript counts ten.
    expect(faultOf("😀😁😂😃😄")).toBe("password_too_short")
    expect(faultOf("abcd".repeat(passwordBytes / 4))).toBeUndefined()
    expect(faultOf(`${"abcd".repeat(passwordBytes / 4)}e`)).toBe("password_too_long")
  })

  test.each([
    "1234567890",
    "0987654321",
    "123-456-7890",
    "1212121212",
    "abcabcabcabc",
    "abcdefghijkl",
    "qwertyuiop",
    "poiuytrewq",
    "QWERTZUIOP",
    "azertyuiop",
    "1q2w3e4r5t",
    "1qaz2wsx3edc",
    "qwerty123456",
    "abc1234567",
    "a123456789",
    "password12",
    "Password123!",
    "passwordpassword",
    "P@ssword2024",
    "passwort 1234",
    "Welcome2026!",
    "letmein123",
    "iloveyou12345",
    "administrator",
    "changeme!!"
  ])("is none of those that are guessed first: %s", (guessed) => {
    expect(faultOf(guessed)).toBe("password_too_plain")
  })

  test.each([
    "correct horse battery",
    "hunter2hunter2",
    "the password is long",
    "passworded penguin",
    "k9x2m4q7z1",
    "8472910365",
    "secret8472910365",
    "тайна за семью печатями",
    "合言葉は山と川と海と空",
    "!%&/()=?#*",
    "a!%&/()=?#"
  ])("may be any other: %s", (fit) => {
    expect(faultOf(fit)).toBeUndefined()
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
  /** A hasher that answers when it is told to, and how many it was working on. */
  const gated = Effect.map(Deferred.make<void>(), (gate) => {
    const work = { running: 0, most: 0 }
    const slow = Effect.gen(function* () {
      work.most = Math.max(work.most, ++work.running)
      yield* Effect.ensuring(
        Deferred.await(gate),
        Effect.sync(() => work.running--)
      )
      return true
    })
    const hasher = { hash: () => Effect.as(slow, ""), verify: () => slow, isOutdated: () => false, decoy: "decoy" }
    const passwords = makePasswords(hasher)
    const tries = (who: Waiting) => Effect.result(passwords.verify(secret("one"), "hash", who))
    const start = (who: Waiting) => Effect.forkChild(tries(who), { startImmediately: true })
    return { gate, work, tries, start }
  })

  const stranger = (at: number): Waiting => ({ network: `192.0.2.${at}` })
  const overloaded = { _tag: "Failure", failure: { _tag: "Overloaded" } }

  for (const [who, of] of [
    ["strangers", stranger],
    ["those who have been here", () => "known" as const],
    ["those whose network is not known", () => ({ network: undefined })]
  ] as const) {
    test(`runs three at a time of ${who}, lets 128 wait, and turns the rest away until there is room`, () =>
      Effect.runPromise(
        Effect.gen(function* () {
          const { gate, start, tries, work } = yield* gated
          const waiting = yield* Effect.forEach(Array.from({ length: 131 }), (_, at) => start(of(at)))
          expect(yield* tries(of(200))).toMatchObject(overloaded)
          expect(work.most).toBe(3)
          const [impatient, ...rest] = [...waiting].reverse()
          if (impatient !== undefined) yield* Fiber.interrupt(impatient)
          const instead = yield* start(of(200))
          expect(yield* tries(of(201))).toMatchObject(overloaded)
          yield* Deferred.succeed(gate, undefined)
          for (const fiber of [...rest, instead]) expect((yield* Fiber.join(fiber))._tag).toBe("Success")
          expect(work.most).toBe(3)
          expect((yield* tries(of(200)))._tag).toBe("Success")
        })
      ))
  }

  test("is never all for strangers, nor all for those who have been here, and four at most", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { gate, start, work } = yield* gated
        const flood = yield* Effect.forEach(Array.from({ length: 131 }), (_, at) => start(stranger(at)))
        expect(work.running).toBe(3)
        const known = yield* Effect.forEach(Array.from({ length: 131 }), () => start("known"))
        expect(work.running).toBe(4)
        yield* Deferred.succeed(gate, undefined)
        for (const fiber of [...flood, ...known]) expect((yield* Fiber.join(fiber))._tag).toBe("Success")
        expect(work.most).toBe(4)
      })
    ))

  test("serves strangers while those who have been here queue", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const { gate, start, work } = yield* gated
        const known = yield* Effect.forEach(Array.from({ length: 131 }), () => start("known"))
        expect(work.running).toBe(3)
        const one = yield* start(stranger(1))
        expect(work.running).toBe(4)
        yield* Deferred.succeed(gate, undefined)
        for (const fiber of [...known, one]) expect((yield* Fiber.join(fiber))._tag).toBe("Success")
      })
    ))

  for (const [what, addresses, elsewhere] of [
    ["an IPv4 address", ["192.0.2.7"], "192.0.2.8"],
    ["an IPv6 /48", ["2001:db8:1:2::/64", "2001:db8:1:3::/64", "2001:db8:1:ffff::/64"], "2001:db8:2:2::/64"]
  ] as const) {
    test(`has eight strangers of ${what} at most, and room for all others`, () =>
      Effect.runPromise(
        Effect.gen(function* () {
          const { gate, start, tries } = yield* gated
          const of = (at: number): Waiting => ({ network: addresses[at % addresses.length] })
          const flood = yield* Effect.forEach(Array.from({ length: 8 }), (_, at) => start(of(at)))
          for (let at = 0; at < 3; at++) expect(yield* tries(of(at))).toMatchObject(overloaded)
          const others = [yield* start({ network: elsewhere }), yield* start("known")]
          const [first, ...rest] = flood
          if (first !== undefined) yield* Fiber.interrupt(first)
          const instead = yield* start(of(0))
          expect(yield* tries(of(1))).toMatchObject(overloaded)
          yield* Deferred.succeed(gate, undefined)
          for (const fiber of [...rest, ...others, instead]) expect((yield* Fiber.join(fiber))._tag).toBe("Success")
          // All of them have left.
          for (let at = 0; at < 20; at++) expect((yield* tries(of(at)))._tag).toBe("Success")
        })
      ))
  }

  test("of what can be no password costs the same, and never fits", () =>
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
        expect(yield* passwords.verify(secret(fitting), "hash", "known")).toBe(true)
        expect(yield* passwords.verify(secret(`${fitting}a`), "hash", "known")).toBe(false)
        expect(yield* passwords.verify(secret("one"), undefined, "known")).toBe(false)
        expect(verified).toEqual([
          [fitting, "hash"],
          ["nothing", "decoy"],
          ["nothing", "decoy"]
        ])
      })
    ))

  test("that was given up is not held against the person who is signed in", () =>
    inHouse(function* (house) {
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
    }))

  test("that is turned away is not held against the person who tried", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const { book, passwords, sessions } = house.accounts
      const busy = { ...passwords, verify: () => Effect.fail(new Overloaded()) }
      const signIn = makeSignIn(book, busy, sessions, new SignInThrottle())
      const credentials = {
        email: "ada@example.com",
        password: secret("correct horse battery"),
        network: "192.0.2.1",
        device: undefined
      }
      for (let tries = 0; tries < 20; tries++) {
        const failure = yield* Effect.flip(signIn(house.workspace.id, credentials, yield* currentInstant))
        expect(failure._tag).toBe("Overloaded")
      }
    }))

  test("that is turned away counts against its network", () =>
    inHouse(function* (house) {
      const { book, passwords, sessions } = house.accounts
      const busy = { ...passwords, verify: () => Effect.fail(new Overloaded()) }
      const signIn = makeSignIn(book, busy, sessions, new SignInThrottle())
      const turnedAway = Effect.fnUntraced(function* (network: string, device: string | undefined) {
        const credentials = { email: "ada@example.com", password: secret("a guess"), network, device }
        return yield* Effect.flip(signIn(house.workspace.id, credentials, yield* currentInstant))
      })
      const device = "a browser"
      for (let tries = 0; tries < 300; tries++) yield* turnedAway("192.0.2.1", device)
      for (let tries = 0; tries < 200; tries++) {
        expect((yield* turnedAway("192.0.2.1", undefined))._tag).toBe("Overloaded")
      }
      expect(yield* turnedAway("192.0.2.1", undefined)).toMatchObject({ limit: "sign_in_network" })
      expect((yield* turnedAway("192.0.2.1", device))._tag).toBe("Overloaded")
      expect((yield* turnedAway("192.0.2.2", undefined))._tag).toBe("Overloaded")
    }))

  test("that was given up, or that the server failed, counts against no network", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const { book, passwords, sessions } = house.accounts
      const throttle = new SignInThrottle()
      const away = { ...book, byEmail: () => new StorageUnavailable({ outcome: "not_done", message: "away" }) }
      const credentials = {
        email: "ada@example.com",
        password: secret("correct horse battery"),
        network: "192.0.2.1",
        device: undefined
      }
      const now = yield* currentInstant
      for (const [accounts, verify] of [
        [book, () => Effect.interrupt],
        [book, () => Effect.die("broken")],
        [away, passwords.verify]
      ] as const) {
        const signIn = makeSignIn(accounts, { ...passwords, verify }, sessions, throttle)
        for (let tries = 0; tries < 300; tries++) yield* Effect.exit(signIn(house.workspace.id, credentials, now))
      }
      const signIn = makeSignIn(book, passwords, sessions, throttle)
      expect((yield* signIn(house.workspace.id, credentials, now))._tag).toBe("SignedIn")
    }))

  test("is not kept from a known browser, nor from other networks, by a flood from one IPv6 /48", () => {
    const gate = Deferred.makeUnsafe<void>()
    let busy = false
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const known = new Browser(house, "2001:db8:1:1::1")
        expect((yield* known.signIn()).status).toBe(303)
        busy = true
        const flood = yield* Effect.forEach(Array.from({ length: 200 }), (_, at) =>
          Effect.forkChild(
            new Browser(house, `2001:db8:1:${at.toString(16)}::1`).signIn(`${at}@example.com`, "a guess"),
            { startImmediately: true }
          )
        )
        const here = yield* Effect.forkChild(known.signIn(), { startImmediately: true })
        const elsewhere = yield* Effect.forkChild(new Browser(house, "2001:db8:2:1::1").signIn(), {
          startImmediately: true
        })
        yield* Effect.yieldNow
        const near = yield* new Browser(house, "2001:db8:1:5000::1").signIn()
        expect(near.status).toBe(503)
        yield* Deferred.succeed(gate, undefined)
        for (const person of [here, elsewhere]) expect((yield* Fiber.join(person)).status).toBe(303)
        const statuses = (yield* Effect.forEach(flood, Fiber.join)).map(({ status }) => status)
        expect(statuses.filter((status) => status === 403)).toHaveLength(8)
        expect(statuses.filter((status) => status === 503)).toHaveLength(192)
      },
      {
        hasher: (below) => ({
          ...below,
          verify: (typed, hash) =>
            Effect.suspend(() =>
              busy ? Effect.andThen(Deferred.await(gate), below.verify(typed, hash)) : below.verify(typed, hash)
            )
        })
      }
    )
  })

  for (const flood of ["known", "strangers"] as const)
    test(`waits where its person belongs: while ${flood} queue, others are served`, () =>
      inHouse(
        function* (house) {
          const { accounts, services, workspace } = house
          const account = yield* addAccount(house)
          const waits = Array.from({ length: 131 }, (_, at) =>
            accounts.passwords.verify(
              secret("never answered"),
              "hash",
              flood === "known" ? "known" : { network: `192.0.2.${at}` }
            )
          )
          yield* Effect.forEach(waits, (wait) => Effect.forkChild(wait, { startImmediately: true }))
          const draft = { name: "", role: "member", password: secret("a long enough one") } as const
          const tagOf = (of: Effect.Effect<unknown, { readonly _tag: string }>) =>
            Effect.match(of, { onSuccess: () => "served", onFailure: ({ _tag }) => _tag })
          const farewell = { logouts: services.logouts, why: "by_user" } as const
          const signIn = (device: string | undefined) =>
            Effect.flatMap(currentInstant, (now) =>
              accounts.signIn(
                workspace.id,
                {
                  email: "ada@example.com",
                  password: secret("correct horse battery"),
                  network: "198.51.100.1",
                  device
                },
                now
              )
            )
          const known = {
            "a command's account": accounts.open(workspace.id, { ...draft, email: "bob@example.com" }),
            "a sign-in in a known browser": signIn("hers"),
            "a password given again": Effect.flatMap(currentInstant, (now) =>
              accounts.confirm(workspace.id, account, secret("correct horse battery"), "session one", now)
            ),
            "a new password": accounts.changePassword(workspace, account.id, secret("correct horse battery"), farewell)
          }
          const strangers = {
            "a newcomer's account": accounts.open(workspace.id, {
              ...draft,
              email: "cy@example.com",
              network: "198.51.100.1"
            }),
            "a sign-in elsewhere": signIn(undefined)
          }
          for (const [what, work] of Object.entries(known)) {
            expect([what, yield* tagOf(work)]).toEqual([what, flood === "known" ? "Overloaded" : "served"])
          }
          for (const [what, work] of Object.entries(strangers)) {
            expect([what, yield* tagOf(work)]).toEqual([what, flood === "known" ? "served" : "Overloaded"])
          }
        },
        {
          hasher: (below) => ({
            ...below,
            verify: (typed, hash) => (reveal(typed) === "never answered" ? Effect.never : below.verify(typed, hash))
          })
        }
      ))
})
