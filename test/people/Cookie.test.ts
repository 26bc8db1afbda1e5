import { describe, expect, test } from "bun:test"
import { Redacted } from "effect"
import {
  type Cookie,
  clearCookie,
  enterAt,
  readCookie,
  readSessionCookie,
  setCookie
} from "../../core/people/Cookie.ts"
import type { SessionSecret } from "../../core/people/Sessions.ts"
import { Issuer, type OpenWorkspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { header } from "../given/flow.ts"
import { requestOf } from "../given/World.ts"

const at = (issuer: string, sessionPath?: string): OpenWorkspace => ({
  id: WorkspaceId.make("home"),
  issuer: Issuer.make(issuer),
  name: "Home",
  ...(sessionPath === undefined ? {} : { sessionPath })
})

const device: Cookie = { purpose: "device", form: /^[a-z]+$/ }
const session: Cookie = { purpose: "session", form: /^[a-z]+$/, ofSession: true }
const path = `/~/${"p".repeat(22)}`

/** RFC 6265bis §4.1.3: what a browser holds each cookie to. Only one of a session is below the session's own path. */
const rows: ReadonlyArray<readonly [OpenWorkspace, Cookie, name: RegExp, path: string, secure: boolean]> = [
  [at("https://auth.example.com"), device, /^__Host-tessera_device$/, "/", true],
  [at("https://auth.example.com"), session, /^__Host-tessera_session$/, "/", true],
  [at("https://auth.example.com:8443/t/one"), session, /^__Host-tessera_session_8443_home_[\w-]{8}$/, "/", true],
  [at("http://127.0.0.1:3000", path), session, /^tessera_session_3000$/, path, false],
  [at("http://127.0.0.1:3000", path), device, /^tessera_device_3000$/, "/", false],
  [at("http://127.0.0.1:3000/t/one", path), session, /^tessera_session_3000_home_[\w-]{8}$/, `/t/one${path}`, false],
  [at("http://127.0.0.1:3000/t/one", path), device, /^tessera_device_3000_home_[\w-]{8}$/, "/t/one", false],
  [at("https://localhost:3000", path), session, /^__Secure-tessera_session_3000$/, path, true],
  [at("https://localhost:3000", path), device, /^__Host-tessera_device_3000$/, "/", true],
  [at("http://127.0.0.1:3000"), session, /^tessera_session_3000$/, "/", false]
]

const nameOf = (workspace: OpenWorkspace, cookie: Cookie) => clearCookie(workspace, cookie)[1].split("=", 1)[0] ?? ""

describe("a cookie", () => {
  test.each(rows)(
    "is set and taken back under one name, and as its kind asks (%#)",
    (workspace, cookie, name, at, secure) => {
      const attributes = ["HttpOnly", "SameSite=Lax", ...(secure ? ["Secure"] : [])]
      for (const [[header, text], value, age] of [
        [setCookie(workspace, cookie, "value", 90_500), "value", 90],
        [clearCookie(workspace, cookie), "", 0]
      ] as const) {
        const [pair = "", ...rest] = text.split("; ")
        expect([header, pair.slice(pair.indexOf("=") + 1)]).toEqual(["set-cookie", value])
        expect(pair.slice(0, pair.indexOf("="))).toMatch(name)
        expect(rest).toEqual([`Path=${at}`, `Max-Age=${age}`, ...attributes])
      }
    }
  )

  const home = at("https://auth.example.com")
  const name = nameOf(home, device)
  const readOf = (cookie: string | undefined) =>
    readCookie(home, requestOf("GET", "/", { headers: cookie === undefined ? {} : { cookie } }), device)

  const reads: ReadonlyArray<readonly [cookie: string | undefined, value: string | undefined]> = [
    [`${name}=ours`, "ours"],
    [`other=x; ${name}=ours; another=y`, "ours"],
    [`other=x;${name}=ours`, "ours"],
    [`other=x;  ${name}=ours `, "ours"],
    [`other=x;\t${name}=ours\t`, "ours"],
    [`other=x; ${name}=ours \t ;another=y`, "ours"],
    [`other=x; ${name}=ours\u00a0;another=y`, undefined],
    [`; ; \t ;${name}=ours;;`, "ours"],
    [undefined, undefined],
    [`${name}=`, undefined],
    [name, undefined],
    [`${name}=Not of its form`, undefined],
    [`x${name}=ours`, undefined],
    [`${name}x=ours`, undefined],
    // A browser guards no name that begins with something else than blanks.
    [`\u00a0${name}=ours`, undefined],
    // One of two may have been planted.
    [`${name}=ours; ${name}=theirs`, undefined],
    [`${name}=ours; ${name}=ours`, undefined]
  ]

  test.each(reads)("is read by its very name, and of two none: %j", (cookie, value) => {
    expect(readOf(cookie)).toBe(value)
  })

  test("is looked for in 16 KiB at most, which no browser sends", () => {
    const filled = (length: number) => `${name}=ours; ${"x".repeat(length - `${name}=ours; `.length)}`
    expect([readOf(filled(16_384)), readOf(filled(16_385))]).toEqual(["ours", undefined])
  })
})

describe("a session on a loopback host", () => {
  const home = at("http://127.0.0.1:3000/t/one")
  const [mine, other] = ["m", "o"].map((letter): SessionSecret => Redacted.make(letter.repeat(43)))
  if (mine === undefined || other === undefined) throw new Error("no secrets")
  const placeOf = (secret: SessionSecret, workspace = home, target = "/t/one/settings/apps?q=a") => {
    const answer = enterAt(workspace, secret, 60_000, target)
    for (const pair of answer.headers) expect(pair).toHaveLength(2)
    const cookies = answer.headers.filter(([name]) => name === "set-cookie").map(([, text]) => text)
    return { to: header(answer, "location") ?? "", cookies }
  }

  test("is entered below a path of its own, which another's cookie does not open", () => {
    const { cookies, to } = placeOf(mine)
    expect(to).toMatch(/^\/t\/one\/~\/[\w-]{22}\/settings\/apps\?q=a$/)
    const sessionPath = /\/~\/[\w-]{22}/.exec(to)?.[0] ?? ""
    expect(cookies).toEqual([expect.stringContaining(`; Path=/t/one${sessionPath}; `)])
    const name = cookies[0]?.split("=", 1)[0]
    expect(name).toMatch(/^tessera_session_3000_home_[\w-]{8}$/)
    const there = { ...home, sessionPath }
    const readOf = (workspace: OpenWorkspace, ...secrets: ReadonlyArray<SessionSecret>) => {
      const cookie = secrets.map((secret) => `${name}=${Redacted.value(secret)}`).join("; ")
      const read = readSessionCookie(workspace, requestOf("GET", "/", { headers: { cookie } }))
      return read === undefined ? undefined : Redacted.value(read)
    }
    expect(readOf(there, mine)).toBe(Redacted.value(mine))
    expect(readOf(there, other, mine)).toBe(Redacted.value(mine))
    expect([readOf(there, other), readOf(there), readOf(home, mine)]).toEqual([undefined, undefined, undefined])
  })

  test("takes the cookie of the one before back, where it begins within that", () => {
    const sessionPath = /\/~\/[\w-]{22}/.exec(placeOf(other).to)?.[0] ?? ""
    const { cookies, to } = placeOf(mine, { ...home, sessionPath })
    expect(to).not.toContain(sessionPath)
    expect(cookies).toEqual([
      expect.stringContaining(`=; Path=/t/one${sessionPath}; Max-Age=0`),
      expect.stringContaining("; Max-Age=60;")
    ])
  })
})

test("a session's cookie elsewhere is one secret, and nothing that only holds one", () => {
  const home = at("https://auth.example.com")
  const secret = "s".repeat(43)
  const readOf = (value: string) => {
    const headers = { cookie: `${nameOf(home, session)}=${value}` }
    const read = readSessionCookie(home, requestOf("GET", "/", { headers }))
    return read === undefined ? undefined : Redacted.value(read)
  }

  expect(readOf(secret)).toBe(secret)
  for (const value of ["", secret.slice(1), `${secret}s`, `.${secret}`, `${secret}.`]) {
    expect(readOf(value)).toBeUndefined()
  }
})
