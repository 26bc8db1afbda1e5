import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { HttpResponse } from "../../core/http/Http.ts"
import { standardAccountPolicy } from "../../core/people/Account.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import { header, hiddenFields } from "../given/flow.ts"
import { pageName } from "../given/page.ts"
import { theWorkspace } from "../given/World.ts"
import {
  addAccount,
  Browser,
  cookiesOf,
  type House,
  httpWorkspace,
  inHouse,
  isSignedIn,
  nestedWorkspace,
  password,
  sessionOf
} from "./House.ts"

describe("the session's cookie", () => {
  test("is for this host alone, out of scripts' reach, and gone with the session", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      const set = [...cookiesOf(yield* browser.get("/login")), ...cookiesOf(yield* browser.signIn())]
      expect(set.find((cookie) => cookie.includes("session"))).toMatch(
        /^__Host-tessera_session=[\w-]{43}; Path=\/; Max-Age=1209600; HttpOnly; SameSite=Lax; Secure$/
      )
      for (const cookie of set) expect(cookie).toMatch(/^__Host-.*; Path=\/; .*HttpOnly; SameSite=Lax; Secure$/)
      expect([set.length > 2, set.filter((cookie) => cookie.includes("Domain"))]).toEqual([true, []])
    }))

  test("has a path on a loopback host that says nothing of the name that the session has in the store", () =>
    inHouse(
      function* (house) {
        yield* addAccount(house)
        const [cookie = ""] = cookiesOf(yield* new Browser(house).signIn())
        const [, secret = "", path = ""] = /=([\w-]{43}); Path=\/~\/([\w-]{22})/.exec(cookie) ?? []
        expect(path).toHaveLength(22)
        expect(path).not.toBe(digestOf(secret).slice(0, 22))
      },
      { workspace: { ...theWorkspace, issuer: Issuer.make("http://127.0.0.1:3000") } }
    ))

  test("names the workspace and its path where several share a host", () =>
    inHouse(
      function* (house) {
        yield* addAccount(house)
        const browser = new Browser(house)
        const page = yield* browser.get("/nested/login")
        const fields = { ...hiddenFields(page.body), email: "ada@example.com", password }
        const answer = yield* browser.send("POST", "/nested/login", fields)
        expect(header(answer, "location")).toBe("/nested/settings")
        expect([...browser.cookies.keys()]).toContain("__Host-tessera_session_nested_WTV4M8Dz")
        expect((yield* browser.get("/nested/settings/profile")).status).toBe(200)
      },
      { workspace: nestedWorkspace }
    ))

  test("is of one server where two share a host by their paths, whose workspaces are called the same", async () => {
    const at = (path: string) => ({ ...theWorkspace, issuer: Issuer.make(`https://auth.example.com${path}`) })
    const cookiesAt = (path: string) =>
      inHouse(
        function* (house) {
          yield* addAccount(house)
          const browser = new Browser(house)
          const page = yield* browser.get(`${path}/login`)
          const fields = { ...hiddenFields(page.body), email: "ada@example.com", password }
          yield* browser.send("POST", `${path}/login`, fields)
          expect((yield* browser.get(`${path}/settings/profile`)).status).toBe(200)
          return [...browser.cookies.keys()]
        },
        { workspace: at(path) }
      )
    const [shop, blog, within] = [await cookiesAt("/shop"), await cookiesAt("/blog"), await cookiesAt("/shop/x")]
    expect(new Set([...shop, ...blog, ...within]).size).toBe(shop.length + blog.length + within.length)
  })

  test("is no session's id: the store holds its digest alone", () => {
    const written: Array<string> = []
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const browser = new Browser(house)
        yield* browser.signIn()
        const secret = sessionOf(browser) ?? "no session"
        expect(secret).toHaveLength(43)
        expect(written.some((record) => record.includes('"kind":"session"'))).toBe(true)
        for (const record of written) {
          expect(record).not.toContain(secret)
          expect(record).not.toContain(password)
        }
        const [, id = ""] = /"kind":"session","id":"([\w-]{43})"/.exec(written.join()) ?? []
        browser.cookies.set("__Host-tessera_session", id)
        expect(yield* isSignedIn(browser)).toBe(false)
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

  test("that was planted before sign-in is worth nothing after it", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const attacker = new Browser(house)
      yield* addAccount(house, "eve@example.com", "member")
      yield* attacker.signIn("eve@example.com")
      const planted = sessionOf(attacker) ?? ""
      const victim = new Browser(house)
      victim.cookies.set("__Host-tessera_session", planted)
      yield* victim.signIn()
      expect(sessionOf(victim)).not.toBe(planted)
      expect((yield* victim.get("/settings/profile")).body).toContain("ada@example.com")
      expect(yield* isSignedIn(attacker)).toBe(false)
    }))

  test("is another one after every sign-in", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      yield* browser.signIn()
      const first = sessionOf(browser) ?? ""
      yield* browser.signIn()
      expect(sessionOf(browser)).not.toBe(first)
      const old = new Browser(house)
      old.cookies.set("__Host-tessera_session", first)
      expect(yield* isSignedIn(old)).toBe(false)
      expect(yield* isSignedIn(browser)).toBe(true)
    }))

  test("opens its session to the last millisecond, and not a moment longer", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const browser = new Browser(house)
      yield* browser.signIn()
      yield* TestClock.adjust(standardAccountPolicy.sessionTtl - 1)
      expect(yield* isSignedIn(browser)).toBe(true)
      yield* TestClock.adjust(1)
      expect(yield* isSignedIn(browser)).toBe(false)
    }))

  test("that comes twice, or is not one of ours, counts as none and asks the store nothing", () => {
    const sessions: Array<string> = []
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const browser = new Browser(house)
        yield* browser.signIn()
        const secret = sessionOf(browser) ?? ""
        const name = "__Host-tessera_session"
        const headers = [
          `${name}=${secret}; ${name}=${"A".repeat(43)}`,
          `${name}=${"A".repeat(43)}; ${name}=${secret}`,
          `${name}=${secret}; ${name}=${secret}`,
          `${name}=${secret}x`,
          `${name}="${secret}"`,
          `${name.toLowerCase()}=${secret}`,
          `tessera_session=${secret}`,
          `a=${name}=${secret}`,
          `${"x".repeat(20_000)}; ${name}=${secret}`
        ]
        sessions.length = 0
        for (const cookie of headers) {
          expect((yield* house.send("GET", "/settings/profile", { headers: { cookie } })).status).toBe(303)
        }
        expect(sessions).toEqual([])
        const among = yield* house.send("GET", "/settings/profile", {
          headers: { cookie: `other=1;  ${name}=${secret} ; ${name}2=3` }
        })
        expect(among.status).toBe(200)
      },
      {
        storage: (below) => ({
          ...below,
          get: (key) => {
            if (key.kind === "session") sessions.push(key.id)
            return below.get(key)
          }
        })
      }
    )
  })
})

