import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { decodeJwt } from "jose"
import type { HttpResponse } from "../../core/http/Http.ts"
import { loginOf, makeSignIn } from "../../core/people/signIn.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { basePath } from "../../core/workspace/Workspace.ts"
import { type Away, partlyAway } from "../given/countingStorage.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import {
  authorizeTarget,
  formHeaders,
  header,
  hiddenFields,
  jsonOf,
  redeem,
  registerClient,
  returned,
  text
} from "../given/flow.ts"
import { noticeOn, pageName } from "../given/page.ts"
import { theWorkspace } from "../given/World.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"
import {
  addAccount,
  Browser,
  cookiesOf,
  type House,
  inHouse,
  isSignedIn,
  nestedWorkspace,
  password,
  secret,
  sessionOf
} from "./House.ts"

/** How many elements of a page are found by a selector of CSS. */
const countOf = ({ body }: HttpResponse, selector: string): number => {
  let count = 0
  new HTMLRewriter().on(selector, { element: () => void count++ }).transform(body)
  return count
}

const events = (house: House) => house.audit.map(({ event }) => event)

describe("signing in", () => {
  test("opens a session, and leads to the settings", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      const answer = yield* browser.signIn()
      expect(answer.status).toBe(303)
      expect(header(answer, "location")).toBe("/settings")
      expect(yield* isSignedIn(browser)).toBe(true)
    }))

  test("and its pages have the elements that the OpenID Foundation's scripted browser is told to use", () =>
    inHouse(
      function* (house) {
        yield* addAccount(house)
        const client = yield* registerClient(house)
        const browser = new Browser(house)
        const away = header(yield* browser.get(authorizeTarget(client, { scope: "openid" })), "location") ?? ""
        const login = yield* browser.get(away)
        yield* browser.signIn("ada@example.com", password, away)
        const consent = yield* browser.get(authorizeTarget(client, { scope: "openid" }))
        const wrong = yield* browser.get(authorizeTarget({ ...client, redirectUri: "https://evil.example/" }))
        const endSession = yield* browser.get("/oauth/logout")
        const ended = yield* browser.submit("/oauth/logout", {})
        for (const [page, selectors] of [
          [login, ["#email", "#password", 'form[action$="/login"] button[type=submit]']],
          [consent, ["button[name=decision][value=approve]", "button[name=decision][value=deny]", "#acknowledged"]],
          [endSession, ["form", "button[type=submit]", "button.primary"]],
          [wrong, ["h1"]],
          [ended, ["h1"]]
        ] as const) {
          for (const selector of selectors) expect([selector, countOf(page, selector)]).toEqual([selector, 1])
        }
        // By that they are told from pages that ask something.
        expect([countOf(wrong, "form"), countOf(ended, "form")]).toEqual([0, 0])
      },
      { documents: new DocumentsWeb().layer() }
    ))

  test("anew where an application asks for it, without a way around it, and once", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const client = yield* registerClient(house)
      const browser = new Browser(house)
      yield* browser.signIn()
      yield* TestClock.adjust("1 minute")
      const target = authorizeTarget(client, { prompt: "login" })
      const away = header(yield* browser.get(target), "location") ?? ""
      const page = yield* browser.get(away)
      expect([pageName(page), page.body.includes("Continue as"), page.body.includes("ada@example.com")]).toEqual([
        "sign-in",
        false,
        true
      ])
      const back = header(yield* browser.signIn("ada@example.com", password, away), "location") ?? ""
      expect(pageName(yield* browser.get(back))).toBe("consent")
      const choice = header(yield* browser.get(authorizeTarget(client, { prompt: "select_account" })), "location")
      const [, goOn = ""] = /<a class="button wide" href="([^"]*)"/.exec((yield* browser.get(choice ?? "")).body) ?? []
      expect(pageName(yield* browser.get(goOn.replaceAll("&amp;", "&")))).toBe("consent")
    }))

  test("finds the email however it is typed", () =>
    inHouse(function* (house) {
      yield* addAccount(house, "Ada@Example.com")
      for (const typed of ["ada@example.com", " ADA@EXAMPLE.COM\t", "ａｄａ@example.com"]) {
        const browser = new Browser(house)
        yield* browser.signIn(typed)
        expect(yield* isSignedIn(browser)).toBe(true)
      }
    }))

  test("finds the password by whatever keyboard its letters come", () =>
    inHouse(function* (house) {
      yield* addAccount(house, "first@example.com")
      const browser = new Browser(house)
      const composed = "naïve café ligature ﬁ"
      yield* browser.signIn("first@example.com")
      yield* browser.submit("/settings/profile", {
        action: "password",
        current_password: password,
        new_password: composed
      })
      for (const typed of [composed, composed.normalize("NFD"), composed.normalize("NFKC")]) {
        const other = new Browser(house)
        yield* other.signIn("first@example.com", typed)
        expect(yield* isSignedIn(other)).toBe(true)
      }
    }))

  test("leads back to where it was asked for, the request unharmed", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const client = yield* registerClient(house, { client_name: "Ledger" })
      const browser = new Browser(house)
      const target = authorizeTarget(client, { state: "a b&c=d/é" })
      const away = header(yield* browser.get(target), "location") ?? ""
      expect(away).toBe(`/login?return_to=${encodeURIComponent(target)}`)
      const page = yield* browser.get(away)
      expect(page.body).toContain("Ledger")
      const answer = yield* browser.signIn("ada@example.com", password, away)
      expect(header(answer, "location")).toBe(target)
      const consent = yield* browser.get(target)
      expect(consent.status).toBe(200)
      expect(consent.body.replaceAll("<wbr>", "")).toContain("ada@example.com")
    }))

  test("says for whom, though the address in the request has a bare question mark", () =>
    inHouse(function* (house) {
      const redirect = "https://app.example/callback?tenant=1"
      const client = yield* registerClient(house, { client_name: "Ledger", redirect_uris: [redirect] })
      const rest = authorizeTarget(client, { redirect_uri: undefined }).split("?")[1]
      const asked = yield* house.send("GET", `/oauth/authorize?redirect_uri=${redirect}&${rest}`)
      const page = yield* house.send("GET", header(asked, "location") ?? "")
      expect(page.body).toContain('to continue to <bdi class="name">Ledger</bdi>')
    }))

  test("says for no application where it leads to no application's request", () =>
    inHouse(function* (house) {
      const client = yield* registerClient(house, { client_name: "Ledger" })
      for (const path of ["/settings", "/oauth/authorize/", "/settings/oauth/authorize"]) {
        const page = yield* house.send(
          "GET",
          `/login?return_to=${encodeURIComponent(`${path}?client_id=${client.id}`)}`
        )
        expect([page.status, page.body.includes("Ledger")]).toEqual([200, false])
      }
    }))

  test("leaves nothing of the form in the browser, and a name for the browser", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      yield* browser.get("/login")
      expect([...browser.cookies.keys()]).toEqual(["__Host-tessera_form"])
      yield* browser.signIn()
      expect([...browser.cookies.keys()].toSorted()).toEqual(["__Host-tessera_device", "__Host-tessera_session"])
    }))

  test("is offered to who is signed in already, for another account", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      yield* addAccount(house, "bob@example.com", "member")
      const browser = new Browser(house)
      yield* browser.signIn()
      expect((yield* browser.get("/login")).body).toContain("ada@example.com")
      yield* browser.signIn("bob@example.com")
      expect((yield* browser.get("/settings/profile")).body).toContain("bob@example.com")
    }))

  test("succeeds though the session before could not be ended, and that is a warning", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        const { id } = yield* addAccount(house)
        const browser = new Browser(house)
        yield* browser.signIn()
        const before = sessionOf(browser)
        away.add("remove session")
        expect((yield* browser.signIn()).status).toBe(303)
        away.clear()
        expect(sessionOf(browser)).not.toBe(before)
        expect(yield* isSignedIn(browser)).toBe(true)
        expect(events(house)).toEqual(Array(2).fill({ _tag: "SignedIn", account: id }))
        expect(house.log.filter((line) => line.includes("could not be ended"))).toHaveLength(1)
        expect(JSON.stringify(house.log)).not.toContain(before ?? "no session")
      },
      { storage: partlyAway(away) }
    )
  })

  test("is told to the audit stream, and no secret is", () =>
    inHouse(function* (house) {
      const account = yield* addAccount(house)
      const browser = new Browser(house)
      yield* browser.signIn("ada@example.com", "not it at all")
      yield* browser.signIn("bob@example.com")
      yield* browser.signIn()
      expect(events(house)).toEqual([
        { _tag: "SignInFailed", reason: "wrong_password", account: account.id },
        { _tag: "SignInFailed", reason: "unknown_email" },
        { _tag: "SignedIn", account: account.id }
      ])
      const said = JSON.stringify([house.audit, house.log])
      for (const secret of [password, "not it at all", "example.com", sessionOf(browser) ?? "no session"]) {
        expect(said).not.toContain(secret)
      }
    }))
})

