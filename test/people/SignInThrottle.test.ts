import { describe, expect, test } from "bun:test"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { type Attempt, SignInThrottle } from "../../core/people/SignInThrottle.ts"
import { makeSignIn } from "../../core/people/signIn.ts"
import { networkOf } from "../../core/ports/Limiter.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { header } from "../given/flow.ts"
import { pageName } from "../given/page.ts"
import { t0 } from "../given/World.ts"
import { addAccount, Browser, inHouse, password } from "./House.ts"

const t = Instant.make(1_000_000_000)
const second = 1000
const minute = 60 * second

const workspace = WorkspaceId.make("home")
const from = (network: string, login = "ada"): Attempt => ({ workspace, login, network, device: undefined })
const known: Attempt = { workspace, login: "ada", network: "1", device: "her own" }

/** How many of so many attempts at one moment got through. */
const passed = (throttle: SignInThrottle, attempts: ReadonlyArray<Attempt>, at = t) =>
  attempts.filter((attempt) => throttle.begin(attempt, at) === undefined).length

const wait = (throttle: SignInThrottle, attempt: Attempt, at = t) => throttle.begin(attempt, at)?.retryAfterSeconds

const times = (count: number, attempt: (index: number) => Attempt) =>
  Array.from({ length: count }, (_, i) => attempt(i))

