import { afterAll, beforeAll, expect, test } from "bun:test"
import type { Browser, Page } from "playwright-core"
import { owner } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"
import { meet } from "./meet.ts"

const server = serverOfFile({ env: { WORKSPACE_ACCESS: "approved" } })

let browser: Browser
let tab: Page

beforeAll(async () => {
  browser = await sharedBrowser()
  const context = await browser.newContext()
  context.setDefaultTimeout(15_000)
  tab = await context.newPage()
  await tab.goto(`${server().url}/login`)
  await tab.getByLabel("Email").fill(owner.email)
  await tab.getByLabel("Password").fill(owner.password)
  await tab.getByRole("button", { name: "Sign in" }).click()
  await tab.waitForURL("**/settings/**")
})

afterAll(() => leave(browser))

interface Machine {
  readonly client_id: string
  readonly client_secret: string
}

const register = async (client_name: string): Promise<Machine> => {
  const answer = await fetch(`${server().url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      client_name,
      client_uri: "https://jobs.example",
      grant_types: ["client_credentials"],
      token_endpoint_auth_method: "client_secret_post"
    })
  })
  // What a registration answers; a wrong shape fails what follows.
  return (await answer.json()) as Machine
}

const tokenStatus = async ({ client_id, client_secret }: Machine, headers: Readonly<Record<string, string>> = {}) => {
  const body = new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret })
  return (await fetch(`${server().url}/oauth/token`, { method: "POST", headers, body })).status
}

const waiting = () => tab.getByRole("region", { name: "Waiting for approval" })
const row = (name: string) =>
  waiting()
    .getByRole("listitem")
    .filter({ has: tab.getByRole("heading", { name }) })

const answer = async (name: string, ask: string, confirm: RegExp, code: string) => {
  await row(name).locator("summary", { hasText: ask }).click()
  await row(name).getByRole("button", { name: confirm }).click()
  await tab.waitForURL((to) => to.searchParams.get("done") === code)
  await tab.getByRole("status").waitFor()
}

test("an owner sees who waits for access without a person, approves one and refuses another", async () => {
  const job = await register("Nightly export")
  const odd = await register("Free coins")
  expect([await tokenStatus(job), await tokenStatus(odd)]).toEqual([400, 400])
  await tab.goto(`${server().url}/settings/clients`)
  for (const words of ["jobs.example", "127.0.0.1"]) await row("Nightly export").getByText(words).waitFor()
  await row("Nightly export").locator("summary", { hasText: "Approve" }).click()
  await meet(tab, "settings-clients-waiting")
  await row("Nightly export").locator("summary", { hasText: "Approve" }).click()
  await answer("Nightly export", "Approve", /^Approve access/, "client-approved")
  expect([await tokenStatus(job), await row("Nightly export").count()]).toEqual([200, 0])
  await answer("Free coins", "Refuse", /^Refuse access/, "client-refused")
  expect([await tokenStatus(odd), await waiting().count()]).toEqual([400, 0])
  await meet(tab, "settings-clients-answered")
})

test("a page of another origin that a person visits gets no token with client credentials", async () => {
  const job = await register("Script of a page")
  const page = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("a page") })
  try {
    await tab.goto(`${server().url}/settings/clients`)
    await answer("Script of a page", "Approve", /^Approve access/, "client-approved")
    expect(await tokenStatus(job)).toBe(200)
    const { client_id, client_secret } = job
    const visited = await tab.context().newPage()
    await visited.goto(`http://localhost:${page.port}/`)
    const told = await visited.evaluate(
      async ({ body, url }) => {
        const answered = await fetch(url, { method: "POST", body: new URLSearchParams(body) })
        return [answered.status, (await answered.json()).error]
      },
      { url: `${server().url}/oauth/token`, body: { grant_type: "client_credentials", client_id, client_secret } }
    )
    expect(told).toEqual([400, "unauthorized_client"])
  } finally {
    await page.stop(true)
  }
})
