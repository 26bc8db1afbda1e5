import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { answerAndKeep } from "../../core/grant/Decision.ts"
import { standardAccountPolicy } from "../../core/people/Account.ts"
import { makeSetUpLink } from "../../core/people/firstOwner.ts"
import { networkOf } from "../../core/ports/Limiter.ts"
import type { TrustedIssuer } from "../../core/rules/TrustedIssuer.ts"
import { seed } from "../adapters/seed.ts"
import { type Away, partlyAway } from "../given/countingStorage.ts"
import { header, hiddenFields } from "../given/flow.ts"
import { fieldProblems, noticeOn, pageName, typedOn } from "../given/page.ts"
import { t0 } from "../given/World.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"
import { addAccount, Browser, type House, inHouse, password, reveal } from "./House.ts"
import { afterSomeTurns, atOnce, jostling } from "./stores.ts"

const person = { name: "Ada", email: "ada@example.com", password }

const opened = (house: House) =>
  house.audit.flatMap(({ event }) => (event._tag === "AccountChanged" && event.change === "created" ? [event] : []))

/** The link's path and query, as a browser asks for it. */
const pathOf = (url: string) => url.replace(/^https:\/\/[^/]+/, "")

const setUpLink = (house: House) =>
  Effect.map(makeSetUpLink(house.accounts, house.workspace), (link) => pathOf(reveal(link ?? expect.unreachable())))

const inviteBy = Effect.fnUntraced(function* (owner: Browser, fields: Readonly<Record<string, string>> = {}) {
  const page = yield* owner.submit("/settings/members", { action: "invite", email: "", role: "member", ...fields })
  const link = /value="(https:[^"]*\/invite\?token=[\w-]{43})"/.exec(page.body)?.[1] ?? "no link"
  return pathOf(link)
})

const members = (house: House) =>
  Effect.map(house.accounts.book.list(house.workspace.id, { after: undefined, limit: 100 }), ({ values }) =>
    values.filter((account) => account._tag === "Active")
  )

test("who opens an account waits among the strangers of their network, and keeps no known person waiting", () =>
  inHouse(function* (house) {
    const { passwords } = house.accounts
    const { hash } = passwords
    const waited: Array<Parameters<typeof hash>[1]> = []
    Object.assign(passwords, {
      hash: (...[typed, who]: Parameters<typeof hash>) => {
        waited.push(who)
        return hash(typed, who)
      }
    })
    yield* new Browser(house, "192.0.2.7").submit(yield* setUpLink(house), person)
    const owner = new Browser(house)
    yield* owner.signIn()
    const guest = { ...person, email: "bob@example.com" }
    yield* new Browser(house, "2001:db8::7").submit(yield* inviteBy(owner), guest)
    expect(yield* members(house)).toHaveLength(2)
    expect(waited).toEqual([{ network: "192.0.2.7" }, { network: networkOf("2001:db8::7") }])
  }))

test("links are listed by their kind, and kept until they end", () => {
  const written: Array<unknown> = []
  return inHouse(
    function* (house) {
      yield* setUpLink(house)
      yield* addAccount(house)
      const owner = new Browser(house)
      yield* owner.signIn()
      yield* inviteBy(owner)
      const { invitationTtl, setUpTtl } = standardAccountPolicy
      expect(written).toEqual([
        { owner: "set-up", expiresAt: t0 + setUpTtl },
        { owner: "invitations", expiresAt: t0 + invitationTtl }
      ])
      const listed = (tag: "SetUp" | "Invitation") =>
        Effect.map(house.accounts.links.list(house.workspace.id, tag, { after: undefined, limit: 10 }), ({ values }) =>
          values.map(({ _tag }) => _tag)
        )
      expect([yield* listed("SetUp"), yield* listed("Invitation")]).toEqual([["SetUp"], ["Invitation"]])
    },
    {
      storage: (below) => ({
        ...below,
        insert: (record) => {
          if (record.kind === "link") written.push({ owner: record.owner, expiresAt: record.expiresAt })
          return below.insert(record)
        }
      })
    }
  )
})

