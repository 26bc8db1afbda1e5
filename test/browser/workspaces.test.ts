import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { Redacted } from "effect"
import type { Browser, Page } from "playwright-core"
import { serveWith } from "../../core/serve.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import { wholeServer } from "../attacks/wholeServer.ts"
import { owner } from "../given/server.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"
import { Application, type Tokens } from "./Application.ts"
import { acknowledge, approve } from "./approve.ts"

/** Workspaces of one process: on hosts of their own, and at paths of one that they share. */

const client = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("back") })
const redirectUri = `http://127.0.0.1:${client.port}/callback`

let answer: (request: Request) => Response | Promise<Response> = () => new Response(null, { status: 503 })
const server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => answer(request) })
const at = (id: string, host: string, path = ""): Workspace => ({
  id: WorkspaceId.make(id),
  issuer: Issuer.make(`http://${host}:${server.port}${path}`),
  name: id
})
const [acme, beta] = [at("Acme", "127.0.0.1"), at("Beta", "localhost")]
const [one, two] = [at("One", "127.0.0.1", "/t/one"), at("Two", "127.0.0.1", "/t/two")]

const { runtime, services } = wholeServer("browsers", [acme, beta, one, two])
let browser: Browser

beforeAll(async () => {
  const { accounts } = await runtime.runPromise(services)
  const { email } = owner
  for (const { id } of [acme, beta, one, two]) {
    const password = Redacted.make(owner.password)
    await runtime.runPromise(accounts.open(id, { email, name: `Ada of ${id}`, role: "owner", password }))
  }
  const handle = ofFetch.handler(serveWith(runtime))
  answer = (request) => handle(request, () => "127.0.0.1")
  browser = await sharedBrowser()
})

afterAll(async () => {
  await leave(browser)
  await server.stop(true)
  await client.stop(true)
  await runtime.dispose()
})

const newTab = async (): Promise<Page> => {
  const context = await browser.newContext()
  context.setDefaultTimeout(15_000)
  return context.newPage()
}

const button = (tab: Page, name: string) => tab.getByRole("button", { name, exact: true })
const pageName = (tab: Page) => tab.locator("body").getAttribute("data-page")

const signIn = async (tab: Page) => {
  await tab.getByLabel("Email").fill(owner.email)
  await tab.getByLabel("Password").fill(owner.password)
  await button(tab, "Sign in").click()
}

/** A person in a browser of theirs, who let an application into their workspace. */
interface Home {
  readonly tab: Page
  readonly workspace: Workspace
  readonly application: Application
  readonly tokens: Tokens
}

const livedIn = async (workspace: Workspace, tab: Page): Promise<Home> => {
  const application = await Application.register(workspace.issuer, `Ledger of ${workspace.id}`, redirectUri)
  await tab.goto(application.authorizationUrl(redirectUri))
  await signIn(tab)
  await approve(tab)
  await tab.waitForURL(`${redirectUri}?**`)
  const back = tab.url()
  expect(new URL(back).searchParams.get("iss")).toBe(workspace.issuer)
  return { tab, workspace, application, tokens: await application.tokens(back, redirectUri) }
}

const appsOf = async ({ tab, workspace }: Home): Promise<ReadonlyArray<string>> => {
  await tab.goto(`${workspace.issuer}/settings/apps`)
  await tab.locator("body[data-page=settings-apps]").waitFor()
  return tab.getByRole("heading", { level: 3 }).allInnerTexts()
}

const openedAt = async ({ issuer }: Workspace, { access }: Tokens) =>
  (await fetch(`${issuer}/rest/companies`, { headers: { authorization: `Bearer ${access}` } })).status

/** Sends the consent page that one shows to the other's workspace, from the very browser that shows it. */
const consentSentTo = async (home: Home, other: Home, sessionPath: string) => {
  await home.tab.goto(home.application.authorizationUrl(redirectUri, { prompt: "consent" }))
  await acknowledge(home.tab)
  const action = `${other.workspace.issuer}${sessionPath}/consent`
  await home.tab.evaluate(`document.querySelector("form:has([name=ticket])").action = ${JSON.stringify(action)}`)
  await button(home.tab, "Approve").click()
  await home.tab.waitForURL((to) => to.href.startsWith(other.workspace.issuer))
  return pageName(home.tab)
}

const sessionPathOf = async ({ tab, workspace }: Home) => {
  await tab.goto(`${workspace.issuer}/settings/apps`)
  await tab.waitForURL("**/~/**")
  return /\/~\/[\w-]{22}(?=\/)/.exec(new URL(tab.url()).pathname)?.[0] ?? ""
}

const strangers = async (home: Home, other: Home) => {
  for (const [mine, theirs] of [
    [home, other],
    [other, home]
  ] as const) {
    expect(await appsOf(mine)).toEqual([`Ledger of ${mine.workspace.id}`])
    expect([await openedAt(mine.workspace, mine.tokens), await openedAt(mine.workspace, theirs.tokens)]).toEqual([
      200, 401
    ])
  }
}

describe.each([
  ["on hosts of their own", acme, beta],
  ["at paths of one host", one, two]
] as const)("two workspaces %s", (_where, first, second) => {
  test("know nothing of each other's sessions, consents and tokens, in two browsers", async () => {
    const home = await livedIn(first, await newTab())
    const other = await livedIn(second, await newTab())
    await strangers(home, other)
    const sessionPath = await sessionPathOf(other)
    // Not by the other's session path either, which no page of theirs ever told.
    for (const path of ["", sessionPath]) {
      expect(["sign-in", "error-form-expired"]).toContain((await consentSentTo(home, other, path)) ?? "")
      await home.tab.goto(`${second.issuer}${path}/settings/apps`)
      await home.tab.locator("body[data-page=sign-in]").waitFor()
    }
    await strangers(home, other)
    await button(other.tab, "Sign out").click()
    await other.tab.locator("body[data-page=signed-out]").waitFor()
    expect(await appsOf(home)).toEqual([`Ledger of ${first.id}`])
  })

  test("know nothing of each other's in one browser, where one person is signed in to both", async () => {
    const tab = await newTab()
    const home = await livedIn(first, tab)
    const other = await livedIn(second, await tab.context().newPage())
    const before = [await appsOf(home), await appsOf(other)]
    expect(before.map((apps) => apps.includes(`Ledger of ${first.id}`))).toEqual([true, false])
    expect(before.map((apps) => apps.includes(`Ledger of ${second.id}`))).toEqual([false, true])
    const sessionPath = await sessionPathOf(other)
    for (const path of ["", sessionPath]) {
      expect(["sign-in", "error-form-expired"]).toContain((await consentSentTo(home, other, path)) ?? "")
    }
    expect([await appsOf(home), await appsOf(other)]).toEqual(before)
    await button(other.tab, "Sign out").click()
    await other.tab.locator("body[data-page=signed-out]").waitFor()
    expect(await appsOf(home)).toEqual(before[0] ?? [])
    await other.tab.goto(`${second.issuer}/settings/apps`)
    await other.tab.locator("body[data-page=sign-in]").waitFor()
  })
})
