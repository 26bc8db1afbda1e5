import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { HttpResponse } from "../../core/http/Http.ts"
import { hasSessionPaths, inSession, splitSessionPath, withoutSessionPath } from "../../core/workspace/SessionPath.ts"
import { Issuer } from "../../core/workspace/Workspace.ts"
import { patternOf, routeOf } from "../../runtimes/observe/routePattern.ts"
import { authorizeTarget, header, hiddenFields, registerClient, returned } from "../given/flow.ts"
import { pageName } from "../given/page.ts"
import { requestOf, theWorkspace } from "../given/World.ts"
import { addAccount, Browser, type House, httpWorkspace, inHouse, password } from "../people/House.ts"
import { accountSections, sections } from "../settings/given.ts"

const segment = "Ab3-_Ab3-_Ab3-_Ab3-_Ab"

describe("the path", () => {
  test("is for loopback hosts, with and without TLS", () => {
    const issuers = [
      "http://127.0.0.1:3000",
      "http://[::1]:3000/a",
      "https://localhost:8443",
      "https://auth.example.com"
    ]
    expect(issuers.map((issuer) => hasSessionPaths({ issuer }))).toEqual([true, true, true, false])
  })

  test("is one segment of its length and letters, and what follows is the page's", () => {
    const sessionPath = `/~/${segment}`
    expect(splitSessionPath(`${sessionPath}/settings/keys`)).toEqual({ sessionPath, rest: "/settings/keys" })
    expect(splitSessionPath(`${sessionPath}/`)).toEqual({ sessionPath, rest: "/" })
    expect(splitSessionPath(sessionPath)).toEqual({ sessionPath, rest: "/" })
    for (const other of [
      "/~",
      "/~/",
      "/~/short/settings",
      `/~/${segment}A/settings`,
      `/x/${segment}/`,
      "/~//settings"
    ]) {
      expect(splitSessionPath(other)).toBeUndefined()
    }
  })

  test("stands behind the issuer's own, and in no log", () => {
    const issuer = Issuer.make("http://127.0.0.1:3000/t")
    const there = { ...theWorkspace, issuer, sessionPath: `/~/${segment}` }
    const address = inSession(there, "/t/settings?done=removed")
    expect(address).toBe(`/t/~/${segment}/settings?done=removed`)
    expect(withoutSessionPath(`/t/~/${segment}/settings`)).toBe("/t/~/settings")
    expect(withoutSessionPath(`/t/~/${segment}`)).toBe("/t/~")
    expect(withoutSessionPath(`/~/${segment}A/settings`)).toBe(`/~/${segment}A/settings`)
    expect(withoutSessionPath("/settings")).toBe("/settings")
  })
})

const locationOf = (answer: HttpResponse) => header(answer, "location") ?? ""

const pathOf = (address: string) => /^(.*\/~\/[\w-]{22})\//.exec(address)?.[1] ?? "none"

/** A person who has signed in, and where the session is. */
const signedIn = Effect.fnUntraced(function* (house: House, target = "/login", email = "ada@example.com") {
  const browser = new Browser(house)
  const at = pathOf(locationOf(yield* browser.signIn(email, password, target)))
  return { browser, at }
})

const sessionOf = (browser: Browser) => browser.cookies.get("tessera_session_3000") ?? ""

/** A request with a cookie of the caller's own choice. */
const asks = (house: House, target: string, cookie: string) => house.send("GET", target, { headers: { cookie } })

const onLoopback = <E>(body: (house: House) => Effect.Effect<void, E>) =>
  inHouse((house) => Effect.andThen(addAccount(house), body(house)), { workspace: httpWorkspace })

