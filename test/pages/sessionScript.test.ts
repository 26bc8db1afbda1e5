import { describe, expect, test } from "bun:test"
import { createHash } from "node:crypto"
import type { Document, Place } from "../../core/pages/Layout.ts"
import { page } from "../../core/pages/pageAnswer.ts"
import { loginPage } from "../../core/people/login.ts"
import { signedOutPage } from "../../core/people/logout.ts"
import { homePage } from "../../core/settings/home.ts"
import { defaultTheme } from "../../core/workspace/Theme.ts"
import { header } from "../given/flow.ts"
import { parse } from "./parse.ts"

const sessionPath = "/~/Ab3-_Ab3-_Ab3-_Ab3-_Ab"

const place = (issuer: string, session?: string): Place => ({
  name: "Northwind",
  base: new URL(issuer).pathname.replace(/^\/$/, "") + (session ?? ""),
  issuer,
  theme: defaultTheme,
  ...(session === undefined ? {} : { sessionPath: session })
})

const loopback = "http://127.0.0.1:3000/t"
const elsewhere = "https://auth.example.com/t"

const scriptOf = (place: Place, document: Document) => {
  const answer = page(200, document, { place })
  const found = parse(answer.body).tags.find(({ name }) => name === "script")
  const [, text] = /<script[^>]*>([^<]*)<\/script>/.exec(answer.body) ?? []
  const allowed = /script-src ([^;]*)/.exec(header(answer, "content-security-policy") ?? "")?.[1]
  return { data: found && Object.fromEntries(found.attributes), text, allowed }
}

const signInAt = "/t/login"
const visitor = { account: "ada@northwind.example", csrf: "c" }
const login = (place: Place, left?: string) =>
  loginPage(place, { csrf: "c", returnUrl: '/t/settings?a=b&c="', seeks: { left } })

describe("the script of a session's path", () => {
  test("is admitted by its digest, and by nothing else", () => {
    const here = place(loopback)
    const { allowed, text = "" } = scriptOf(here, login(here))
    expect(allowed).toBe(`'sha256-${createHash("sha256").update(text).digest("base64")}'`)
  })

  test("is told what to keep, or what to seek and what was left", () => {
    const [out, inside] = [place(loopback), place(loopback, sessionPath)]
    const told: ReadonlyArray<readonly [Place, Document, Readonly<Record<string, string>>]> = [
      [inside, homePage(inside, { signInAt, visitor }), { "data-base": "/t", "data-kept": sessionPath }],
      [out, homePage(out, { signInAt }), { "data-base": "/t", "data-sought": "/t/" }],
      [inside, homePage(inside, { signInAt }), { "data-base": "/t", "data-sought": "/t/", "data-left": sessionPath }],
      [out, login(out), { "data-base": "/t", "data-sought": '/t/settings?a=b&c="' }],
      [out, login(out, "<x>"), { "data-base": "/t", "data-sought": '/t/settings?a=b&c="', "data-left": "<x>" }]
    ]
    for (const [where, document, data] of told) expect(scriptOf(where, document).data).toEqual(data)
  })

  test("is not there for a host's own people, on the answer to a form, or where sessions have no path", () => {
    const [out, other] = [place(loopback), place(elsewhere)]
    for (const [where, document] of [
      [out, homePage(out, { signInAt, accountsElsewhere: true })],
      [out, homePage(out, { signInAt, visitor })],
      [out, loginPage(out, { csrf: "c", returnUrl: "/t/settings", problem: "Wrong." })],
      [out, signedOutPage(out)],
      [other, homePage(other, { signInAt })],
      [other, homePage(other, { signInAt, visitor })],
      [other, login(other)]
    ] as const) {
      expect(scriptOf(where, document)).toEqual({ data: undefined, text: undefined, allowed: undefined })
    }
  })
})
