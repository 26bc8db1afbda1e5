import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Browser, Page } from "playwright-core"
import { approve } from "../browser/approve.ts"
import { owner } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { register } from "../given/serverVisitor.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"

/** A client that lives in a browser, on an origin of its own: what it may do there, only a browser can say. */

const server = serverOfFile()
const application = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () =>
    new Response("<!doctype html><title>app</title><h1>An application</h1>", {
      headers: { "content-type": "text/html" }
    })
})
const origin = `http://localhost:${application.port}`

let browser: Browser
let tab: Page

beforeAll(async () => {
  browser = await sharedBrowser()
  tab = await (await browser.newContext()).newPage()
})

afterAll(async () => {
  await leave(browser)
  await application.stop(true)
})

interface Seen {
  /** Why the browser kept the answer to itself, if it did. */
  readonly kept?: string
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly text?: string
}

/** `fetch` as the application's page does it, with all that the browser forbids. */
const fetched = async (target: string, init: Readonly<Record<string, unknown>> = {}): Promise<Seen> => {
  if (!tab.url().startsWith(origin)) await tab.goto(`${origin}/`)
  const call = JSON.stringify([target.startsWith("http") ? target : server().url + target, init])
  // The shape is that of the script itself.
  return (await tab.evaluate(`(async ([url, init]) => {
    try {
      const answer = await fetch(url, init)
      return { status: answer.status, headers: Object.fromEntries(answer.headers), text: await answer.text() }
    } catch (error) {
      return { kept: String(error) }
    }
  })(${call})`)) as Seen
}

const json = (seen: Seen): Readonly<Record<string, unknown>> => {
  expect(seen.kept).toBeUndefined()
  // What is read of it is asserted.
  return JSON.parse(String(seen.text)) as Readonly<Record<string, unknown>>
}

describe("a client in the browser", () => {
  test("gets all the way: discovery, registration, sign-in and consent, tokens, the resource", async () => {
    const challenged = await fetched("/rest/companies")
    expect(challenged.status).toBe(401)
    const [, hint = ""] = /resource_metadata="([^"]+)"/.exec(String(challenged.headers?.["www-authenticate"])) ?? []
    const [issuer] = json(await fetched(hint)).authorization_servers as ReadonlyArray<string>
    const metadata = json(await fetched(`${issuer}/.well-known/oauth-authorization-server`))

    const redirectUri = `${origin}/callback`
    const registered = json(
      await fetched(String(metadata.registration_endpoint), {
        method: "POST",
        headers: { "content-type": "application/json", "mcp-protocol-version": "2026-07-28" },
        body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: "none" })
      })
    )
    const verifier = "v".repeat(64)
    const challenge = await tab.evaluate(`(async () => {
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("${verifier}")))
      return btoa(String.fromCharCode(...digest)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
    })()`)
    const url = `${String(metadata.authorization_endpoint)}?${new URLSearchParams({
      response_type: "code",
      client_id: String(registered.client_id),
      redirect_uri: redirectUri,
      code_challenge: String(challenge),
      code_challenge_method: "S256",
      state: "tab"
    })}`
    await tab.goto(url)
    await tab.getByLabel("Email").fill(owner.email)
    await tab.getByLabel("Password").fill(owner.password)
    await tab.getByRole("button", { name: "Sign in" }).click()
    await approve(tab)
    await tab.waitForURL(`${redirectUri}?*`)
    const back = new URL(tab.url())

    const form = (fields: Readonly<Record<string, string>>) => ({
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ client_id: String(registered.client_id), ...fields }).toString()
    })
    const tokens = json(
      await fetched(
        String(metadata.token_endpoint),
        form({
          grant_type: "authorization_code",
          code: String(back.searchParams.get("code")),
          redirect_uri: redirectUri,
          code_verifier: verifier
        })
      )
    )
    const bearing = { headers: { authorization: `Bearer ${String(tokens.access_token)}` } }
    expect((await fetched("/rest/companies", bearing)).status).toBe(200)
    const scarce = await fetched("/oauth/userinfo", bearing)
    expect([scarce.status, scarce.headers?.["www-authenticate"]]).toEqual([
      403,
      expect.stringContaining("insufficient_scope")
    ])
    expect((await fetched("/oauth/revoke", form({ token: String(tokens.refresh_token) }))).status).toBe(200)
    expect((await fetched("/rest/companies", bearing)).status).toBe(401)

    const own = { headers: { authorization: `Bearer ${String(registered.registration_access_token)}` } }
    expect((await fetched(String(registered.registration_client_uri), own)).status).toBe(200)
    expect((await fetched(String(registered.registration_client_uri), { ...own, method: "DELETE" })).status).toBe(204)
  })

  test("reads refusals too, with the id to ask about them", async () => {
    const refused = await fetched("/oauth/token", {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "grant_type=authorization_code"
    })
    expect(refused.status).toBe(401)
    expect(refused.headers?.["x-request-id"]).toBeString()
    expect((await fetched("/oauth/register", { method: "POST", body: "{}" })).status).toBe(400)
  })
})

describe("what stays the server's own", () => {
  const pages = ["/login", "/consent", "/logout", "/settings/profile", "/settings/members", "/oauth/authorize"]

  test.each(pages)("a page of another origin cannot read %s", async (path) => {
    expect((await fetched(path)).kept).toContain("Failed to fetch")
    expect((await fetched(path, { credentials: "include" })).kept).toContain("Failed to fetch")
  })

  test("nor anything with the person's cookies", async () => {
    expect((await fetched("/oauth/userinfo", { credentials: "include" })).kept).toContain("Failed to fetch")
  })

  test("nor introspect, which is for servers", async () => {
    const { client_id } = await register(server().url, {
      redirect_uris: [`${origin}/callback`],
      token_endpoint_auth_method: "none"
    })
    const form = { method: "POST", body: new URLSearchParams({ client_id, token: "x" }).toString() }
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    expect((await fetched("/oauth/introspect", { ...form, headers })).kept).toContain("Failed to fetch")
  })

  test("and a method that an endpoint lacks is not let through by its preflight", async () => {
    expect((await fetched("/oauth/token", { method: "PUT" })).kept).toContain("Failed to fetch")
  })
})