describe("a session on a loopback host", () => {
  test("is below a path of its own, where its cookie is, and every link and form leads on there", () =>
    onLoopback(
      Effect.fnUntraced(function* (house) {
        const { at, browser } = yield* signedIn(house)
        const all = [...sections, ...accountSections, "profile"].map((section) => `/settings/${section}`)
        for (const page of ["/", "/logout", ...all]) {
          const answer = yield* browser.get(at + page)
          expect([page, answer.status]).toEqual([page, 200])
          const targets = [...answer.body.matchAll(/(?:href|action)="(\/[^"]*)"/g)].map(([, target = ""]) => target)
          const outside = targets.filter(
            (target) => !target.startsWith(`${at}/`) && !target.startsWith("/.well-known/")
          )
          expect([page, outside]).toEqual([page, []])
        }
        const renamed = yield* browser.submit(`${at}/settings/profile`, { action: "profile", name: "Ada L." })
        expect(locationOf(renamed)).toBe(`${at}/settings/profile?done=profile`)
        expect(locationOf(yield* browser.get(`${at}/settings`))).toBe(`${at}/settings/apps`)
      })
    ))

  test("is opened by its cookie nowhere else, and at its path by no other", () =>
    onLoopback(
      Effect.fnUntraced(function* (house) {
        const [ada, other] = [yield* signedIn(house), yield* signedIn(house)]
        const cookie = `tessera_session_3000=${sessionOf(ada.browser)}`
        const planted = `tessera_session_3000=${sessionOf(other.browser)}`
        for (const at of ["", other.at, `/~/${segment}`]) {
          expect([at, (yield* asks(house, `${at}/settings/apps`, cookie)).status]).toEqual([at, 303])
        }
        expect((yield* asks(house, `${ada.at}/settings/apps`, planted)).status).toBe(303)
        expect((yield* asks(house, `${ada.at}/settings/apps`, cookie)).status).toBe(200)
        // What another program on the host sets beside it changes nothing.
        for (const both of [`${planted}; ${cookie}`, `${cookie}; ${planted}`]) {
          expect((yield* asks(house, `${ada.at}/settings/apps`, both)).status).toBe(200)
        }
      })
    ))

  test("has another path after every sign-in and password, whatever path the form was at", () =>
    onLoopback(
      Effect.fnUntraced(function* (house) {
        const first = yield* signedIn(house)
        const second = pathOf(locationOf(yield* first.browser.signIn("ada@example.com", password, `${first.at}/login`)))
        expect((yield* first.browser.get(`${second}/settings/apps`)).status).toBe(200)
        expect((yield* first.browser.get(`${first.at}/settings/apps`)).status).toBe(303)
        const changed = yield* first.browser.submit(`${second}/settings/profile`, {
          action: "password",
          current_password: password,
          new_password: "another battery staple"
        })
        const third = pathOf(locationOf(changed))
        expect(new Set([first.at, second, third, "none"]).size).toBe(4)
        expect(locationOf(changed)).toBe(`${third}/settings/profile?done=password`)
        expect((yield* first.browser.get(locationOf(changed))).status).toBe(200)
        // A made-up path is none that a session gets.
        const lured = new Browser(house)
        const page = yield* lured.get("/login")
        const fields = { ...hiddenFields(page.body), email: "ada@example.com", password: "another battery staple" }
        const answer = yield* lured.send("POST", `/~/${segment}/login`, fields)
        expect(pathOf(locationOf(answer))).not.toBe(`/~/${segment}`)
        expect((yield* lured.get(locationOf(answer))).status).toBe(303)
      })
    ))

  test("goes through consent and out to an application that is told nothing of the path", () =>
    onLoopback(
      Effect.fnUntraced(function* (house) {
        const client = yield* registerClient(house, { redirect_uris: ["http://127.0.0.1:9999/callback"] })
        const target = authorizeTarget(client)
        const browser = new Browser(house)
        const away = locationOf(yield* browser.get(target))
        expect(away).toBe(`/login?return_to=${encodeURIComponent(target)}`)
        const arrived = locationOf(yield* browser.signIn("ada@example.com", password, away))
        const at = pathOf(arrived)
        expect(arrived).toBe(at + target)
        const page = yield* browser.get(arrived)
        expect(pageName(page)).toBe("consent")
        // "Not you?" leads to the sign-in page of this session, and back.
        const [, switchAt = ""] = /href="([^"]*return_to[^"]*)"/.exec(page.body) ?? []
        expect(switchAt).toBe(`${at}/login?return_to=${encodeURIComponent(target).replaceAll("'", "&#39;")}`)
        const switching = yield* browser.get(switchAt)
        expect(switching.body).toContain(`href="${at}${target.replaceAll("&", "&amp;")}"`)
        const back = yield* browser.send("POST", `${at}/consent`, { ...hiddenFields(page.body), decision: "approve" })
        expect(returned(back).has("code")).toBe(true)
        expect([...back.headers].filter(([, value]) => value.includes(at))).toEqual([])
        expect(header(back, "referrer-policy")).toBe("no-referrer")
      })
    ))

  test("that has ended is left: its path leads to the sign-in without one, and is not sought again", () =>
    onLoopback(
      Effect.fnUntraced(function* (house) {
        const { at, browser } = yield* signedIn(house)
        yield* TestClock.adjust("15 days")
        for (const page of ["/settings/keys?after=x", "/login?return_to=%2Fsettings%2Fkeys%3Fafter%3Dx"]) {
          const away = locationOf(yield* browser.get(at + page))
          expect(away).toBe(
            `/login?return_to=${encodeURIComponent("/settings/keys?after=x")}&left=${encodeURIComponent(at)}`
          )
          expect((yield* browser.get(away)).body).toContain(` data-left="${at}"`)
        }
      })
    ))

  test("is the same route to metrics and traces as one without a path", () =>
    onLoopback((house) =>
      Effect.sync(() => {
        const find = routeOf(house.routes, () => house.workspace)
        const patternAt = (path: string) => patternOf(find(requestOf("GET", path, {})))
        for (const path of ["/settings/keys", "/oauth/authorize"]) {
          expect([patternAt(path), patternAt(`/~/${segment}${path}`)]).toEqual([path, path])
        }
        for (const path of ["/oauth/token", "/nowhere", `/~/${segment}/login`]) {
          expect(patternAt(`/~/${segment}${path}`)).toBe("none")
        }
      })
    ))

  test("ends at sign-out, with its cookie", () =>
    onLoopback(
      Effect.fnUntraced(function* (house) {
        const { at, browser } = yield* signedIn(house)
        const cookie = `tessera_session_3000=${sessionOf(browser)}`
        const answer = yield* browser.submit(`${at}/logout`, {})
        expect(pageName(answer)).toBe("signed-out")
        const cleared = answer.headers.find(([name]) => name === "set-cookie")?.[1]
        expect(cleared).toStartWith(`tessera_session_3000=; Path=${at}; Max-Age=0`)
        expect((yield* asks(house, `${at}/settings/apps`, cookie)).status).toBe(303)
      })
    ))
})

test("elsewhere there is no such path", () =>
  inHouse(function* (house) {
    yield* addAccount(house)
    const browser = new Browser(house)
    expect(locationOf(yield* browser.signIn())).toBe("/settings")
    expect((yield* browser.get("/settings/apps")).status).toBe(200)
    expect((yield* browser.get(`/~/${segment}/settings/apps`)).status).toBe(404)
  }))
