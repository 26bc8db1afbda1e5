import { describe, expect, test } from "bun:test"
import type { AuthenticationAsked } from "../../core/grant/Authentication.ts"
import type { Call, Services } from "../../core/http/Route.ts"
import type { SignedIn } from "../../core/ports/ResourceOwner.ts"
import { asksForLogin, keepingStamp, signInStep } from "../../core/request/signInAsked.ts"
import { UserId } from "../../core/rules/Id.ts"
import type { Instant } from "../../core/rules/Instant.ts"
import type { Prompts } from "../../core/rules/Prompt.ts"
import { makeSealer } from "../../core/token/KeyRing.ts"
import { keyFrom, requestOf, theWorkspace } from "../given/World.ts"
import { after, policy, t0 } from "../grant/given.ts"

const path = "/oauth/authorize"

/** Where a browser is sent: by which of the host's addresses, and what the host is told. */
const lead =
  (name: string) =>
  (_workspace: unknown, ...told: ReadonlyArray<unknown>) =>
    JSON.stringify([name, ...told.slice(1)])

const servicesOf = (...keys: ReadonlyArray<number>) =>
  ({
    owner: { signInAt: lead("signInAt"), switchAt: lead("switchAt") },
    keys: { current: () => makeSealer(keys.map(keyFrom) as never) },
    policy
    // What it goes by, and nothing else.
  }) as unknown as Services
const services = servicesOf(1)

const callAt = (target: string, now: Instant = t0): Call => ({
  request: requestOf("GET", target, {}),
  workspace: theWorkspace,
  path,
  endpoint: path,
  now,
  requestId: "one"
})

const ask = "response_type=code&client_id=x"
const first = callAt(`${path}?${ask}`)

const ada = (more: Partial<SignedIn> = {}): SignedIn => ({
  user: UserId.make("ada"),
  session: "one",
  label: "ada",
  role: "member",
  ...more
})

const step = (
  prompt: ReadonlyArray<string>,
  signedIn: SignedIn | undefined,
  about?: AuthenticationAsked,
  call = first,
  by = services
) => signInStep(by, call, prompt as Prompts, signedIn, about)

type Told = "Enough" | "Missing" | "Unmet" | readonly [lead: string, asked: string | null, hints?: object | null]

/** What it comes to; of a way to the sign-in, which one it is. */
const told = (found: ReturnType<typeof step>): Told =>
  found._tag === "Ask" ? (JSON.parse(found.at) as Told) : found._tag