describe("a sign-in that fails", () => {
  const attempt = (email: string, seed: string) =>
    inHouse(
      function* (house) {
        yield* addAccount(house, "known@example.com")
        const browser = new Browser(house)
        const { verify } = house.hashed
        const answer = yield* browser.signIn(email, "not the password")
        return { answer, verified: house.hashed.verify - verify, session: sessionOf(browser) }
      },
      { seed }
    )

  /** Without what is drawn anew for every page. */
  const withoutChance = (answer: HttpResponse, email: string) =>
    JSON.stringify(answer)
      .replaceAll(email, "EMAIL")
      .replace(/[0-9a-f]{8}\.[\w-]{43}/g, "CSRF")
      .replace(/form=[\w-]{22}/, "FORM")
      .replace(/"x-request-id","[^"]+"/, "REQUEST")

  test("says the same, byte for byte, of an unknown email and a wrong password", async () => {
    const known = await attempt("known@example.com", "one")
    const unknown = await attempt("other@example.com", "two")
    expect(withoutChance(known.answer, "known@example.com")).toBe(withoutChance(unknown.answer, "other@example.com"))
    expect(known.answer.status).toBe(403)
    expect([pageName(known.answer), noticeOn(known.answer)]).toEqual(["sign-in", "problem"])
    expect([known.session, unknown.session]).toEqual([undefined, undefined])
  })

  test("costs one verification in either case, and for what is no email", async () => {
    for (const email of ["known@example.com", "other@example.com", "nobody"]) {
      expect((await attempt(email, "three")).verified).toBe(1)
    }
  })

  test("reads as many records in either case", async () => {
    const reads = (email: string) =>
      inHouse(
        function* (house) {
          yield* addAccount(house, "known@example.com")
          const browser = new Browser(house)
          counted.length = 0
          yield* browser.signIn(email, "not the password")
          return [...counted]
        },
        {
          storage: (below) => ({
            ...below,
            get: (key) => {
              // The first request opens the workspace.
              if (key.kind !== "workspace") counted.push(key.kind)
              return below.get(key)
            }
          })
        }
      )
    const counted: Array<string> = []
    expect(await reads("known@example.com")).toEqual(["login", "account"])
    expect(await reads("other@example.com")).toEqual(["login", "account"])
  })

  test("keeps what was typed but for the password", async () => {
    const { answer } = await attempt("other@example.com", "four")
    expect(answer.body).toContain('value="other@example.com"')
    expect(answer.body).not.toContain("not the password")
  })

  test("with an empty field asks for it, and verifies nothing", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      for (const fields of [{ email: "ada@example.com" }, { password }, { email: "ada@example.com", password: "" }]) {
        expect((yield* browser.submit("/login", fields)).status).toBe(400)
      }
      expect(house.hashed.verify).toBe(0)
    }))

  test("with a password beyond the limit fails as any other, with an account or without", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      expect((yield* browser.signIn("ada@example.com", "a".repeat(5000))).status).toBe(403)
      expect((yield* browser.signIn("bob@example.com", "a".repeat(5000))).status).toBe(403)
      expect(house.hashed.verify).toBe(2)
    }))
})

