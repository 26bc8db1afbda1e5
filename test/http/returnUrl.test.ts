import { describe, expect, test } from "bun:test"
import { addressOf, safeReturnUrl } from "../../core/http/returnUrl.ts"
import { drawFrom } from "../../core/testing/Draw.ts"
import { seed } from "../adapters/seed.ts"
import { theWorkspace } from "../given/World.ts"
import { httpWorkspace, nestedWorkspace } from "../people/House.ts"

const home = "/settings"

describe("where a browser goes after sign-in", () => {
  test("is what was asked for, where that is a path of this server", () => {
    const asked = [
      "/",
      "/settings/apps",
      "/settings/apps?after=x",
      "/oauth/authorize?client_id=a&redirect_uri=https%3A%2F%2Fapp.example.org%2F%2Fcb&state=%5C%0D%0A..%2F",
      "/oauth/authorize?state=//evil.example&x=https://evil.example/",
      "/oauth/authorize?a?b",
      "/oauth/authorize?state=a\\b&x=\\\\evil.example",
      "/settings?\\",
      "/?/\\evil.example",
      "/oauth/authorize?state=\"<>^`{|}[]'%5C%",
      `/oauth/authorize?state=${"a".repeat(12_000)}`,
      `/oauth/authorize?state=${"\\".repeat(4000)}`,
      "/login.html"
    ]
    for (const path of asked) expect(safeReturnUrl(theWorkspace, path)).toBe(path)
  })

  test("is as long as the sign-in page's own address has room for, encoded once more, and no longer", () => {
    const fitting = `/a${"a".repeat(12 * 1024 - encodeURIComponent("/a").length)}`
    expect(safeReturnUrl(theWorkspace, fitting)).toBe(fitting)
    expect(safeReturnUrl(theWorkspace, `${fitting}a`)).toBe(home)
  })

  test("is the address that came, encoded where a header could not carry it", () => {
    const rows = [
      ["/a", "", "/a"],
      ["/a", "b=c&d", "/a?b=c&d"],
      ['/"<>', "%5C\\", '/"<>?%5C\\'],
      ["/é #", "\ud800x\u{1f600}", "/%C3%A9%20%23?%EF%BF%BDx%F0%9F%98%80"]
    ] as const
    for (const [path, query, address] of rows) expect(addressOf(path, query)).toBe(address)
  })

  test("is the settings, where nothing was asked for", () => {
    expect(safeReturnUrl(theWorkspace, undefined)).toBe(home)
    expect(safeReturnUrl(nestedWorkspace, undefined)).toBe("/nested/settings")
  })

  const tricks = [
    "",
    "https://evil.example/",
    "https:evil.example",
    "https:/evil.example",
    "//evil.example",
    "///evil.example",
    "////evil.example",
    "/\\evil.example",
    "/\\evil.example?x",
    "/\\?x",
    "/settings\\?x=1",
    "/settings\\..\\..?x=1",
    "/%5c?x",
    "\\?/settings",
    "\\\\?/settings",
    "?/\\evil.example",
    "/settings?a=\tb",
    "/settings?a=\\\nb",
    "/settings?a=\rb",
    "/settings?a=\u0000b",
    "/settings?a=\u007fb",
    "/settings?a b",
    "/settings?a=\\#//evil.example",
    "\\\\evil.example",
    "\\/evil.example",
    "/\\/evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "/\r/evil.example",
    "\t//evil.example",
    " //evil.example",
    "/ /evil.example",
    "\u0000//evil.example",
    "/%2f/evil.example",
    "/%2F%2Fevil.example",
    "/%2fevil.example",
    "/%252fevil.example",
    "/%25252f%25252fevil.example",
    "/%5cevil.example",
    "/%5Cevil.example",
    "/%255cevil.example",
    "/%09/evil.example",
    "/%0a/evil.example",
    "/%0d%0aSet-Cookie:a=b",
    "/settings\r\nSet-Cookie: a=b",
    "/%00/evil.example",
    "/.//evil.example",
    "/..//evil.example",
    "/a/..//evil.example",
    "/./",
    "/../settings",
    "/settings/..",
    "/settings/../admin",
    "/%2e/settings",
    "/%2e%2e//evil.example",
    "/.%2e/evil.example",
    "/%252e%252e/settings",
    "/%252e/settings",
    "/a//b",
    "javascript:alert(1)",
    "data:text/html,x",
    "evil.example",
    "@evil.example",
    "/@evil.example\\..",
    "http://auth.example.com/settings",
    "https://auth.example.com/settings",
    "https://auth.example.com.evil.example/settings",
    "?return_to=//evil.example",
    "#//evil.example",
    "/settings#//evil.example",
    "/ｅｖｉｌ",
    "/\u2215evil.example",
    "/é",
    "/%c3%a9",
    "/\u202e/settings",
    "/login",
    "/login?return_to=/settings",
    "/logout",
    `/${"a".repeat(13_000)}`,
    `/settings?${"a".repeat(13_000)}`,
    `/settings?${"\\".repeat(4100)}`
  ]
  for (const trick of tricks) {
    test(`is never ${JSON.stringify(trick.slice(0, 60))}`, () => {
      for (const workspace of [theWorkspace, httpWorkspace]) expect(safeReturnUrl(workspace, trick)).toBe(home)
    })
  }

  test("stays below the workspace's own path", () => {
    const beside = [
      "/",
      "/nested",
      "/nestedother/x",
      "/other/settings",
      "/nested/../other",
      "/nested/%2e%2e/other",
      "/nested//x",
      "/nested/login",
      "/nested/logout?x"
    ]
    for (const path of beside) expect(safeReturnUrl(nestedWorkspace, path)).toBe("/nested/settings")
    expect(safeReturnUrl(nestedWorkspace, "/nested/settings/apps")).toBe("/nested/settings/apps")
  })

  test(`is on this server and a path of it, whatever was asked for (seed ${seed})`, () => {
    const draw = drawFrom(`return to ${seed}`)
    const pieces = [
      "/",
      "/",
      "\\",
      "%2f",
      "%5c",
      "%2e",
      ".",
      "..",
      "%25",
      "@",
      ":",
      "?",
      "#",
      "\t",
      "\n",
      " ",
      "evil.example",
      "nested",
      "settings",
      "https:",
      "%",
      "%0",
      "a"
    ] as const
    const breaches: Array<unknown> = []
    for (let run = 0; run < 20_000; run++) {
      const text = Array.from({ length: 1 + draw.below(7) }, () => draw.oneOf(pieces)).join("")
      for (const workspace of [theWorkspace, nestedWorkspace]) {
        const target = safeReturnUrl(workspace, text)
        const url = new URL(target, `${workspace.issuer}/login`)
        const base = workspace === nestedWorkspace ? "/nested/" : "/"
        const decoded = decodeAll(target.split("?")[0] ?? "")
        const isHere = url.origin === new URL(workspace.issuer).origin
        const isBelow = url.pathname.startsWith(base) && decoded.startsWith(base)
        const isPlain = !/\/\/|\\|[^\x21-\x7e]/.test(decoded)
        if (!isHere || !isBelow || !isPlain) breaches.push({ text, target, isHere, isBelow, isPlain })
      }
    }
    expect(breaches).toEqual([])
  })
})

/** As a row of careless proxies might. */
const decodeAll = (path: string): string => {
  try {
    const next = decodeURIComponent(path)
    return next === path ? path : decodeAll(next)
  } catch {
    return path
  }
}

describe("an address to return to that was encoded again and again", () => {
  const layered = (times: number) => `/settings%${"25".repeat(times)}2f`

  test("leads to the settings where it hides something, and where finding out would take a look for each time", () => {
    for (const times of [0, 1, 2, 3, 10, 4000]) {
      const hidden = `/settings%${"25".repeat(times)}2f%${"25".repeat(times)}2fevil.example`
      expect(safeReturnUrl(theWorkspace, hidden)).toBe("/settings")
    }
    expect(safeReturnUrl(theWorkspace, layered(4000))).toBe("/settings")
  })

  test("leads where it says if it was encoded once, as honest ones are", () => {
    for (const path of ["/oauth/authorize?state=%25252525252f", "/files/100%25", "/files/100%25252525"]) {
      expect(safeReturnUrl(theWorkspace, path)).toBe(path)
    }
    expect(safeReturnUrl(theWorkspace, "/files/100%2525252525")).toBe("/settings")
  })
})