describe("the set-up link", () => {
  test("makes the first account an owner's, and signs them in", () =>
    inHouse(function* (house) {
      const link = yield* setUpLink(house)
      expect(link).toMatch(/^\/set-up\?token=[\w-]{43}$/)
      const browser = new Browser(house)
      const answer = yield* browser.submit(link, person)
      expect([answer.status, header(answer, "location")]).toEqual([303, "/settings"])
      const list = yield* browser.get("/settings/members")
      expect(list.status).toBe(200)
      expect(list.body.split(`datetime="${new Date(t0).toISOString()}"`)).toHaveLength(3)
      expect(yield* members(house)).toMatchObject([{ email: "ada@example.com", name: "Ada", role: "owner" }])
      expect((yield* new Browser(house).signIn()).status).toBe(303)
      const left = yield* house.accounts.links.list(house.workspace.id, "SetUp", { after: undefined, limit: 10 })
      expect(left.values).toEqual([])
    }))

  test("works once, and not by being looked at", () =>
    inHouse(function* (house) {
      const link = yield* setUpLink(house)
      for (let look = 0; look < 3; look++) expect((yield* new Browser(house).get(link)).status).toBe(200)
      const late = new Browser(house)
      const page = yield* late.get(link)
      yield* new Browser(house).submit(link, person)
      expect((yield* new Browser(house).get(link)).status).toBe(410)
      const again = { ...hiddenFields(page.body), ...person, email: "eve@example.com" }
      expect((yield* late.send("POST", "/set-up", again)).status).toBe(410)
      expect(yield* members(house)).toHaveLength(1)
    }))

  test(`makes one owner, however many were printed and are used at once (seed ${seed})`, async () => {
    for (let run = 0; run < 40; run++) {
      await inHouse(
        function* (house) {
          const links = [yield* setUpLink(house), yield* setUpLink(house)]
          const answers = yield* atOnce(
            links.map((link, index) =>
              Effect.map(
                new Browser(house).submit(link, { ...person, email: `p${index}@example.com` }),
                ({ status }) => status
              )
            )
          )
          expect({ seed, run, answers: answers.sort() }).toEqual({ seed, run, answers: [303, 410] })
          expect(yield* members(house)).toHaveLength(1)
        },
        { storage: jostling(`set up ${seed} ${run}`), seed: `set up ${seed} ${run}` }
      )
    }
  })

  test("makes the account, and lets them in, though it could not be removed itself", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        const link = yield* setUpLink(house)
        const browser = new Browser(house)
        away.add("remove link")
        const answer = yield* browser.submit(link, person)
        away.clear()
        expect([answer.status, header(answer, "location")]).toEqual([303, "/settings"])
        expect((yield* browser.get("/settings/members")).status).toBe(200)
        const [{ id } = { id: "nobody" }] = yield* members(house)
        expect(opened(house)).toMatchObject([{ role: "owner", account: id, by: id }])
        expect(house.log.filter((line) => line.includes(`"account":"${id}"`))).toHaveLength(1)
        const spent = yield* new Browser(house).get(link)
        expect([spent.status, pageName(spent)]).toEqual([410, "error-link-spent"])
        expect(spent.body).toContain('href="/login"')
      },
      { storage: partlyAway(away) }
    )
  })

  test("makes the account, and has its person sign in, though no session could be started", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        const link = yield* setUpLink(house)
        const browser = new Browser(house)
        away.add("insert session")
        const answer = yield* browser.submit(link, person)
        away.clear()
        expect([answer.status, header(answer, "location")]).toEqual([303, "/login?return_to=%2Fsettings"])
        expect(opened(house)).toMatchObject([{ role: "owner" }])
        expect(house.log.filter((line) => line.includes("no session could be started"))).toHaveLength(1)
        expect((yield* browser.signIn()).status).toBe(303)
        expect((yield* browser.get("/settings/members")).status).toBe(200)
      },
      { storage: partlyAway(away) }
    )
  })

  test("is not made where there is an account, and one from before opens nothing then", () =>
    inHouse(function* (house) {
      const link = yield* setUpLink(house)
      yield* addAccount(house)
      expect(yield* makeSetUpLink(house.accounts, house.workspace)).toBeUndefined()
      expect((yield* new Browser(house).get(link)).status).toBe(410)
    }))

  test("expires at its time, not before", () =>
    inHouse(function* (house) {
      const link = yield* setUpLink(house)
      yield* TestClock.adjust(standardAccountPolicy.setUpTtl - 1)
      expect((yield* new Browser(house).get(link)).status).toBe(200)
      yield* TestClock.adjust(1)
      expect((yield* new Browser(house).get(link)).status).toBe(410)
    }))

  test("is known by its digest alone, goes into no referrer, and is no invitation", () => {
    const written: Array<string> = []
    return inHouse(
      function* (house) {
        const link = yield* setUpLink(house)
        const token = link.split("=")[1] ?? "no token"
        expect(written).toHaveLength(1)
        expect(written[0]).not.toContain(token)
        const page = yield* new Browser(house).get(link)
        expect(header(page, "referrer-policy")).toBe("no-referrer")
        expect(header(page, "cache-control")).toBe("no-store")
        expect((yield* new Browser(house).get(`/invite?token=${token}`)).status).toBe(410)
        expect(JSON.stringify([house.log, house.audit])).not.toContain(token)
      },
      {
        storage: (below) => ({
          ...below,
          insert: (record) => {
            written.push(JSON.stringify(record))
            return below.insert(record)
          }
        })
      }
    )
  })

  test("whose secret is mangled, repeated or missing opens nothing", () =>
    inHouse(function* (house) {
      const link = yield* setUpLink(house)
      const token = link.split("=")[1] ?? ""
      const wrong = ["/set-up", "/set-up?token=", `${link}x`, link.slice(0, -1), `/set-up?token=${"A".repeat(43)}`]
      for (const target of wrong) expect((yield* new Browser(house).get(target)).status).toBe(410)
      expect((yield* new Browser(house).get(`/set-up?token=%00${token}`)).status).toBe(410)
    }))

  test("says what is wrong with an answer, and stays good for the next one", () =>
    inHouse(function* (house) {
      const link = yield* setUpLink(house)
      const browser = new Browser(house)
      const rows: ReadonlyArray<readonly [field: string, change: Partial<typeof person>]> = [
        ["password", { password: "short" }],
        ["password", { password: "é".repeat(513) }],
        ["password", { password: "a".repeat(20) }],
        ["password", { password: "ada@example.com" }],
        ["email", { email: "ada" }],
        ["name", { name: "n".repeat(101) }],
        ["name", { name: "n".repeat(101), password: "" }]
      ]
      for (const [field, change] of rows) {
        const answer = yield* browser.submit(link, { ...person, ...change })
        const focus = /<input [^>]*name="([^"]*)"[^>]* autofocus/.exec(answer.body)?.[1]
        expect([change, answer.status, fieldProblems(answer), focus]).toEqual([change, 400, [field], field])
        expect(typedOn(answer)).toEqual({ ...person, ...change, password: "" })
        expect(answer.body).toContain("<title>Problem: ")
      }
      const fresh = yield* browser.get(link)
      expect([fresh.body.includes("<title>Problem: "), fieldProblems(fresh)]).toEqual([false, []])
      expect((yield* browser.submit(link, person)).status).toBe(303)
    }))

  test("takes of its network's share with every answer, and each that is refused is noted", () => {
    const { limiter, taken } = watchedLimiter()
    return inHouse(
      function* (house) {
        const link = yield* setUpLink(house)
        const browser = new Browser(house, "2001:db8:1:2::7")
        yield* browser.submit(link, { ...person, password: "short" })
        yield* browser.submit(link, { ...person, csrf: "forged" })
        yield* browser.send("POST", "/set-up", { token: "x", ...person })
        expect(house.audit.map(({ event }) => event)).toEqual([
          { _tag: "AccountRefused", change: "created", reason: "password_too_short" },
          { _tag: "Refused", endpoint: "/set-up", refusal: "ForgedForm", reason: "csrf" },
          { _tag: "AccountRefused", change: "created", reason: "link_spent" }
        ])
        yield* browser.submit(link, person)
        expect(taken).toEqual(Array(4).fill(["sign_in 2001:db8:1:2::/64", "sign_in_region 2001:db8:1::/48"]).flat())
      },
      { limiter }
    )
  })

  test("does nothing for a forged form", () =>
    inHouse(function* (house) {
      const link = yield* setUpLink(house)
      const token = link.split("=")[1] ?? ""
      const browser = new Browser(house)
      expect((yield* browser.send("POST", "/set-up", { ...person, token })).status).toBe(403)
      const { csrf = "" } = hiddenFields((yield* new Browser(house).get(link)).body)
      yield* browser.get(link)
      const again = yield* browser.send("POST", "/set-up", { ...person, token, csrf })
      expect([again.status, pageName(again), noticeOn(again)]).toEqual([403, "set-up", "problem"])
      expect(typedOn(again)).toEqual({ name: "Ada", email: "ada@example.com", password: "" })
      // What the page holds now is good.
      expect((yield* browser.send("POST", "/set-up", { ...person, ...hiddenFields(again.body) })).status).toBe(303)
    }))
})