describe("the login form", () => {
  test("that was forged does nothing", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      const page = yield* browser.get("/login")
      const { csrf } = hiddenFields(page.body)
      const credentials = { email: "ada@example.com", password }
      const without = yield* browser.send("POST", "/login", credentials)
      const mangled = yield* browser.send("POST", "/login", { ...credentials, csrf: `${csrf}x` })
      const elsewhere = new Browser(house)
      const foreign = yield* elsewhere.send("POST", "/login", { ...credentials, csrf: csrf ?? "" })
      yield* elsewhere.get("/login")
      const ofAnother = yield* elsewhere.send("POST", "/login", { ...credentials, csrf: csrf ?? "" })
      expect([without.status, mangled.status, foreign.status, ofAnother.status]).toEqual([403, 403, 403, 403])
      expect([sessionOf(browser), sessionOf(elsewhere)]).toEqual([undefined, undefined])
      expect(house.hashed.verify).toBe(0)
      const refused = { _tag: "Refused", endpoint: "/login", refusal: "ForgedForm", reason: "csrf" } as const
      expect(events(house)).toEqual([refused, refused, refused, refused])
    }))

  test.each(["same-site", "cross-site"])(
    "that a page of elsewhere sends does nothing, with whatever cookie: %s",
    (site) =>
      inHouse(function* (house) {
        yield* addAccount(house)
        const browser = new Browser(house)
        const form = { ...hiddenFields((yield* browser.get("/login")).body), email: "ada@example.com", password }
        browser.site = site
        const planted = yield* browser.send("POST", "/login", form)
        expect([planted.status, noticeOn(planted), sessionOf(browser)]).toEqual([403, "problem", undefined])
        expect(house.hashed.verify).toBe(0)
        browser.site = "same-origin"
        expect((yield* browser.send("POST", "/login", form)).status).toBe(303)
      })
  )

  test("that was open for too long works at the second try", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      yield* browser.get("/login")
      browser.cookies.clear()
      const late = yield* browser.send("POST", "/login", { email: "ada@example.com", password, csrf: "x" })
      expect([late.status, noticeOn(late)]).toEqual([403, "problem"])
      const again = { ...hiddenFields(late.body), email: "ada@example.com", password }
      expect((yield* browser.send("POST", "/login", again)).status).toBe(303)
    }))

  test("lets who is signed in go on as they are, there and where it was drawn before they were", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      const target = "/oauth/authorize?client_id=a&state=b"
      const drawn = yield* browser.get(`/login?return_to=${encodeURIComponent(target)}`)
      const goOn = /<a [^>]*href="\/oauth\/authorize\?client_id=a&amp;state=b"><span>/
      expect(drawn.body).not.toMatch(goOn)
      yield* browser.signIn()
      const session = sessionOf(browser)
      expect((yield* browser.get(`/login?return_to=${encodeURIComponent(target)}`)).body).toMatch(goOn)
      const form = { ...hiddenFields(drawn.body), email: "ada@example.com", password }
      const late = yield* browser.send("POST", "/login", form)
      expect([late.status, late.body]).toEqual([403, expect.stringMatching(goOn)])
      expect(noticeOn(late)).toBe("problem")
      expect(sessionOf(browser)).toBe(session)
      const elsewhere = { ...form, return_to: "https://evil.example/" }
      expect((yield* browser.send("POST", "/login", elsewhere)).body).toMatch(/href="\/settings"><span>/)
    }))

  test("takes of its network's share, unless it was forged, or of its own where the browser has been here", () => {
    const { limiter, taken } = watchedLimiter()
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const browser = new Browser(house, "2001:db8:1:2::7")
        yield* browser.send("POST", "/login", { email: "ada@example.com", password })
        expect(taken).toEqual([])
        yield* browser.signIn()
        yield* browser.signIn("ada@example.com", "a wrong guess")
        const ofNetwork = ["sign_in 2001:db8:1:2::/64", "sign_in_region 2001:db8:1::/48"]
        const ofLogin = `account ${loginOf("ada@example.com")}`
        expect(taken).toEqual([...ofNetwork, ofLogin])
        yield* browser.signIn("bea@example.com", "a wrong guess")
        expect(taken.slice(3)).toEqual(ofNetwork)
      },
      { limiter }
    )
  })

  test("works in two tabs that were opened before", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      const first = yield* browser.get("/login")
      const second = yield* browser.get("/login")
      const fields = { ...hiddenFields(first.body), email: "ada@example.com", password }
      expect(hiddenFields(second.body).csrf).toBe(hiddenFields(first.body).csrf ?? "")
      expect((yield* browser.send("POST", "/login", fields)).status).toBe(303)
    }))

  test("of a session is not the form of a browser without one, nor the other way round", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      const before = hiddenFields((yield* browser.get("/login")).body).csrf ?? ""
      yield* browser.signIn()
      const rename = { action: "profile", name: "Eve" }
      const crossed = yield* browser.send("POST", "/settings/profile", { ...rename, csrf: before })
      expect(crossed.status).toBe(403)
      const inside = hiddenFields((yield* browser.get("/settings/profile")).body).csrf ?? ""
      yield* browser.get("/login")
      const fields = { email: "ada@example.com", password, csrf: inside }
      expect((yield* browser.send("POST", "/login", fields)).status).toBe(403)
    }))

  test("sent as anything but a form, or with a field twice, is refused in words", () =>
    inHouse(function* (house) {
      const json = yield* house.send("POST", "/login", { headers: { "content-type": "application/json" } })
      const twice = yield* house.send("POST", "/login", {
        headers: formHeaders,
        body: "email=a&email=b"
      })
      expect([json.status, twice.status]).toEqual([400, 400])
      expect(header(json, "content-type")).toBe("text/html; charset=utf-8")
    }))
})

