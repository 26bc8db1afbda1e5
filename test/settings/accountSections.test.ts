import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { sessionsOwner } from "../../core/people/Sessions.ts"
import { Limiter } from "../../core/ports/Limiter.ts"
import { TooManyRequests } from "../../core/rules/Refusal.ts"
import { seed } from "../adapters/seed.ts"
import { type Away, partlyAway } from "../given/countingStorage.ts"
import { header, hiddenFields } from "../given/flow.ts"
import { fieldProblems, noticeOn, typedOn } from "../given/page.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"
import { addAccount, Browser, type House, inHouse, password, secret } from "../people/House.ts"
import { atOnce, jostling } from "../people/stores.ts"

const fresh = "another long password"

const signedIn = Effect.fnUntraced(function* (house: House, email = "ada@example.com") {
  const browser = new Browser(house)
  yield* browser.signIn(email)
  return browser
})

const changePassword = (browser: Browser, current = password, next = fresh) =>
  browser.submit("/settings/profile", { action: "password", current_password: current, new_password: next })

const farewell = ({ services }: House) => ({ logouts: services.logouts, why: "by_user" }) as const

describe("the settings", () => {
  test("send who is not signed in to the login, and back afterwards", () =>
    inHouse(function* (house) {
      for (const path of ["/settings/profile", "/settings/members"]) {
        const answer = yield* house.send("GET", `${path}?after=x`)
        expect([answer.status, header(answer, "location")]).toEqual([
          303,
          `/login?return_to=${encodeURIComponent(`${path}?after=x`)}`
        ])
      }
    }))

  test("tell who was signed out meanwhile that their form did nothing, at the sign-in and after it", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      for (const path of ["/settings/profile", "/settings/members"]) {
        const browser = new Browser(house)
        const posted = yield* browser.send("POST", `${path}?after=x`, { action: "remove" })
        const login = header(posted, "location") ?? ""
        expect([posted.status, login]).toEqual([
          303,
          `/login?return_to=${encodeURIComponent(`${path}?done=signed-out`)}`
        ])
        expect(noticeOn(yield* browser.get(login))).toBe("problem")
        const back = header(yield* browser.signIn("ada@example.com", password, login), "location") ?? ""
        expect(back).toBe(`${path}?done=signed-out`)
        expect(noticeOn(yield* browser.get(back))).toBe("problem")
        expect(noticeOn(yield* browser.get(path))).toBeUndefined()
        expect(noticeOn(yield* new Browser(house).get("/login"))).toBeUndefined()
      }
    }))

  test("take no form that was not drawn for this session", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      yield* addAccount(house, "eve@example.com")
      const owner = yield* signedIn(house)
      const eve = yield* signedIn(house, "eve@example.com")
      const { csrf: foreign = "" } = hiddenFields((yield* eve.get("/settings/profile")).body)
      const { csrf: own = "" } = hiddenFields((yield* owner.get("/settings/profile")).body)
      const forms = [
        ["/settings/profile", { action: "profile", name: "Eve" }],
        ["/settings/profile", { action: "password", current_password: password, new_password: fresh }],
        ["/settings/members", { action: "invite", email: "", role: "owner" }],
        ["/settings/members", { action: "remove", id: ada.id }],
        ["/settings/members", { action: "set-place", id: ada.id, place: "acme" }],
        ["/settings/members", { action: "remove-place", id: ada.id, place: "acme" }]
      ] as const
      for (const [path, fields] of forms) {
        for (const csrf of ["", foreign, `${own}x`, own.slice(0, -1)]) {
          expect((yield* owner.send("POST", path, { ...fields, csrf })).status).toBe(403)
        }
      }
      const old = own
      yield* owner.signIn()
      const late = yield* owner.send("POST", "/settings/profile", { action: "profile", name: "Eve", csrf: old })
      expect(late.status).toBe(403)
      expect(yield* house.accounts.book.find(house.workspace.id, ada.id) ?? expect.unreachable()).toMatchObject({
        name: "Ada",
        epoch: 1
      })
    }))

  test("take every form from the share of the account, and no page", () => {
    const { limiter, taken } = watchedLimiter()
    return inHouse(
      function* (house) {
        const { id } = yield* addAccount(house)
        const owner = yield* signedIn(house)
        taken.splice(0)
        yield* owner.get("/settings/profile")
        yield* owner.get("/settings/members")
        expect(taken).toEqual([])
        yield* owner.submit("/settings/profile", { action: "profile", name: "Ada" })
        yield* owner.submit("/settings/members", { action: "invite", email: "", role: "member" })
        yield* owner.send("POST", "/settings/members", { csrf: "forged" })
        expect(taken).toEqual(Array(3).fill(`account ${id}`))
      },
      { limiter }
    )
  })

  test("do nothing for a form whose account has spent its share, and say when to come back", () =>
    inHouse(
      function* (house) {
        const { id } = yield* addAccount(house)
        const owner = yield* signedIn(house)
        const forms = [
          ["/settings/profile", { action: "profile", name: "Countess" }],
          ["/settings/profile", { action: "password", current_password: password, new_password: fresh }],
          ["/settings/members", { action: "invite", email: "b@example.com", role: "member" }],
          ["/settings/members", { action: "set-place", id, place: "acme" }]
        ] as const
        const verified = house.hashed.verify
        for (const [path, fields] of forms) {
          const answer = yield* owner.submit(path, fields)
          expect([answer.status, header(answer, "retry-after")]).toEqual([429, "9"])
        }
        expect(house.hashed.verify).toBe(verified)
        const kept = yield* house.accounts.book.find(house.workspace.id, id) ?? expect.unreachable()
        expect(kept).toMatchObject({ name: "Ada", epoch: 1 })
        expect(kept).not.toHaveProperty("places")
      },
      {
        limiter: Layer.succeed(Limiter, {
          take: ({ allowance: { name } }) =>
            name === "account" ? new TooManyRequests({ limit: name, retryAfterSeconds: 9 }) : Effect.void
        })
      }
    ))

  test("answer what they do not understand in words", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = yield* signedIn(house)
      for (const path of ["/settings/profile", "/settings/members"]) {
        for (const action of ["", "constructor", "__proto__", "delete"]) {
          const answer = yield* owner.submit(path, { action })
          expect([answer.status, header(answer, "content-type")]).toEqual([403, "text/html; charset=utf-8"])
        }
        for (const done of ["constructor", "__proto__", "toString", "x"]) {
          expect((yield* owner.get(`${path}?done=${done}`)).status).toBe(200)
        }
      }
      expect((yield* owner.get("/settings/members?after=%00%ff")).status).toBe(200)
      expect((yield* owner.submit("/settings/members", { action: "remove", id: "\u0000" })).status).toBe(409)
      expect((yield* owner.submit("/settings/members", { action: "withdraw", id: "\u0000" })).status).toBe(409)
    }))

  test("say of each form whether it did what it was to do, by the code in the address that it leads to", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = yield* signedIn(house)
      for (const [section, code, kind] of [
        ["profile", "profile", "done"],
        ["profile", "password", "done"],
        ["sessions", "session-ended", "done"],
        ["sessions", "others-ended", "done"],
        ["sessions", "session-gone", "problem"],
        ["members", "withdraw", "done"],
        ["members", "removed", "done"],
        ["members", "removing", "done"],
        ["members", "place-set", "done"],
        ["members", "place-removed", "done"],
        ["members", "place-removing", "done"],
        ["members", "place-gone", "problem"]
      ] as const) {
        const page = yield* browser.get(`/settings/${section}?done=${code}`)
        expect([section, code, noticeOn(page)]).toEqual([section, code, kind])
        expect(noticeOn(yield* browser.get(`/settings/${section}?done=${code}x`))).toBeUndefined()
      }
    }))
})

