import { afterAll, beforeAll, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { Effect, Exit, Scope } from "effect"
import { createRemoteJWKSet, decodeJwt, type JWTPayload, jwtVerify } from "jose"
import type { Browser, Page } from "playwright-core"
import { selfSigned } from "../adapters/selfSigned.ts"
import { owner, type RunningServer, startServer } from "../given/server.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { launchBrowser } from "../pages/launchBrowser.ts"
import { Application } from "./Application.ts"
import { approve } from "./approve.ts"
import { meet } from "./meet.ts"

/**
 * OpenID Connect as a person's browser meets it, over TLS: the pages that the foundation's modules ask for, each under the
 * name of its module, and RP-Initiated and Back-Channel Logout.
 */

const scope = Scope.makeUnsafe()
const heard: Array<string> = []
/** Whose sessions are in cookies alone, which any page's navigation has: a loopback address has them at paths. */
const issuer = "https://id.example"
/** The application: for one on this machine, consent is asked anew each time. */
const origin = "https://ledger.example"
let browser: Browser
let server: RunningServer
let listening: string

beforeAll(async () => {
  const files = await Effect.runPromise(Scope.provide(selfSigned(), scope))
  const program = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    tls: { key: readFileSync(files.key, "utf8"), cert: readFileSync(files.cert, "utf8") },
    fetch: async (request) => {
      const { hostname, pathname, search } = new URL(request.url)
      if (hostname === new URL(issuer).hostname) {
        const { headers, method } = request
        const body = method === "POST" ? await request.text() : null
        return fetch(server.url + pathname + search, { method, headers, body, redirect: "manual" })
      }
      if (pathname === "/logout") heard.push(await request.text())
      if (pathname === "/form") {
        return new Response(formOf(new URLSearchParams(search)), { headers: { "content-type": "text/html" } })
      }
      return new Response("<!doctype html><title>Ledger</title>", { headers: { "content-type": "text/html" } })
    }
  })
  const stopped = Effect.promise(() => program.stop(true))
  await Effect.runPromise(Scope.addFinalizer(scope, stopped))
  listening = `localhost:${program.port}`
  const env = { BASE_URL: issuer, CONSENT: "remember", FETCH_ALLOW: listening, FETCH_CA: files.cert }
  server = await Effect.runPromise(Scope.provide(startServer({ env }), scope))
  browser = await launchBrowser([`--host-resolver-rules=MAP *.example 127.0.0.1:${program.port}`])
})