describe("signing out", () => {
  test("ends the session, in this browser and for its cookie", () =>
    inHouse(function* (house) {
      const account = yield* addAccount(house)
      const browser = new Browser(house)
      yield* browser.signIn()
      const copy = new Browser(house)
      copy.cookies.set("__Host-tessera_session", sessionOf(browser) ?? "")
      const page = yield* browser.get("/logout")
      expect(page.body).toContain("ada@example.com")
      expect(yield* isSignedIn(browser)).toBe(true)
      const answer = yield* browser.submit("/logout", {})
      expect(pageName(answer)).toBe("signed-out")
      expect(sessionOf(browser)).toBeUndefined()
      expect(yield* isSignedIn(copy)).toBe(false)
      expect(events(house).at(-1)).toEqual({ _tag: "SignedOut", account: account.id })
    }))

  test("is not done by a forged form, nor by one of another session", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      yield* addAccount(house, "eve@example.com", "member")
      const browser = new Browser(house)
      const eve = new Browser(house)
      yield* browser.signIn()
      yield* eve.signIn("eve@example.com")
      const { csrf = "" } = hiddenFields((yield* eve.get("/logout")).body)
      expect((yield* browser.send("POST", "/logout", {})).status).toBe(403)
      expect((yield* browser.send("POST", "/logout", { csrf })).status).toBe(403)
      expect(yield* isSignedIn(browser)).toBe(true)
    }))

  test("of who is not signed in says so, and clears what is left of a cookie", () =>
    inHouse(function* (house) {
      const browser = new Browser(house)
      browser.cookies.set("__Host-tessera_session", "A".repeat(43))
      const answer = yield* browser.get("/logout")
      expect(pageName(answer)).toBe("signed-out")
      expect(cookiesOf(answer)).toEqual(["__Host-tessera_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure"])
    }))

  test("by a form without the cookie asks, for browsers send none with a form of another site", async () => {
    for (const workspace of [theWorkspace, nestedWorkspace]) {
      const base = basePath(workspace.issuer)
      await inHouse(
        function* (house) {
          yield* addAccount(house)
          const browser = new Browser(house)
          const form = hiddenFields((yield* browser.get(`${base}/login`)).body)
          yield* browser.send("POST", `${base}/login`, { ...form, email: "ada@example.com", password })
          const answer = yield* house.send("POST", `${base}/logout`, { fields: {} })
          expect([answer.status, header(answer, "location"), cookiesOf(answer)]).toEqual([303, `${base}/logout`, []])
          expect(pageName(yield* browser.get(`${base}/logout`))).toBe("sign-out")
          const nobody = yield* house.send("GET", `${base}/logout`)
          expect([nobody.status, pageName(nobody), cookiesOf(nobody)]).toEqual([200, "signed-out", []])
        },
        { workspace }
      )
    }
  })
})