describe("the profile", () => {
  test("takes another name, and none", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = yield* signedIn(house)
      const answer = yield* browser.submit("/settings/profile", { action: "profile", name: " Ada\u0000 <b>L</b> " })
      expect(header(answer, "location")).toBe("/settings/profile?done=profile")
      const page = yield* browser.get("/settings/profile?done=profile")
      expect(noticeOn(page)).toBe("done")
      expect(page.body).toContain('value="Ada &lt;b&gt;L&lt;/b&gt;"')
      const long = yield* browser.submit("/settings/profile", { action: "profile", name: "n".repeat(101) })
      expect([long.status, fieldProblems(long)]).toEqual([400, ["name"]])
      yield* browser.submit("/settings/profile", { action: "profile", name: " " })
      const account = yield* house.accounts.book.list(house.workspace.id, { after: undefined, limit: 1 })
      expect(account.values[0]).toMatchObject({ name: null })
    }))

  test("takes a new password from who knows the old one, and ends every other session", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const here = yield* signedIn(house)
      const elsewhere = yield* signedIn(house)
      const before = here.cookies.get("__Host-tessera_session")
      const answer = yield* changePassword(here)
      expect(header(answer, "location")).toBe("/settings/profile?done=password")
      expect((yield* here.get("/settings/profile")).status).toBe(200)
      expect(here.cookies.get("__Host-tessera_session")).not.toBe(before)
      expect((yield* elsewhere.get("/settings/profile")).status).toBe(303)
      const old = new Browser(house)
      old.cookies.set("__Host-tessera_session", before ?? "")
      expect((yield* old.get("/settings/profile")).status).toBe(303)
      expect((yield* new Browser(house).signIn()).status).toBe(403)
      expect((yield* new Browser(house).signIn("ada@example.com", fresh)).status).toBe(303)
    }))

  test("takes a new password, and says so, though the sessions of the old one could not be removed", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        const ada = yield* addAccount(house)
        const here = yield* signedIn(house)
        const elsewhere = yield* signedIn(house)
        const page = yield* here.get("/settings/profile")
        const fields = { action: "password", current_password: password, new_password: fresh }
        away.add("list session")
        const answer = yield* here.send("POST", "/settings/profile", { ...hiddenFields(page.body), ...fields })
        away.clear()
        expect(header(answer, "location")).toBe("/settings/profile?done=password")
        expect((yield* here.get("/settings/profile")).status).toBe(200)
        expect((yield* elsewhere.get("/settings/profile")).status).toBe(303)
        expect(house.audit.map(({ event }) => event)).toContainEqual({
          _tag: "AccountChanged",
          account: ada.id,
          change: "password",
          by: ada.id
        })
        expect(house.log.filter((line) => line.includes('"fault"'))).toHaveLength(1)
      },
      { storage: partlyAway(away) }
    )
  })

  test("takes a new password, and has its person sign in with it, though no session could be started", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const here = yield* signedIn(house)
        const page = yield* here.get("/settings/profile")
        const fields = { action: "password", current_password: password, new_password: fresh }
        away.add("insert session")
        const answer = yield* here.send("POST", "/settings/profile", { ...hiddenFields(page.body), ...fields })
        away.clear()
        const login = header(answer, "location") ?? ""
        expect([answer.status, login]).toEqual([303, "/login?return_to=%2Fsettings%2Fprofile%3Fdone%3Dpassword"])
        const signed = yield* here.signIn("ada@example.com", fresh, login)
        expect(noticeOn(yield* here.get(header(signed, "location") ?? ""))).toBe("done")
        expect(house.log.filter((line) => line.includes('"fault"'))).toHaveLength(1)
      },
      { storage: partlyAway(away) }
    )
  })

  test("leaves alone a session of the new password that began before those of the old one were removed", () => {
    let meanwhile: Effect.Effect<unknown> = Effect.void
    return inHouse(
      function* (house) {
        const ada = yield* addAccount(house)
        yield* signedIn(house)
        const quick = new Browser(house)
        meanwhile = quick.signIn("ada@example.com", fresh)
        yield* house.accounts.changePassword(house.workspace, ada.id, secret(fresh), farewell(house))
        expect((yield* quick.get("/settings/profile")).status).toBe(200)
        const listing = { kind: "session", workspace: house.workspace.id, owner: sessionsOwner(ada.id) } as const
        const kept = yield* house.storage.list({ ...listing, after: undefined, limit: 10 })
        expect(kept.records).toHaveLength(1)
      },
      {
        storage: (below) => ({
          ...below,
          list: (listing) =>
            Effect.andThen(listing.kind === "session" ? Effect.ignore(meanwhile) : Effect.void, below.list(listing))
        })
      }
    )
  })

  test("keeps the password where the old one is wrong or the new one is none, and slows guessing down", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = yield* signedIn(house)
      const short = yield* changePassword(browser, password, "short")
      expect([short.status, fieldProblems(short)]).toEqual([400, ["new_password"]])
      const plain = yield* changePassword(browser, password, " ".repeat(10))
      expect([plain.status, fieldProblems(plain)]).toEqual([400, ["new_password"]])
      const answers: Array<number> = []
      for (let tries = 0; tries < 7; tries++) {
        const answer = yield* changePassword(browser, "guess")
        answers.push(answer.status)
        if (answer.status === 400) expect(fieldProblems(answer)).toEqual(["current_password"])
      }
      expect(answers).toEqual([400, 400, 400, 400, 400, 429, 429])
      const told = house.audit.flatMap(({ event }) => (event._tag === "AccountRefused" ? [event.reason] : []))
      expect(told).toEqual(["password_too_short", "password_too_plain", ...Array(5).fill("wrong_password")])
      expect((yield* new Browser(house).signIn()).status).toBe(303)
    }))

  test("notes who changed their name, and who could not", () =>
    inHouse(function* (house) {
      const { id } = yield* addAccount(house)
      const browser = yield* signedIn(house)
      yield* browser.submit("/settings/profile", { action: "profile", name: "Countess" })
      const wrong = yield* browser.submit("/settings/profile", { action: "profile", name: "n".repeat(101) })
      expect([wrong.status, fieldProblems(wrong)]).toEqual([400, ["name"]])
      expect(typedOn(wrong)).toMatchObject({ name: "n".repeat(101), email: "ada@example.com" })
      expect(typedOn(yield* browser.get("/settings/profile"))).toMatchObject({ name: "Countess" })
      expect(house.audit.slice(-2).map(({ event }) => event)).toEqual([
        { _tag: "AccountChanged", account: id, change: "name", by: id },
        { _tag: "AccountRefused", change: "name", reason: "name_too_long", account: id, by: id }
      ])
    }))

  test("slows down who guesses in one session, and no other session of the same person", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const stolen = yield* signedIn(house)
      const own = yield* signedIn(house)
      for (let tries = 0; tries < 5; tries++) yield* changePassword(stolen, "guess")
      expect((yield* changePassword(stolen, "guess")).status).toBe(429)
      expect((yield* changePassword(own)).status).toBe(303)
    }))

  test(`takes one new password for an old one, though two come at once (seed ${seed})`, async () => {
    const refusals = new Set<string>()
    for (let run = 0; run < 40; run++) {
      await inHouse(
        function* (house) {
          yield* addAccount(house)
          const browsers = [yield* signedIn(house), yield* signedIn(house)]
          const words = ["the owner's new words", "the thief's new words"]
          const answers = yield* atOnce(browsers.map((browser, i) => changePassword(browser, password, words[i])))
          const taken = answers.map((answer) => header(answer, "location") === "/settings/profile?done=password")
          expect({ seed, run, taken: taken.filter(Boolean).length }).toEqual({ seed, run, taken: 1 })
          const refused = answers[taken.indexOf(false)]
          if (refused !== undefined) for (const field of fieldProblems(refused)) refusals.add(field)
          for (const [i, typed] of words.entries()) {
            const inside = (yield* new Browser(house).signIn("ada@example.com", typed)).status === 303
            expect({ seed, run, inside }).toEqual({ seed, run, inside: taken[i] === true })
          }
        },
        { storage: jostling(`both ${seed} ${run}`), seed: `both ${seed} ${run}` }
      )
    }
    expect(refusals).toContain("current_password")
  })

  test(`leaves no session of a sign-in with the old password, however the two meet (seed ${seed})`, async () => {
    const outcomes = new Set<number>()
    for (let run = 0; run < 60; run++) {
      await inHouse(
        function* (house) {
          const ada = yield* addAccount(house)
          const thief = new Browser(house)
          // The first request opens the workspace, which would give the other a start.
          yield* thief.get("/login")
          const [answer] = yield* atOnce([
            thief.signIn(),
            Effect.as(house.accounts.changePassword(house.workspace, ada.id, secret(fresh), farewell(house)), undefined)
          ])
          outcomes.add(answer?.status ?? 0)
          const inside = (yield* thief.get("/settings/profile")).status === 200
          expect({ seed, run, inside }).toEqual({ seed, run, inside: false })
        },
        { storage: jostling(`password ${seed} ${run}`), seed: `password ${seed} ${run}` }
      )
    }
    expect(outcomes.size).toBeGreaterThan(1)
  })
})