describe("an invitation", () => {
  test("makes a member, of the role that the owner chose", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = new Browser(house)
      yield* owner.signIn()
      for (const role of ["member", "owner"]) {
        const link = yield* inviteBy(owner, { role })
        const guest = new Browser(house)
        const page = yield* guest.get(link)
        expect(page.body.replaceAll("<wbr>", "")).toContain("ada@example.com")
        expect(page.body).toContain(role === "owner" ? "as an owner" : "as a member")
        const email = `${role}@example.com`
        expect((yield* guest.submit(link, { ...person, email, role: "owner" })).status).toBe(303)
        expect((yield* guest.get("/settings/members")).status).toBe(role === "owner" ? 200 : 403)
      }
      const { body } = yield* owner.get("/settings/members")
      const lastSignedIn = [...body.matchAll(/Last signed in<\/dt><dd>(.*?)<\/dd>/g)].map(([, text]) => text)
      expect(lastSignedIn).toEqual(Array(3).fill(expect.stringContaining(">just now<")))
    }))

  test("for anyone takes no address that a trusted issuer speaks for: its person could come by that issuer", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = new Browser(house)
      yield* owner.signIn()
      const { openings } = house.services
      const workspace = yield* openings.open(house.workspace)
      const trust = (issuer: string, domains?: readonly [string]) =>
        openings.trust(workspace, (all) => {
          const one: TrustedIssuer = {
            issuer,
            keys: { _tag: "Fetched", jwksUri: `${issuer}/keys` },
            people: "known",
            ...(domains === undefined ? {} : { domains })
          }
          return answerAndKeep([...all, one], undefined)
        })
      yield* trust("https://login.acme.example", ["acme.example"])
      const accepts = Effect.fnUntraced(function* (email: string, invited = "") {
        const link = yield* inviteBy(owner, { email: invited })
        return (yield* new Browser(house).submit(link, { ...person, email })).status
      })
      expect(yield* accepts("bea@ACME.example")).toBe(400)
      expect(yield* accepts("bea@acme.example", "bea@acme.example")).toBe(303)
      expect(yield* accepts("cy@example.com")).toBe(303)
      yield* trust("https://login.example")
      expect(yield* accepts("di@example.com")).toBe(400)
      expect(yield* accepts("di@example.com", "di@example.com")).toBe(303)
      const told = (yield* members(house)).map(({ email }) => String(email)).toSorted()
      expect(told).toEqual(["ada@example.com", "bea@acme.example", "cy@example.com", "di@example.com"])
    }))

  test("that was used and could not be removed opens no second account, and can be taken out of the list", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const owner = new Browser(house)
        yield* owner.signIn()
        const link = yield* inviteBy(owner)
        away.add("remove link")
        const guest = new Browser(house)
        expect((yield* guest.submit(link, { ...person, email: "bob@example.com" })).status).toBe(303)
        away.clear()
        expect((yield* guest.get("/settings/profile")).status).toBe(200)
        expect(opened(house)).toMatchObject([{ role: "member" }])
        expect((yield* new Browser(house).get(link)).status).toBe(410)
        const list = yield* owner.get("/settings/members")
        const id = /name="id" value="([\w-]{43})"/.exec(list.body)?.[1] ?? ""
        expect((yield* owner.submit("/settings/members", { action: "withdraw", id })).status).toBe(409)
        expect((yield* owner.get("/settings/members")).body).not.toContain(id)
        expect(yield* members(house)).toHaveLength(2)
      },
      { storage: partlyAway(away) }
    )
  })

  test("for an address shows it as fixed, and leaves it open where it is for none", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = new Browser(house)
      yield* owner.signIn()
      const seen = []
      for (const email of ["bob@example.com", ""]) {
        const page = yield* new Browser(house).get(yield* inviteBy(owner, { email }))
        const [field = ""] = /<input [^>]*name="email"[^>]*>/.exec(page.body) ?? []
        seen.push([pageName(page), typedOn(page), field.includes(" readonly"), noticeOn(page)])
      }
      expect(seen).toEqual([
        ["invitation", { name: "", email: "bob@example.com", password: "" }, true, undefined],
        ["invitation", { name: "", email: "", password: "" }, false, undefined]
      ])
    }))

  test("tells a person which field they left out, and keeps what they typed", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = new Browser(house)
      yield* owner.signIn()
      const link = yield* inviteBy(owner)
      const guest = new Browser(house)
      const { csrf = "", token = "" } = hiddenFields((yield* guest.get(link)).body)
      const bare = yield* guest.send("POST", "/invite", { csrf, token })
      expect([bare.status, typedOn(bare)]).toEqual([400, { name: "", email: "", password: "" }])
      expect(fieldProblems(bare)).toEqual(["email"])
      const open = yield* guest.send("POST", "/invite", { csrf, token, email: "bob@example.com" })
      expect([open.status, fieldProblems(open)]).toEqual([400, ["password"]])
      const named = yield* guest.submit(link, { name: "Bob" })
      expect([named.status, typedOn(named)]).toEqual([400, { name: "Bob", email: "", password: "" }])
    }))

  test("for an address takes no other, however the form says so", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = new Browser(house)
      yield* owner.signIn()
      const link = yield* inviteBy(owner, { email: " Bob@Example.com" })
      const guest = new Browser(house)
      const other = yield* guest.submit(link, { ...person, email: "eve@example.com" })
      expect([other.status, fieldProblems(other)]).toEqual([400, ["email"]])
      expect((yield* guest.submit(link, { ...person, email: "BOB@example.com" })).status).toBe(303)
      expect((yield* members(house)).map(({ email }): string => email).sort()).toEqual([
        "ada@example.com",
        "bob@example.com"
      ])
    }))

  test("to an email that has an account meanwhile says so, and stays good", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = new Browser(house)
      yield* owner.signIn()
      const link = yield* inviteBy(owner)
      const guest = new Browser(house)
      const taken = yield* guest.submit(link, person)
      expect([taken.status, fieldProblems(taken)]).toEqual([400, ["email"]])
      expect((yield* guest.submit(link, { ...person, email: "bob@example.com" })).status).toBe(303)
    }))

  test("expires after seven days, not before", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = new Browser(house)
      yield* owner.signIn()
      const link = yield* inviteBy(owner)
      yield* TestClock.adjust(7 * 24 * 60 * 60 * 1000 - 1)
      expect((yield* new Browser(house).get(link)).status).toBe(200)
      yield* TestClock.adjust(1)
      expect((yield* new Browser(house).get(link)).status).toBe(410)
    }))

  test("that was withdrawn opens nothing, also for a page that is open", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = new Browser(house)
      yield* owner.signIn()
      const link = yield* inviteBy(owner)
      const guest = new Browser(house)
      const page = yield* guest.get(link)
      const list = yield* owner.get("/settings/members")
      const id = /name="id" value="([\w-]{43})"/.exec(list.body)?.[1] ?? ""
      yield* owner.submit("/settings/members", { action: "withdraw", id })
      const fields = { ...hiddenFields(page.body), ...person, email: "eve@example.com" }
      expect((yield* guest.send("POST", "/invite", fields)).status).toBe(410)
      expect(house.audit.map(({ event }) => event)).toContainEqual(
        expect.objectContaining({ _tag: "AccountChanged", change: "invitation withdrawn" })
      )
      expect((yield* owner.get("/settings/members")).body).not.toContain(id)
      expect(yield* members(house)).toHaveLength(1)
    }))

  test(`that is used twice at once makes one member (seed ${seed})`, async () => {
    for (let run = 0; run < 40; run++) {
      await inHouse(
        function* (house) {
          yield* addAccount(house)
          const owner = new Browser(house)
          yield* owner.signIn()
          const link = yield* inviteBy(owner)
          const guests = ["bob@example.com", "eve@example.com", "bob@example.com"]
          const answers = yield* atOnce(
            guests.map((email) =>
              Effect.map(new Browser(house).submit(link, { ...person, email }), ({ status }) => status)
            )
          )
          const joined = answers.filter((status) => status === 303).length
          const refused = answers.filter((status) => status === 410 || status === 400).length
          expect({ seed, run, joined, refused }).toEqual({ seed, run, joined: 1, refused: 2 })
          expect(yield* members(house)).toHaveLength(2)
        },
        { storage: jostling(`link ${seed} ${run}`), seed: `link ${seed} ${run}` }
      )
    }
  })

  test(`that is used while it is withdrawn is one or the other (seed ${seed})`, async () => {
    const kinds = new Set<string>()
    for (let run = 0; run < 60; run++) {
      await inHouse(
        function* (house) {
          yield* addAccount(house)
          const owner = new Browser(house)
          yield* owner.signIn()
          const link = yield* inviteBy(owner)
          const guest = new Browser(house)
          const page = yield* guest.get(link)
          const list = yield* owner.get("/settings/members")
          const id = /name="id" value="([\w-]{43})"/.exec(list.body)?.[1] ?? ""
          const { csrf = "" } = hiddenFields(list.body)
          const fields = { ...hiddenFields(page.body), ...person, email: "bob@example.com" }
          const [used, withdrawn] = yield* atOnce([
            guest.send("POST", "/invite", fields),
            afterSomeTurns(
              `later ${seed} ${run}`,
              20,
              owner.send("POST", "/settings/members", { csrf, action: "withdraw", id })
            )
          ])
          const isMember = (yield* members(house)).length === 2
          expect({ seed, run, used: used?.status === 303 }).toEqual({ seed, run, used: isMember })
          // The owner is told which.
          expect({ seed, run, withdrawn: withdrawn?.status }).toEqual({ seed, run, withdrawn: isMember ? 409 : 303 })
          kinds.add(`${isMember} ${withdrawn?.status}`)
        },
        { storage: jostling(`withdraw ${seed} ${run}`), seed: `withdraw ${seed} ${run}` }
      )
    }
    expect(kinds.size).toBeGreaterThan(1)
  })
})