describe("a consent page", () => {
  test("of a session that ended cannot be approved from the next one", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const client = yield* registerClient(house)
      const browser = new Browser(house)
      yield* browser.signIn()
      const page = yield* browser.get(authorizeTarget(client))
      yield* browser.signIn()
      const answer = yield* browser.send("POST", "/consent", { ...hiddenFields(page.body), decision: "approve" })
      expect(answer.status).toBe(403)
    }))
})

describe("who an account is to clients", () => {
  test("is as much as metadata lists", () =>
    inHouse(
      function* (house) {
        const { id } = yield* addAccount(house)
        const profile = Option.getOrThrow(yield* house.services.owner.profile(house.workspace, id))
        const document = jsonOf(yield* house.send("GET", "/.well-known/openid-configuration"))
        const listed = document.claims_supported as ReadonlyArray<string>
        expect(listed.toSorted()).toEqual(["amr", "auth_time", ...Object.keys(profile)].toSorted())
        expect(document.scopes_supported).toEqual(expect.arrayContaining(["address", "phone"]))
      },
      { documents: new DocumentsWeb().layer() }
    ))

  test("is told with the means of sign-in (RFC 8176) to a client that asks for it, and to no other", () =>
    inHouse(
      function* (house) {
        yield* addAccount(house)
        const client = yield* registerClient(house)
        const browser = new Browser(house)
        yield* browser.signIn()
        for (const [claims, means] of [
          ['{"id_token":{"amr":{"essential":true}}}', ["pwd"]],
          [undefined, undefined]
        ] as const) {
          const page = yield* browser.get(authorizeTarget(client, { scope: "openid", claims }))
          const answer = yield* browser.send("POST", "/consent", { ...hiddenFields(page.body), decision: "approve" })
          const { id_token } = jsonOf(yield* redeem(house, client, text(returned(answer).get("code"))))
          expect(decodeJwt(text(id_token)).amr).toEqual(means)
        }
      },
      { documents: new DocumentsWeb().layer() }
    ))

  test("is told by its profile, and by nothing once it is gone", () =>
    inHouse(function* (house) {
      const account = yield* addAccount(house)
      const profile = yield* house.services.owner.profile(house.workspace, account.id)
      expect(Option.getOrUndefined(profile)).toEqual({
        sub: account.id,
        name: "Ada",
        email: "ada@example.com",
        email_verified: false
      })
    }))
})