describe("what a request needs of the sign-in", () => {
  const since = (millis: number) => ada({ authenticatedAt: after(millis) })
  const weak = ada({ acr: "low" })
  const rows: ReadonlyArray<
    readonly [what: string, prompt: ReadonlyArray<string>, SignedIn | undefined, AuthenticationAsked | undefined, Told]
  > = [
    ["no person is there", [], undefined, undefined, ["signInAt", null]],
    ["a person is there", [], ada(), undefined, "Enough"],
    ["no person may be asked", ["none"], undefined, undefined, "Missing"],
    ["no person has to be", ["none"], ada(), undefined, "Enough"],
    ["a sign-in is asked for", ["login"], ada(), undefined, ["switchAt", "login"]],
    ["a sign-in is asked for, signed out", ["login"], undefined, undefined, ["signInAt", "login"]],
    ["an account is to be chosen", ["select_account"], ada(), undefined, ["switchAt", "select_account"]],
    ["an account to be chosen, signed out", ["select_account"], undefined, undefined, ["signInAt", "select_account"]],
    ["both", ["login", "select_account"], ada(), undefined, ["switchAt", "login"]],
    ["only the consent page", ["consent"], ada(), undefined, "Enough"],
    ["it is young enough", [], since(-59_000), { maxAge: 60 }, "Enough"],
    ["it is too old", [], since(-61_000), { maxAge: 60 }, ["switchAt", "login"]],
    ["it is too old, and no person may be asked", ["none"], since(-61_000), { maxAge: 60 }, "Missing"],
    ["it is of no known age", [], ada(), { maxAge: 60 }, ["switchAt", "login"]],
    ["it is strong enough", [], ada({ acr: "high" }), { acr: ["high"] }, "Enough"],
    ["it is too weak", [], weak, { acr: ["high"] }, ["switchAt", "login", { acr: ["high"] }]],
    ["it is too weak, and no person may be asked", ["none"], weak, { acr: ["high"] }, "Enough"],
    ["it has to be stronger, and no page may ask", ["none"], weak, { acr: ["high"], acrRequired: true }, "Unmet"],
    ["no sign-in here has a strength", [], ada(), { acr: ["high"] }, "Enough"],
    ["no sign-in here has a strength, and it has to", [], ada(), { acr: ["high"], acrRequired: true }, "Unmet"],
    ["it is theirs", [], ada(), { sub: "ada" }, "Enough"],
    ["it may be theirs", [], ada(), { sub: ["bob", "ada"] }, "Enough"],
    ["it is another person's", [], ada(), { sub: "bob" }, ["switchAt", "select_account"]],
    ["it is another person's, and no page may ask", ["none"], ada(), { sub: "bob" }, "Missing"],
    ["it may be any but theirs, and no page may ask", ["none"], ada(), { sub: ["bob", "eve"] }, "Missing"],
    ["another person's and too weak, unasked", ["none"], weak, { sub: "bob", acr: ["high"] }, "Missing"],
    [
      "hints for the person who signs in",
      [],
      undefined,
      { loginHint: "ada@example.com", acr: ["high"], nonce: "n" },
      ["signInAt", null, { acr: ["high"], loginHint: "ada@example.com" }]
    ],
    ["one hint", [], undefined, { loginHint: "ada" }, ["signInAt", null, { loginHint: "ada" }]]
  ]
  test.each(rows)("%s", (_, prompt, signedIn, about, expected) => {
    const [at, asked, hints] = [expected].flat() as [string, string | null, object | undefined]
    expect<unknown>(told(step(prompt, signedIn, about))).toEqual(
      Array.isArray(expected) ? [at, asked, hints ?? null] : expected
    )
  })

  test("leads back to the request as it came, with a stamp only where a sign-in is asked for", () => {
    const plain = step([], undefined)
    expect(plain._tag === "Ask" && plain.returnTo).toBe(`${path}?${ask}`)
    const stamp = /^(.*)[?&]asked_at=(login|choice)\.(\d+)\.([\w-]*)\.([0-9a-f]{8})\.([\w-]{43})$/
    for (const [prompt, signedIn, kind, mark] of [
      ["login", undefined, "login", /^$/],
      ["login", ada(), "login", /^[\w-]{22}$/],
      ["select_account", ada(), "choice", /^[\w-]{22}$/]
    ] as const) {
      const asked = step([prompt], signedIn)
      const [, address, found, at, session] = stamp.exec(asked._tag === "Ask" ? asked.returnTo : "") ?? []
      expect([address, found, at]).toEqual([`${path}?${ask}`, kind, String(t0)])
      expect(session).toMatch(mark)
      expect(asksForLogin(`${address}&asked_at=${found}.x`)).toBe(kind === "login")
    }
    const bare = step(["login"], undefined, undefined, callAt(path))
    expect(bare._tag === "Ask" && bare.returnTo).toStartWith(`${path}?asked_at=login.`)
  })

  test("asks for a login by the first stamp of an address", () => {
    for (const [address, asks] of [
      ["/a?asked_at=login.1", true],
      ["/a?x=1&asked_at=login.1&asked_at=choice.1", true],
      ["/a?asked_at=choice.1&asked_at=login.1", false],
      ["/a?asked_at=logins", false],
      ["/a?x=asked_at=login.1", false],
      ["/a", false]
    ] as const) {
      expect([address, asksForLogin(address)]).toEqual([address, asks])
    }
  })

  test("keeps its stamps where the request is written anew", () => {
    expect(keepingStamp("a=1", "b=2")).toBe("a=1")
    expect(keepingStamp("a=1", "b=2&asked_at=x&c=3&asked_at=y")).toBe("a=1&asked_at=x&asked_at=y")
  })
})