describe("guessing from one place", () => {
  test("is free five times, then waits for ever longer, up to five minutes", () => {
    const throttle = new SignInThrottle()
    expect(
      passed(
        throttle,
        times(50, () => from("1"))
      )
    ).toBe(5)
    const waits: Array<number | undefined> = []
    let at = t
    for (let tries = 0; tries < 12; tries++) {
      const seconds = wait(throttle, from("1"), at)
      waits.push(seconds)
      at = later(at, (seconds ?? 0) * second)
      expect(passed(throttle, [from("1")], at)).toBe(1)
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  })

  test("is let on a millisecond after the wait, not before", () => {
    const throttle = new SignInThrottle()
    passed(
      throttle,
      times(5, () => from("1"))
    )
    expect(passed(throttle, [from("1")], later(t, 999))).toBe(0)
    expect(passed(throttle, [from("1")], later(t, 1000))).toBe(1)
  })

  test("gains nothing by trying many times at once", () => {
    const throttle = new SignInThrottle()
    expect(
      passed(
        throttle,
        times(1000, () => from("1"))
      )
    ).toBe(5)
  })

  test("is remembered behind as many others as there is room for, and no longer", () => {
    const throttle = new SignInThrottle()
    const strangers = (first: number, count: number) => times(count, (i) => from(`n${first + i}`, `l${first + i}`))
    passed(throttle, strangers(0, 49_999))
    passed(
      throttle,
      times(5, () => from("1"))
    )
    expect(passed(throttle, strangers(50_000, 50_000))).toBe(50_000)
    expect(passed(throttle, [from("1")])).toBe(0)
    passed(throttle, strangers(100_000, 100_001))
    expect(passed(throttle, [from("1")])).toBe(1)
  })

  test("is forgotten after a day without a failure, and at once when the person was right", () => {
    const throttle = new SignInThrottle()
    passed(
      throttle,
      times(5, () => from("1"))
    )
    expect(
      passed(
        throttle,
        times(9, () => from("1")),
        later(t, 24 * 60 * minute)
      )
    ).toBe(5)
    throttle.succeed(from("1"), later(t, 25 * 60 * minute))
    expect(
      passed(
        throttle,
        times(9, () => from("1")),
        later(t, 25 * 60 * minute)
      )
    ).toBe(5)
  })

  test("at ever other accounts spends the network's share, which comes back by and by", () => {
    const throttle = new SignInThrottle()
    const spray = times(1000, (index) => from("1", `login ${index}`))
    expect(passed(throttle, spray)).toBe(200)
    expect(passed(throttle, [from("2", "login 1")])).toBe(1)
    expect(
      passed(
        throttle,
        times(1000, (index) => from("1", `other ${index}`)),
        later(t, minute)
      )
    ).toBe(10)
  })

  test("at ever other accounts from ever other /64 of one /48 spends the share around them, and no other's", () => {
    const throttle = new SignInThrottle()
    const place = (index: number, region = 1) => networkOf(`2001:db8:${region}:${index.toString(16)}::1`)
    const spray = (name: string, region = 1) => times(2000, (index) => from(place(index, region), `${name} ${index}`))
    expect(passed(throttle, spray("login"))).toBe(800)
    expect(wait(throttle, from(place(5000), "next"))).toBe(2)
    expect(passed(throttle, [from(place(5000, 2), "login 1"), from("192.0.2.9", "login 2")])).toBe(2)
    // A known browser does not share the count of its neighbours.
    expect(passed(throttle, [{ ...known, network: place(5000) }])).toBe(1)
    expect(passed(throttle, spray("other"), later(t, minute))).toBe(40)
  })

  for (const [ending, end] of Object.entries({
    succeed: (throttle: SignInThrottle, attempt: Attempt) => throttle.succeed(attempt, t),
    abandon: (throttle: SignInThrottle, attempt: Attempt) => throttle.abandon(attempt)
  }))
    test(`that turns out to be none takes nothing of what is around its network: ${ending}`, () => {
      const throttle = new SignInThrottle()
      for (let index = 0; index < 2000; index++) {
        const attempt = from(networkOf(`2001:db8:1:${index.toString(16)}::1`), `login ${index}`)
        expect(throttle.begin(attempt, t) === undefined).toBe(true)
        end(throttle, attempt)
      }
    })

  test("is turned away at the cost of what is around its network too", () => {
    const throttle = new SignInThrottle()
    const attempts = times(2000, (index) => from(networkOf(`2001:db8:1:${index.toString(16)}::1`), `login ${index}`))
    const begun = attempts.filter((attempt) => {
      const begins = throttle.begin(attempt, t) === undefined
      if (begins) throttle.turnAway(attempt, t)
      return begins
    })
    expect(begun).toHaveLength(800)
  })

  test("does not slow an office down where all are right", () => {
    const throttle = new SignInThrottle()
    for (let index = 0; index < 5000; index++) {
      const attempt = from("office", `login ${index}`)
      expect(throttle.begin(attempt, t) === undefined).toBe(true)
      throttle.succeed(attempt, t)
    }
  })
})

/** Attempts that spend each share, and the one that it then refuses. */
const refusals: Readonly<Record<string, readonly [spend: ReadonlyArray<Attempt>, next: Attempt, seconds: number]>> = {
  sign_in_device: [times(5, () => known), known, 1],
  sign_in_pair: [times(5, () => from("1")), from("1"), 1],
  sign_in_network: [times(200, (index) => from("1", `login ${index}`)), from("1", "next"), 6],
  sign_in_network_region: [
    times(800, (index) => from(networkOf(`2001:db8:1a2b:${index.toString(16)}::1`), `login ${index}`)),
    from(networkOf("2001:db8:1a2b:ffff::1"), "next"),
    2
  ],
  sign_in_login: [times(60, (index) => from(`${index % 20}`)), from("1"), 60]
}

test.each(Object.entries(refusals))(
  "an attempt beyond a share is told by which: %s",
  (limit, [spend, next, seconds]) => {
    const throttle = new SignInThrottle()
    expect(passed(throttle, spend)).toBe(spend.length)
    const refused = throttle.begin(next, t) ?? expect.unreachable()
    expect(refused).toMatchObject({ _tag: "TooManyRequests", limit, retryAfterSeconds: seconds })
    // Elsewhere is not there.
    expect(passed(throttle, [from("192.0.2.200", "somebody"), from(networkOf("2001:db8:1a2c::1"), "else")])).toBe(2)
  }
)

test("first tries at a login whose share is spent come back to a customer one an hour", () => {
  const throttle = new SignInThrottle()
  const places = (first: number) =>
    times(100, (index) => from(networkOf(`2001:db8:1:${(first + index).toString(16)}::1`)))
  expect(passed(throttle, places(0))).toBe(68)
  // The login's own share is kept spent meanwhile, from everywhere else.
  const spent = (at: Instant) =>
    passed(
      throttle,
      times(60, (index) => from(`${at} ${index}`)),
      at
    )
  const hour = 60 * minute
  expect(spent(later(t, hour - 1))).toBe(60)
  expect(passed(throttle, places(200), later(t, hour - 1))).toBe(0)
  expect(passed(throttle, places(400), later(t, hour))).toBe(1)
  expect(passed(throttle, places(600), later(t, hour))).toBe(0)
})

describe("guessing at one account from many places", () => {
  test("spends its share, and then has one try for each place", () => {
    const throttle = new SignInThrottle()
    expect(
      passed(
        throttle,
        times(60, (index) => from(`${index % 20}`))
      )
    ).toBe(60)
    expect(
      passed(
        throttle,
        times(60, (index) => from(`${index % 20}`))
      )
    ).toBe(0)
    expect(
      passed(
        throttle,
        times(5, () => from("new"))
      )
    ).toBe(1)
  })

  test("takes from no other account's share of the same customer", () => {
    const throttle = new SignInThrottle()
    const places = (login: string) => times(200, (index) => from(`2001:db8:1:${index.toString(16)}::/64`, login))
    expect(passed(throttle, places("ada"))).toBe(68)
    expect(passed(throttle, places("bob"))).toBe(68)
  })

  test("from ever other places puts off the next of the share by nothing", () => {
    const throttle = new SignInThrottle()
    expect(
      passed(
        throttle,
        times(500, (index) => from(`${index}`))
      )
    ).toBe(500)
    const again = (at: Instant) =>
      passed(
        throttle,
        times(5, () => from("1")),
        at
      )
    expect([again(t), again(later(t, minute))]).toEqual([0, 1])
  })

  test("gets back nothing of the share for what its owner does in a known browser", () => {
    const throttle = new SignInThrottle()
    passed(
      throttle,
      times(60, (index) => from(`${index % 20}`))
    )
    for (let index = 0; index < 10; index++) {
      expect(passed(throttle, [known])).toBe(1)
      throttle.succeed(known, t)
    }
    expect(
      passed(
        throttle,
        times(10, (index) => from(`${index}`))
      )
    ).toBe(0)
  })

  test("never keeps its owner out of a browser that they signed in with before", () => {
    const throttle = new SignInThrottle()
    for (let round = 0; round < 200; round++) {
      const at = later(t, round * minute)
      passed(
        throttle,
        times(300, (index) => from(`${index}`)),
        at
      )
      passed(
        throttle,
        times(50, () => from("1")),
        at
      )
      expect(throttle.begin(known, at) === undefined).toBe(true)
      throttle.succeed(known, at)
    }
  })

  test("never keeps its owner out of a new place, if they are right at the first try", () => {
    const throttle = new SignInThrottle()
    for (let round = 0; round < 200; round++) {
      const at = later(t, round * minute)
      passed(
        throttle,
        times(300, (index) => from(`${index}`)),
        at
      )
      const owner = from(`hotel ${round}`)
      expect(throttle.begin(owner, at) === undefined).toBe(true)
      throttle.succeed(owner, at)
    }
  })

  test("in a stolen browser has that browser's slope, and slows no other", () => {
    const throttle = new SignInThrottle()
    expect(
      passed(
        throttle,
        times(50, () => known)
      )
    ).toBe(5)
    expect(
      passed(
        throttle,
        times(50, () => from("1"))
      )
    ).toBe(5)
  })
})

test("each browser has a slope of its own for each login that it knows", () => {
  const throttle = new SignInThrottle()
  for (const device of ["hers", "his"]) {
    for (const login of ["ada", "bob"]) {
      expect([
        device,
        login,
        passed(
          throttle,
          times(9, () => ({ ...known, login, device }))
        )
      ]).toEqual([device, login, 5])
    }
  }
})

describe("an attempt that came to no answer", () => {
  test("is held against no person", () => {
    const throttle = new SignInThrottle()
    for (const attempt of [from("1"), known, { ...from("1"), network: undefined }]) {
      for (let tries = 0; tries < 1000; tries++) {
        expect(throttle.begin(attempt, t) === undefined).toBe(true)
        throttle.abandon(attempt)
      }
    }
  })
})

/** Else an attacker with an account of their own could wash their guesses away. */
describe("one's own sign-in among guesses at other accounts", () => {
  const most = 200
  const guesses = (first: number, count: number) => times(count, (index) => from("1", `login ${first + index}`))

  for (const ending of ["succeed", "abandon"] as const) {
    test(`takes back no more than itself from the network's share: ${ending}`, () => {
      for (const before of [0, 1, 2, most / 2, most - 2, most - 1]) {
        for (const rounds of [1, 2, 300]) {
          const throttle = new SignInThrottle()
          expect(passed(throttle, guesses(0, before))).toBe(before)
          for (let round = 0; round < rounds; round++) {
            expect(passed(throttle, [from("1", "my own")])).toBe(1)
            if (ending === "succeed") throttle.succeed(from("1", "my own"), t)
            else throttle.abandon(from("1", "my own"))
          }
          expect([before, rounds, passed(throttle, guesses(1000, most + 50))]).toEqual([before, rounds, most - before])
        }
      }
    })
  }
})

describe("an attempt that came to no answer among others that failed", () => {
  test("is taken back alone", () => {
    for (const attempt of [from("1"), known]) {
      const throttle = new SignInThrottle()
      expect(passed(throttle, [attempt, attempt, attempt, attempt])).toBe(4)
      expect(passed(throttle, [attempt])).toBe(1)
      throttle.abandon(attempt)
      expect(passed(throttle, [attempt, attempt])).toBe(1)
    }
  })
})

describe("a clock that was set back", () => {
  const before = later(t, -24 * 60 * minute)

  test("makes no person wait longer than the last failure would then", () => {
    const throttle = new SignInThrottle()
    passed(
      throttle,
      times(5, () => known)
    )
    expect(wait(throttle, known, before)).toBe(1)
    expect(passed(throttle, [known], later(before, second))).toBe(1)
    expect(wait(throttle, known, later(before, second))).toBe(2)
  })

  test("spends no share of a network or a login", () => {
    const throttle = new SignInThrottle()
    expect(passed(throttle, [from("1")])).toBe(1)
    const office = times(250, (index) => from("1", `login ${index}`))
    expect(passed(throttle, office, before)).toBe(199)
    const places = times(100, (index) => from(`${index % 20}`))
    expect(passed(throttle, places, before)).toBe(59)
  })

  test("forgets what it remembers a day later all the same", () => {
    const throttle = new SignInThrottle()
    passed(
      throttle,
      times(5, () => known)
    )
    expect(passed(throttle, [known], before)).toBe(0)
    expect(
      passed(
        throttle,
        times(9, () => known),
        t
      )
    ).toBe(5)
  })
})

describe("where the runtime knows no peer", () => {
  test("the account's share is what there is, and a known browser is free of it", () => {
    const throttle = new SignInThrottle()
    const nowhere: Attempt = { workspace, login: "ada", network: undefined, device: undefined }
    expect(
      passed(
        throttle,
        times(100, () => nowhere)
      )
    ).toBe(60)
    expect(passed(throttle, [known])).toBe(1)
  })
})

describe("signing in under attack", () => {
  const guess = (browser: Browser) =>
    Effect.map(browser.signIn("ada@example.com", "a wrong guess"), ({ status }) => status)

  test("asks a guesser to wait, and verifies nothing meanwhile", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const eve = new Browser(house, "203.0.113.9")
      const answers: Array<number> = []
      for (let tries = 0; tries < 8; tries++) answers.push(yield* guess(eve))
      expect(answers).toEqual([403, 403, 403, 403, 403, 429, 429, 429])
      expect(house.hashed.verify).toBe(5)
      const refused = yield* eve.signIn("ada@example.com", password)
      expect(refused.status).toBe(429)
      expect(header(refused, "retry-after")).toBe("1")
      expect(pageName(refused)).toBe("rate-limited")
      yield* TestClock.adjust("1 second")
      expect((yield* eve.signIn("ada@example.com", password)).status).toBe(303)
    }))

  test("is told to other processes, over the store", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const eve = new Browser(house, "203.0.113.9")
      for (let tries = 0; tries < 5; tries++) yield* guess(eve)
      expect(yield* house.accounts.shareFailures).toBe(1)
      const listing = { kind: "limit", workspace: house.workspace.id, owner: "sign-ins" } as const
      expect((yield* house.storage.list({ ...listing, after: undefined, limit: 9 })).records).toHaveLength(1)
      expect(yield* house.accounts.shareFailures).toBe(0)
    }))

  test("begins anew once the person was right", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const tries = Effect.fnUntraced(function* () {
        const answers: Array<number> = []
        // Each in a browser of its own: one that signed in before would have a slope of its own.
        for (let index = 0; index < 4; index++) answers.push(yield* guess(new Browser(house, "203.0.113.9")))
        return answers
      })
      expect(yield* tries()).toEqual([403, 403, 403, 403])
      expect((yield* new Browser(house, "203.0.113.9").signIn()).status).toBe(303)
      expect(yield* tries()).toEqual([403, 403, 403, 403])
    }))

  test("slows down each text for itself, also what is no email, and each workspace for itself", () =>
    inHouse(function* (house) {
      const { book, passwords, sessions } = house.accounts
      const signIn = makeSignIn(book, passwords, sessions, new SignInThrottle())
      const attempt = (email: string, workspace = house.workspace.id) =>
        Effect.map(
          Effect.result(
            signIn(workspace, { email, password: Redacted.make("a guess"), network: "1", device: undefined }, t)
          ),
          ({ _tag }) => _tag === "Success"
        )
      for (let tries = 0; tries < 5; tries++) expect(yield* attempt("ada")).toBe(true)
      expect(yield* attempt("ada")).toBe(false)
      expect(yield* attempt("bob")).toBe(true)
      expect(yield* attempt("ada", WorkspaceId.make("elsewhere"))).toBe(true)
    }))

  test("answers the same for an email without an account", () =>
    inHouse(function* (house) {
      const eve = new Browser(house)
      const answers: Array<number> = []
      for (let tries = 0; tries < 7; tries++) answers.push((yield* eve.signIn("no@example.com", "guess")).status)
      expect(answers).toEqual([403, 403, 403, 403, 403, 429, 429])
    }))

  test("lets the owner in: from the network of the attack by a known browser, from elsewhere by any", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const own = new Browser(house, "203.0.113.9")
      yield* own.signIn()
      yield* own.submit("/logout", {})
      for (let place = 0; place < 20; place++) {
        const eve = new Browser(house, `203.0.113.${place}`)
        for (let tries = 0; tries < 6; tries++) yield* guess(eve)
      }
      expect((yield* own.signIn()).status).toBe(303)
      expect((yield* new Browser(house, "198.51.100.7").signIn()).status).toBe(303)
      expect((yield* new Browser(house, "203.0.113.9").signIn()).status).toBe(429)
    }))

  test("takes a /64 of IPv6 for one place, and knows IPv4 in IPv6's clothes", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const answers: Array<number> = []
      for (let tries = 0; tries < 6; tries++) {
        answers.push(yield* guess(new Browser(house, `2001:db8:1:2::${tries}`)))
      }
      expect(answers).toEqual([403, 403, 403, 403, 403, 429])
      for (let tries = 0; tries < 5; tries++) yield* guess(new Browser(house, "192.0.2.9"))
      expect(yield* guess(new Browser(house, "::ffff:192.0.2.9"))).toBe(429)
    }))

  test("a device's cookie is worth nothing for another account, when forged, or past its time", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      yield* addAccount(house, "eve@example.com", "member")
      const eve = new Browser(house, "203.0.113.9")
      yield* eve.signIn("eve@example.com")
      const device = eve.cookies.get("__Host-tessera_device") ?? "none"
      for (let tries = 0; tries < 5; tries++) yield* guess(eve)
      expect(yield* guess(eve)).toBe(429)

      const owner = new Browser(house, "198.51.100.7")
      yield* owner.signIn()
      const good = owner.cookies.get("__Host-tessera_device") ?? "none"
      expect(good).not.toBe(device)
      yield* owner.submit("/logout", {})
      const [key, nonce, at = "", mac] = good.split(".")
      const younger = [key, nonce, (Number.parseInt(at, 36) + 1).toString(36), mac].join(".")
      const mangled = `${good.slice(0, -1)}${good.endsWith("A") ? "B" : "A"}`
      for (const forged of [mangled, good.slice(0, -1), younger, device]) {
        eve.cookies.set("__Host-tessera_device", forged)
        expect(yield* guess(eve)).toBe(429)
      }
      eve.cookies.set("__Host-tessera_device", good)
      expect(yield* guess(eve)).toBe(403)

      yield* TestClock.adjust("400 days")
      const late = new Browser(house, "203.0.113.10")
      late.cookies.set("__Host-tessera_device", good)
      for (let tries = 0; tries < 5; tries++) yield* guess(late)
      const other = new Browser(house, "203.0.113.10")
      expect(yield* guess(other)).toBe(429)
    }))

  test("can be switched off for load tests", () =>
    inHouse(
      function* (house) {
        yield* addAccount(house)
        const eve = new Browser(house)
        for (let tries = 0; tries < 20; tries++) expect(yield* guess(eve)).toBe(403)
        expect(yield* house.accounts.shareFailures).toBe(0)
      },
      { accounts: { throttled: false } }
    ))
})

const now = Instant.make(t0)

/** How many guesses at one login get through from these addresses, one from each. */
const guesses = (throttle: SignInThrottle, addresses: ReadonlyArray<string>) =>
  addresses.filter((address) => throttle.begin(from(networkOf(address), "victim"), now) === undefined).length

const customer = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, subnet) => `${prefix}:${subnet.toString(16)}::1`)

describe("one IPv6 customer, who has 65,536 networks of his own", () => {
  test("gets no more tries at a login than a handful beyond its share", () => {
    expect(guesses(new SignInThrottle(), customer("2001:db8:1", 3000))).toBeLessThanOrEqual(60 + 8)
  })

  test("keeps the login's owner out of nothing in another place", () => {
    const throttle = new SignInThrottle()
    guesses(throttle, customer("2001:db8:1", 3000))
    expect(guesses(throttle, ["2001:db8:2::1"])).toBe(1)
    expect(guesses(throttle, ["192.0.2.7"])).toBe(1)
    expect(guesses(throttle, ["::ffff:192.0.2.8"])).toBe(1)
  })
})