afterAll(async () => {
  await browser.close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

const escaped = (text: string) => text.replace(/[&"<>]/g, (letter) => `&#${letter.charCodeAt(0)};`)

/** A page of the application's that sends what it was asked for as a form, where `to` says. */
const formOf = (fields: URLSearchParams): string => {
  const inputs = [...fields]
    .filter(([name]) => name !== "to")
    .map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`)
  return `<!doctype html><meta charset="utf-8"><form method="post" action="${escaped(fields.get("to") ?? "")}">
    ${inputs.join("")}<button>Go on</button></form>`
}

/** By a form of the application's page, which brings no cookie of the server's. */
const posted = async (tab: Page, address: string): Promise<void> => {
  const { origin: at, pathname, searchParams } = new URL(address)
  await tab.goto(`${origin}/form?${new URLSearchParams([...searchParams, ["to", at + pathname]])}`)
  await button(tab, "Go on").click()
}

const button = (tab: Page, name: string) => tab.getByRole("button", { name, exact: true })

const newTab = async (): Promise<Page> => {
  const context = await browser.newContext({ ignoreHTTPSErrors: true })
  context.setDefaultTimeout(15_000)
  return context.newPage()
}

const signIn = async (tab: Page): Promise<void> => {
  await tab.getByLabel("Email").fill(owner.email)
  await tab.getByLabel("Password").fill(owner.password)
  await button(tab, "Sign in").click()
}

const redirectUri = `${origin}/callback`
const signedOutUri = `${origin}/signed-out`

const asksOf =
  (application: Application) =>
  (fields: Readonly<Record<string, string>>): string =>
    application.authorizationUrl(redirectUri, { scope: "openid", ...fields }).replace(server.url, issuer)

/** What the application is told of the sign-in that led back there. */
const toldAt = async (application: Application, back: URL): Promise<string> => {
  // RFC 6749's shape; a token that is none fails where it is used.
  const { id_token } = (await (await application.redeem(back, redirectUri)).json()) as { readonly id_token: string }
  return id_token
}

/** Which page of ours an address leads to, and where that is. */
const pageAt = async (tab: Page, address: string): Promise<readonly [page: string | null, origin: string]> => {
  await tab.goto(address)
  return [await tab.locator("body").getAttribute("data-page"), new URL(tab.url()).origin]
}

/** Where the browser is after this address, once it is back at the application. */
const backFrom = async (tab: Page, address: string, at: string, through?: () => Promise<void>): Promise<URL> => {
  await tab.goto(address)
  await through?.()
  await tab.waitForURL(`${at}?**`)
  return new URL(tab.url())
}

test("oidcc-prompt-login and the pages of oidcc-registration-policy-uri and -tos-uri", async () => {
  const links = { policy_uri: "https://ledger.example/privacy", tos_uri: "https://terms.example/terms" }
  const application = await Application.register(server.url, "Ledger", redirectUri, links)
  const asks = asksOf(application)
  const tab = await newTab()
  const before = await backFrom(tab, asks({ max_age: "1000" }), redirectUri, async () => {
    await signIn(tab)
    await tab.locator("body[data-page=consent]").waitFor()
    for (const address of Object.values(links)) expect(await tab.locator(`a[href="${address}"]`).isVisible()).toBe(true)
    await approve(tab)
  })
  const first = decodeJwt(await toldAt(application, before))

  // A client that asks for a sign-in wants the person there, so that no remembered consent answers for them.
  expect(await pageAt(tab, asks({ prompt: "login", max_age: "1000" }))).toEqual(["sign-in", issuer])
  await signIn(tab)
  await approve(tab)
  await tab.waitForURL(`${redirectUri}?**`)
  const second = decodeJwt(await toldAt(application, new URL(tab.url())))
  expect(second.sub).toBe(first.sub)
  expect(Number(second.auth_time)).toBeGreaterThanOrEqual(Number(first.auth_time))
  // The session goes on: who signs out of it signs out of both.
  expect(second.sid).toBe(first.sid)
}, 60_000)

test("oidcc-ensure-registered-redirect-uri, and whatever else names no address of the client's: a page, and no way to it", async () => {
  const application = await Application.register(server.url, "Ledger", redirectUri)
  const queried = `${redirectUri}?dummy1=lorem&dummy2=ipsum`
  const other = await Application.register(server.url, "Ledger", queried)
  const tab = await newTab()
  const asked = (of: Application, uri: string | undefined, fields: Readonly<Record<string, string>> = {}) => {
    const address = new URL(of.authorizationUrl(uri ?? "", { scope: "openid", ...fields }))
    if (uri === undefined) address.searchParams.delete("redirect_uri")
    return address.href.replace(server.url, issuer)
  }
  const elsewhere = `${origin}/elsewhere`
  const object = Buffer.from(JSON.stringify({ redirect_uri: redirectUri })).toString("base64url")
  const rows: ReadonlyArray<readonly [module: string, address: string]> = [
    ["oidcc-ensure-registered-redirect-uri", asked(application, elsewhere)],
    [
      "oidcc-ensure-request-object-with-redirect-uri",
      asked(application, elsewhere, { request: `eyJhbGciOiJub25lIn0.${object}.` })
    ],
    ["oidcc-ensure-redirect-uri-in-authorization-request", asked(application, undefined)],
    ["oidcc-redirect-uri-query-added", asked(application, `${redirectUri}?foo=bar`)],
    ["oidcc-redirect-uri-query-mismatch", asked(other, `${redirectUri}?dummy1=lorem`)]
  ]
  for (const [module, address] of rows) {
    expect([module, ...(await pageAt(tab, address))]).toEqual([module, expect.stringMatching(/^error-/), issuer])
    expect([module, await tab.locator("h1").count(), await tab.locator("form").count()]).toEqual([module, 1, 0])
    expect([module, await tab.locator(`a[href^="${origin}"]`).count()]).toEqual([module, 0])
  }
  // oidcc-redirect-uri-query-OK, at the same address.
  const back = await backFrom(tab, asked(other, queried), redirectUri, async () => {
    await signIn(tab)
    await approve(tab)
  })
  expect([...back.searchParams.keys()]).toEqual(["dummy1", "dummy2", "code", "state", "iss"])
}, 60_000)

test("oidcc-ensure-post-request-succeeds: a form of the application's page is the same request, and so it is at the logout", async () => {
  const application = await Application.register(server.url, "Ledger", redirectUri, {
    post_logout_redirect_uris: [signedOutUri]
  })
  const asks = asksOf(application)
  const tab = await newTab()
  await posted(tab, asks({}))
  await signIn(tab)
  await approve(tab)
  await tab.waitForURL(`${redirectUri}?**`)
  const hint = await toldAt(application, new URL(tab.url()))
  expect(new URL(tab.url()).searchParams.get("state")).toBe("a b&c=d/é")

  // oidcc-prompt-none-logged-in: the session is found, though the form itself brought no cookie, and no page is shown.
  await posted(tab, asks({ prompt: "none", id_token_hint: hint }))
  await tab.waitForURL(`${redirectUri}?**`)
  expect(decodeJwt(await toldAt(application, new URL(tab.url()))).sub).toBe(decodeJwt(hint).sub)

  // oidcc-max-age-1, at any age.
  await posted(tab, asks({ max_age: "0" }))
  await tab.locator("body[data-page=sign-in]").waitFor()

  const state = 'over & out "é"'
  const fields = new URLSearchParams({ id_token_hint: hint, post_logout_redirect_uri: signedOutUri, state })
  await posted(tab, `${issuer}/oauth/logout?${fields}`)
  await tab.waitForURL(`${signedOutUri}?**`)
  expect([...new URL(tab.url()).searchParams]).toEqual([["state", state]])
  await posted(tab, asks({ prompt: "none" }))
  await tab.waitForURL(`${redirectUri}?**`)
  expect(new URL(tab.url()).searchParams.get("error")).toBe("login_required")
}, 60_000)

test("oidcc-rp-initiated-logout: what is no good request leads nowhere, and no person is signed out unasked", async () => {
  const application = await Application.register(server.url, "Ledger", redirectUri, {
    post_logout_redirect_uris: [signedOutUri]
  })
  const asks = asksOf(application)
  const tab = await newTab()
  const back = await backFrom(tab, asks({}), redirectUri, async () => {
    await signIn(tab)
    await approve(tab)
  })
  const hint = await toldAt(application, back)
  const leads = (fields: Readonly<Record<string, string>>) =>
    pageAt(tab, `${issuer}/oauth/logout?${new URLSearchParams(fields)}`)

  const refused: ReadonlyArray<readonly [module: string, fields: Readonly<Record<string, string>>]> = [
    ["-bad-post-logout-redirect-uri", { id_token_hint: hint, post_logout_redirect_uri: `${origin}/elsewhere` }],
    [
      "-query-added-to-post-logout-redirect-uri",
      { id_token_hint: hint, post_logout_redirect_uri: `${signedOutUri}?foo=bar` }
    ],
    [
      "-modified-id-token-hint",
      { id_token_hint: `eyJhbGciOiJub25lIn0.${hint.split(".")[1]}.`, post_logout_redirect_uri: signedOutUri }
    ],
    ["-bad-id-token-hint", { id_token_hint: `${hint.slice(0, -4)}AAAA`, post_logout_redirect_uri: signedOutUri }],
    ["-no-id-token-hint", { post_logout_redirect_uri: signedOutUri }]
  ]
  for (const [module, fields] of refused) {
    expect([module, ...(await leads(fields))]).toEqual([module, expect.stringMatching(/^error-/), issuer])
    expect([module, await tab.getByRole("button").count()]).toEqual([module, 0])
  }
  expect((await backFrom(tab, asks({ prompt: "none" }), redirectUri)).searchParams.has("code")).toBe(true)

  // -no-params, -only-state: the person is asked, and told.
  for (const fields of [{}, { state: "x" }]) expect(await leads(fields)).toEqual(["end-session", issuer])
  await button(tab, "Sign out").click()
  await tab.locator("body[data-page=session-ended]").waitFor()
  expect(new URL(tab.url()).origin).toBe(issuer)
  expect([await tab.locator("h1").count(), await tab.locator("form").count()]).toEqual([1, 0])
  const after = await backFrom(tab, asks({ prompt: "none" }), redirectUri)
  expect(after.searchParams.get("error")).toBe("login_required")

  // -no-post-logout-redirect-uri
  const again = await backFrom(tab, asks({}), redirectUri, () => signIn(tab))
  expect(await leads({ id_token_hint: await toldAt(application, again) })).toEqual(["session-ended", issuer])
  expect(await tab.locator("form").count()).toBe(0)
}, 60_000)

test("a person who signs out at an application is back there, and it hears of no other session", async () => {
  const application = await Application.register(server.url, "Ledger", redirectUri, {
    redirect_uris: [redirectUri, `https://${listening}/callback`],
    post_logout_redirect_uris: [signedOutUri],
    backchannel_logout_uri: `https://${listening}/logout`,
    id_token_signed_response_alg: "ES256"
  })
  const asks = asksOf(application)

  /** A person in a browser of theirs, and what the application knows of them. */
  const signedIn = async () => {
    const tab = await newTab()
    const back = await backFrom(tab, asks({ prompt: "consent" }), redirectUri, async () => {
      await signIn(tab)
      await approve(tab)
    })
    const hint = await toldAt(application, back)
    const atOnce = async () => {
      const { searchParams } = await backFrom(tab, asks({ prompt: "none" }), redirectUri)
      return searchParams.get("error") ?? (searchParams.has("code") ? "a code" : "nothing")
    }
    return { tab, hint, sid: decodeJwt(hint).sid, atOnce }
  }

  /** By the link that an application has for people who sign out there. */
  const signOut = async (tab: Page, hint: string, through?: () => Promise<void>) => {
    const state = 'over & out "é"'
    const fields = new URLSearchParams({ id_token_hint: hint, post_logout_redirect_uri: signedOutUri, state })
    const back = await backFrom(tab, `${issuer}/oauth/logout?${fields}`, signedOutUri, through)
    expect([...back.searchParams]).toEqual([["state", state]])
  }

  const keys = createRemoteJWKSet(new URL(`${server.url}/oauth/jwks`))
  const heardOf = async (calls: number): Promise<ReadonlyArray<JWTPayload>> => {
    const came = pollUntil(
      Effect.sync(() => heard.length >= calls),
      20_000
    )
    expect(await Effect.runPromise(came)).toBe(true)
    return Promise.all(
      heard.map(async (body) => {
        const token = new URLSearchParams(body).get("logout_token") ?? ""
        const audience = application.client.client_id
        return (await jwtVerify(token, keys, { issuer, audience, typ: "logout+jwt" })).payload
      })
    )
  }

  const here = await signedIn()
  const there = await signedIn()
  expect([await here.atOnce(), await there.atOnce()]).toEqual(["a code", "a code"])

  // A hint of another session could come from any site: the person is asked first.
  await signOut(there.tab, here.hint, async () => {
    await there.tab.locator("body[data-page=end-session]").waitFor()
    await meet(there.tab, "end-session")
    expect(heard).toEqual([])
    await button(there.tab, "Sign out").click()
  })
  expect((await heardOf(1)).map(({ sid }) => sid)).toEqual([there.sid])
  expect([await here.atOnce(), await there.atOnce()]).toEqual(["a code", "login_required"])

  await signOut(here.tab, here.hint)
  expect((await heardOf(2)).map(({ sid }) => sid)).toEqual([there.sid, here.sid])
  expect(await here.atOnce()).toBe("login_required")
}, 60_000)