describe("on a loopback host, where each session has a path of its own (RFC 6265 §8.5)", () => {
  const credentials = { email: "ada@example.com", password }

  /** What the page tells the script that looks for a session which the browser remembers. */
  const sought = ({ body }: HttpResponse) => {
    const [, address] = / data-sought="([^"]*)"/.exec(body) ?? []
    const [, left] = / data-left="([^"]*)"/.exec(body) ?? []
    return address === undefined ? undefined : [address, left]
  }

  const signedIn = Effect.fnUntraced(function* (house: House, base = "") {
    yield* addAccount(house)
    const browser = new Browser(house)
    const answer = yield* browser.signIn("ada@example.com", password, `${base}/login`)
    const [, path = ""] = /^(.*\/~\/[\w-]{22})\/settings$/.exec(header(answer, "location") ?? "") ?? []
    expect(path).toStartWith(`${base}/~/`)
    return { browser, path }
  })

  for (const [workspace, base] of [
    [httpWorkspace, ""],
    [{ ...nestedWorkspace, issuer: Issuer.make("http://127.0.0.1:3000/nested") }, "/nested"]
  ] as const) {
    test(`below a session are pages alone, and none below another session: ${base}/`, () =>
      inHouse(
        function* (house) {
          const { browser, path } = yield* signedIn(house, base)
          expect((yield* browser.get(`${path}/settings/profile`)).status).toBe(200)
          const ask = (method: string, at: string) => Effect.map(browser.send(method, at), ({ status }) => status)
          for (const [method, at] of [
            ["GET", "/oauth/userinfo"],
            ["GET", "/rest/companies"],
            ["POST", "/oauth/token"],
            ["POST", "/oauth/register"]
          ] as const) {
            expect([at, yield* ask(method, `${base}${at}`)]).not.toEqual([at, 404])
            expect([at, yield* ask(method, `${path}${at}`)]).toEqual([at, 404])
          }
          expect(yield* ask("GET", `${path}${path.slice(base.length)}/settings/profile`)).toBe(404)
        },
        { workspace }
      ))

    test(`the sign-in seeks a session, unless it is asked for below one: ${base}/`, () =>
      inHouse(
        function* (house) {
          const { browser, path } = yield* signedIn(house, base)
          const left = path.slice(base.length)
          const stranger = new Browser(house)
          const to = encodeURIComponent(`${base}/settings/apps`)
          expect(sought(yield* stranger.get(`${base}/login?return_to=${to}`))).toEqual([
            `${base}/settings/apps`,
            undefined
          ])
          expect(sought(yield* stranger.get(`${base}/login?return_to=${to}&left=${left}`))).toEqual([
            `${base}/settings/apps`,
            left
          ])
          // A form that was not drawn for this browser, where no session was sought yet, and where there is one.
          expect(sought(yield* stranger.send("POST", `${base}/login`, credentials))).toEqual([
            `${base}/settings`,
            undefined
          ])
          expect(sought(yield* stranger.send("POST", `${path}/login`, credentials))).toBeUndefined()
          expect(sought(yield* stranger.signIn("ada@example.com", "not it", `${base}/login`))).toBeUndefined()

          const known = yield* browser.get(`${path}/login?return_to=${to}`)
          expect([known.status, sought(known)]).toEqual([200, undefined])
          expect(known.body).toContain(`<a class="button wide" href="${path}/settings/apps">`)
          // Below a session's path that has ended, the browser is sent to where another is sought.
          const away = yield* stranger.get(`${path}/login?return_to=${to}&login_hint=Ada@example.com`)
          const [target, query] = (header(away, "location") ?? "").split("?")
          expect([away.status, target, ...new URLSearchParams(query).entries()]).toEqual([
            303,
            `${base}/login`,
            ["return_to", `${base}/settings/apps`],
            ["login_hint", "ada@example.com"],
            ["left", left]
          ])
        },
        { workspace }
      ))

    test(`signing out seeks a session where none is shown, and none once it is done: ${base}/`, () =>
      inHouse(
        function* (house) {
          const { browser, path } = yield* signedIn(house, base)
          const outside = yield* browser.get(`${base}/logout`)
          expect([pageName(outside), sought(outside)]).toEqual(["signed-out", [`${base}/logout`, undefined]])
          expect(pageName(yield* browser.get(`${path}/logout`))).toBe("sign-out")
          const lost = yield* new Browser(house).send("POST", `${path}/logout`, {})
          expect([lost.status, header(lost, "location")]).toEqual([303, `${path}/logout`])
          const copy = new Browser(house)
          for (const [name, value] of browser.cookies) copy.cookies.set(name, value)

          const done = yield* browser.submit(`${path}/logout`, {})
          expect([pageName(done), sought(done), cookiesOf(done).length]).toEqual(["signed-out", undefined, 1])
          // What is left of a cookie is cleared, by a form of a page from before too.
          const late = yield* copy.send("POST", `${path}/logout`, {})
          expect([pageName(late), sought(late), cookiesOf(late).length]).toEqual(["signed-out", undefined, 1])
          const again = yield* browser.get(`${path}/logout`)
          expect([pageName(again), sought(again), cookiesOf(again).length]).toEqual([
            "signed-out",
            [`${base}/logout`, path.slice(base.length)],
            0
          ])
        },
        { workspace }
      ))
  }
})
