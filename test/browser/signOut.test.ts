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

/** A person signs in at an application, and out of it again: RP-Initiated and Back-Channel Logout of OpenID Connect. */

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

const button = (tab: Page, name: string) => tab.getByRole("button", { name, exact: true })

/** Where the browser is after this address, once it is back at the application. */
const backFrom = async (tab: Page, address: string, at: string, through?: () => Promise<void>): Promise<URL> => {
  await tab.goto(address)
  await through?.()
  await tab.waitForURL(`${at}?**`)
  return new URL(tab.url())
}

test("a person who signs out at an application is back there, and it hears of no other session", async () => {
  const redirectUri = `${origin}/callback`
  const signedOutUri = `${origin}/signed-out`
  const application = await Application.register(server.url, "Ledger", redirectUri, {
    redirect_uris: [redirectUri, `https://${listening}/callback`],
    post_logout_redirect_uris: [signedOutUri],
    backchannel_logout_uri: `https://${listening}/logout`,
    id_token_signed_response_alg: "ES256"
  })
  const asks = (fields: Readonly<Record<string, string>>) =>
    application.authorizationUrl(redirectUri, { scope: "openid", ...fields }).replace(server.url, issuer)

  /** A person in a browser of theirs, and what the application knows of them. */
  const signedIn = async () => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    context.setDefaultTimeout(15_000)
    const tab = await context.newPage()
    const back = await backFrom(tab, asks({ prompt: "consent" }), redirectUri, async () => {
      await tab.getByLabel("Email").fill(owner.email)
      await tab.getByLabel("Password").fill(owner.password)
      await button(tab, "Sign in").click()
      await approve(tab)
    })
    // RFC 6749's shape; a token that is none fails where it is used.
    const { id_token } = (await (await application.redeem(back, redirectUri)).json()) as { readonly id_token: string }
    const atOnce = async () => {
      const { searchParams } = await backFrom(tab, asks({ prompt: "none" }), redirectUri)
      return searchParams.get("error") ?? (searchParams.has("code") ? "a code" : "nothing")
    }
    return { tab, hint: id_token, sid: decodeJwt(id_token).sid, atOnce }
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