test("a password that was changed while it was verified opens no session, and the new one does", () => {
  let meanwhile: Effect.Effect<unknown> = Effect.void
  return inHouse(
    function* (house) {
      const ada = yield* addAccount(house)
      const farewell = { logouts: house.services.logouts, why: "by_user" } as const
      meanwhile = Effect.orDie(
        house.accounts.changePassword(house.workspace, ada.id, secret("another long password"), farewell)
      )
      const browser = new Browser(house)
      expect((yield* browser.signIn()).status).toBe(403)
      meanwhile = Effect.void
      expect(events(house)).toEqual([{ _tag: "SignInFailed", reason: "changed_meanwhile", account: ada.id }])
      expect([sessionOf(browser), yield* isSignedIn(browser)]).toEqual([undefined, false])
      yield* browser.signIn("ada@example.com", "another long password")
      expect(yield* isSignedIn(browser)).toBe(true)
    },
    {
      hasher: (below) => ({ ...below, verify: (typed, hash) => Effect.tap(below.verify(typed, hash), () => meanwhile) })
    }
  )
})

test("a sign-in of a person who changed their password, or left, while it was verified fails as any other", () =>
  inHouse(function* (house) {
    const ada = yield* addAccount(house)
    const { book, passwords, sessions } = house.accounts
    const leaving = { ...ada, _tag: "Leaving" } as never
    for (const meanwhile of [undefined, leaving]) {
      const signIn = makeSignIn({ ...book, change: () => Effect.succeed(meanwhile) }, passwords, sessions, undefined)
      const outcome = yield* signIn(
        house.workspace.id,
        { email: ada.email, password: secret(password), network: undefined, device: undefined },
        yield* currentInstant
      )
      expect<unknown>(outcome).toEqual({ _tag: "Failed", reason: "changed_meanwhile", account: ada.id })
    }
  }))