describe("a browser that comes back from the sign-in", () => {
  const returned = (prompt: string, before: SignedIn | undefined, about?: AuthenticationAsked, call = first) => {
    const asked = step([prompt], before, about, call)
    return asked._tag === "Ask" ? asked.returnTo : expect.unreachable("nothing was asked")
  }
  const again = { user: "ada", session: "two" } as Partial<SignedIn>
  const at = (millis: number, more: Partial<SignedIn> = {}) => ada({ authenticatedAt: after(millis), ...more })
  const login: Told = ["switchAt", "login", null]

  const rows: ReadonlyArray<
    readonly [what: string, prompt: string, before: SignedIn | undefined, now: SignedIn, Told, AuthenticationAsked?]
  > = [
    ["in the same session", "login", ada(), ada(), "Missing"],
    ["in another session", "login", ada(), ada(again), "Enough"],
    ["in the first session", "login", undefined, ada(), "Enough"],
    ["after a sign-in", "login", at(-1), at(1), "Enough"],
    ["after a sign-in in the same second", "login", at(-1), at(0), "Enough"],
    ["without one", "login", at(-2000), at(-2000), "Missing"],
    ["in another session without one", "login", at(-2000), at(-2000, again), "Missing"],
    ["seen for the first time, without one", "login", undefined, at(-2000), login],
    ["with the same account", "select_account", ada(), ada(), "Enough"],
    ["with the same account, of a known age", "select_account", at(-2000), at(-2000), "Enough"],
    [
      "seen for the first time, with an account",
      "select_account",
      undefined,
      at(-2000),
      ["switchAt", "select_account", null]
    ],
    ["still as another person", "select_account", ada(), ada(), "Missing", { sub: "bob" }],
    [
      "as weak as before",
      "login",
      at(-2000, { acr: "low" }),
      at(1, { acr: "low" }),
      "Unmet",
      { acr: ["high"], acrRequired: true }
    ],
    [
      "as weak as before, which does",
      "login",
      at(-2000, { acr: "low" }),
      at(1, { acr: "low" }),
      "Enough",
      { acr: ["high"] }
    ]
  ]
  test.each(rows.map((row) => [row[0], row] as const))("%s", (_, [, prompt, before, now, expected, about]) => {
    const call = callAt(returned(prompt, before, about), after(1000))
    expect(told(step([prompt], now, about, call))).toEqual(expected)
  })

  test("signed out asks for a sign-in again", () => {
    expect(told(step(["login"], undefined, undefined, callAt(returned("login", ada()), after(1000))))).toEqual([
      "signInAt",
      "login",
      null
    ])
  })

  test("from a stamp within a second takes what a host tells of that second", () => {
    const asked = callAt(`${path}?${ask}`, after(700))
    const back = callAt(returned("login", ada(), undefined, asked), after(1700))
    for (const [millis, expected] of [
      [0, "Enough"],
      [-1, "Missing"]
    ] as const) {
      expect([millis, told(step(["login"], at(millis), undefined, back))]).toEqual([millis, expected])
    }
  })

  test("counts its stamp for as long as a consent page, and by each key that there is", () => {
    const back = returned("login", ada())
    const last = callAt(back, after(policy.consentTtl - 1))
    expect(told(step(["login"], ada(again), undefined, last))).toBe("Enough")
    expect(told(step(["login"], ada(again), undefined, last, servicesOf(2, 1)))).toBe("Enough")
    expect(told(step(["login"], ada(again), undefined, last, servicesOf(2)))).toEqual(login)
    const late = callAt(back, after(policy.consentTtl))
    expect(told(step(["login"], ada(again), undefined, late))).toEqual(login)
  })

  const back = returned("login", ada())
  const [, time = "", mark = "", key = "", mac = ""] = /login\.(\d+)\.([\w-]+)\.(\w+)\.([\w-]+)$/.exec(back) ?? []
  const forged: ReadonlyArray<readonly [what: string, target: string]> = [
    ["another request", back.replace("client_id=x", "client_id=y")],
    ["more in the request", back.replace("?", "?a=b&")],
    ["another time", back.replace(time, String(Number(time) + 1))],
    ["another session", back.replace(mark, `${mark.slice(0, -1)}${mark.endsWith("A") ? "B" : "A"}`)],
    ["no session", back.replace(mark, "")],
    ["a key that is not here", back.replace(key, "00000000")],
    ["another MAC", back.replace(mac, `${mac.slice(0, 9)}${mac[9] === "A" ? "B" : "A"}${mac.slice(10)}`)],
    ["a MAC that is cut", back.slice(0, -1)],
    ["the stamp twice", `${back}&${back.slice(back.indexOf("asked_at"))}`],
    ["an empty stamp beside it", `${back}&asked_at=`],
    ["another kind", back.replace("asked_at=login", "asked_at=logout")],
    ["text before the stamp", back.replace("asked_at=login", "asked_at=xlogin")],
    ["text behind the stamp", `${back}x`]
  ]
  test.each(forged)("with %s has no stamp", (_, target) => {
    expect(told(step(["login"], ada(again), undefined, callAt(target, after(1))))).toEqual(login)
  })

  test("has its stamp wherever it stands", () => {
    const stamp = back.slice(back.indexOf("asked_at"))
    const moved = callAt(`${path}?${stamp}&${ask}`, after(1))
    expect(told(step(["login"], ada(again), undefined, moved))).toBe("Enough")
  })
})
