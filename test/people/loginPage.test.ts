import { expect, test } from "bun:test"
import { TestClock } from "effect/testing"
import type { HttpResponse } from "../../core/http/Http.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import { authorizeTarget, header, hiddenFields, registerClient } from "../given/flow.ts"
import { noticeOn, pageName, typedOn } from "../given/page.ts"
import { addAccount, Browser, inHouse, password } from "./House.ts"

/** What a person finds on the sign-in page, without its words. */
const found = (answer: HttpResponse) => {
  const { body, status } = answer
  const [, focus] = /<input [^>]*name="([^"]*)"[^>]* autofocus/.exec(body) ?? []
  const [, client] = /<bdi class="name">([^<]*)<\/bdi>/.exec(body) ?? []
  const [, goOn] = /<a class="button wide" href="([^"]*)"/.exec(body) ?? []
  const { return_to, ...rest } = hiddenFields(body)
  const told = /<title>Problem: /.test(body) ? "problem" : "question"
  return { status, told, focus, client, goOn, return_to, typed: typedOn(answer).email, notice: noticeOn(answer), rest }
}

const plain = {
  status: 200,
  told: "question",
  focus: "email",
  client: undefined,
  goOn: undefined,
  return_to: "/settings",
  typed: "",
  notice: undefined,
  rest: { csrf: expect.any(String) }
}
const ada = "ada@example.com"
const filled = { ...plain, typed: ada, focus: "password" }

test("the sign-in page is filled in as far as anything is known, and stands at what is not", () =>
  inHouse(function* (house) {
    yield* addAccount(house)
    const stranger = new Browser(house)
    const browser = new Browser(house)
    yield* browser.signIn()
    const goOn = "/settings"
    const late = encodeURIComponent("/settings/profile?done=signed-out")
    const rows: ReadonlyArray<readonly [Browser, string, unknown]> = [
      [stranger, "/login", plain],
      [stranger, "/login?login_hint=Ada@example.com", filled],
      [stranger, "/login?login_hint=ada", plain],
      [stranger, "/login?login_hint=", plain],
      [
        stranger,
        `/login?return_to=${late}`,
        { ...plain, told: "problem", notice: "problem", return_to: "/settings/profile?done=signed-out" }
      ],
      [browser, "/login", { ...plain, goOn, notice: "done" }],
      [browser, "/login?login_hint=Ada@example.com", { ...filled, goOn, notice: "done" }],
      [
        browser,
        `/login?return_to=${late}`,
        {
          ...plain,
          goOn: "/settings/profile?done=signed-out",
          return_to: "/settings/profile?done=signed-out",
          notice: "done"
        }
      ]
    ]
    for (const [whose, target, expected] of rows) {
      const page = yield* whose.get(target)
      expect<unknown>([target, pageName(page), found(page)]).toEqual([target, "sign-in", expected])
      // The form leads on to the client's address, whose window may be the one that opened this.
      expect(header(page, "content-security-policy")).not.toContain("form-action")
      expect(header(page, "cross-origin-opener-policy")).toBeUndefined()
    }
  }))

test("a sign-in form that does nothing comes back with what was typed", () =>
  inHouse(function* (house) {
    yield* addAccount(house)
    const refused = { told: "problem", notice: "problem" } as const
    const rows: ReadonlyArray<readonly [Readonly<Record<string, string>>, unknown]> = [
      [
        { email: "", password: "" },
        { ...plain, ...refused, status: 400 }
      ],
      [
        { email: "", password },
        { ...plain, ...refused, status: 400 }
      ],
      [
        { email: ada, password: "" },
        { ...filled, ...refused, status: 400 }
      ],
      [
        { email: ada, password: "not it at all" },
        { ...filled, ...refused, status: 403 }
      ],
      [{ csrf: "forged" }, { ...plain, ...refused, status: 403 }],
      [
        { csrf: "forged", email: ada, password },
        { ...filled, ...refused, status: 403 }
      ]
    ]
    for (const [fields, expected] of rows) {
      const answer = yield* new Browser(house).submit("/login", fields)
      expect<unknown>([fields, found(answer)]).toEqual([fields, expected])
    }
    const bare = new Browser(house)
    const { csrf = "" } = hiddenFields((yield* bare.get("/login")).body)
    expect<unknown>(found(yield* bare.send("POST", "/login", { csrf }))).toEqual({
      ...plain,
      ...refused,
      status: 400
    })
    expect(house.hashed.verify).toBe(1)
  }))

test("the sign-in page names the application that asks, one with a document by its host", () => {
  const web = new DocumentsWeb()
  return inHouse(
    function* (house) {
      yield* addAccount(house)
      const ledger = yield* registerClient(house, { client_name: "Ledger" })
      const shown = { ...ledger, id: web.publish("https://app.example.org/client", { client_name: "Bank" }) }
      const nobody = { ...ledger, id: "AAAAAAAAAAAAAAAAAAAAAA" }
      const rows = [
        [ledger, "Ledger"],
        [shown, "app.example.org"],
        [nobody, undefined],
        [{ ...ledger, id: "%" }, undefined]
      ] as const
      // A client by its document is known from the moment when a person first let it in.
      const browser = new Browser(house)
      yield* browser.signIn()
      const consent = yield* browser.get(authorizeTarget(shown))
      yield* browser.send("POST", "/consent", { ...hiddenFields(consent.body), decision: "approve" })
      for (const [client, name] of rows) {
        const target = authorizeTarget(client)
        const page = yield* new Browser(house).get(`/login?return_to=${encodeURIComponent(target)}`)
        const { client: named, return_to } = found(page)
        expect([client.id, named, return_to]).toEqual([client.id, name, target])
      }
    },
    { documents: web.layer() }
  )
})

test("an application that asks for a new sign-in is told of, with whom it is about, and no way around it", () =>
  inHouse(function* (house) {
    yield* addAccount(house)
    const client = yield* registerClient(house, { client_name: "Ledger" })
    const browser = new Browser(house)
    const before = hiddenFields((yield* browser.get("/login")).body)
    yield* browser.signIn()
    yield* TestClock.adjust("1 minute")
    const away = header(yield* browser.get(authorizeTarget(client, { prompt: "login" })), "location") ?? ""
    const asked = { ...filled, client: "Ledger", return_to: expect.stringContaining("/oauth/authorize?") }
    expect<unknown>(found(yield* browser.get(away))).toEqual({ ...asked, notice: "done" })
    // A form from before the sign-in has no way around it either.
    const { return_to = "" } = hiddenFields((yield* browser.get(away)).body)
    const late = yield* browser.send("POST", "/login", { ...before, return_to, email: ada, password })
    expect<unknown>(found(late)).toEqual({ ...asked, status: 403, told: "problem", notice: "problem" })
  }))
