import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { form, formHeaders } from "../given/flow.ts"
import { owner } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { companiesStatus } from "../given/serverVisitor.ts"
import { leave, sharedBrowser } from "../pages/launchBrowser.ts"
import { Application } from "./Application.ts"
import { approve } from "./approve.ts"
import { meet } from "./meet.ts"

const server = serverOfFile()
const application = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("back") })
const redirectUri = `http://localhost:${application.port}/callback`

let browser: Browser
let context: BrowserContext
let tab: Page

beforeAll(async () => {
  browser = await sharedBrowser()
  context = await browser.newContext()
  context.setDefaultTimeout(15_000)
  tab = await context.newPage()
  await signIn(tab, owner)
})

afterAll(async () => {
  await leave(browser)
  await application.stop(true)
})

const button = (name: string | RegExp, at = tab) => at.getByRole("button", { name })

const signIn = async (at: Page, who: { readonly email: string; readonly password: string }) => {
  await at.goto(`${server().url}/login`)
  await at.getByLabel("Email").fill(who.email)
  await at.getByLabel("Password").fill(who.password)
  await button("Sign in", at).click()
  await at.waitForURL("**/settings/**")
}

const open = (section: string, at = tab) => at.goto(`${server().url}/settings/${section}`)

const row = (name: string | RegExp) => tab.getByRole("listitem").filter({ has: tab.getByRole("heading", { name }) })

/** Unfolds the question and answers it. */
/** The result of a form: a status, on the page whose address has this code. */
const done = async (code: string) => {
  await tab.waitForURL((to) => to.searchParams.get("done") === code)
  await tab.getByRole("status").waitFor()
}

const wrongField = (name: string) => tab.locator(`input[name=${name}][aria-invalid=true]`)

const confirm = async (name: string | RegExp, ask: string, answer: RegExp) => {
  await row(name).locator("summary", { hasText: ask }).click()
  await row(name).getByRole("button", { name: answer }).click()
}

const connect = async (name: string) => {
  const client = await Application.register(server().url, name, redirectUri)
  await tab.goto(client.authorizationUrl(redirectUri))
  await approve(tab)
  await tab.waitForURL(`${redirectUri}?**`)
  return { client, tokens: await client.tokens(tab.url(), redirectUri) }
}

const phone = { width: 320, height: 568 }

/** What has the focus on a small phone, where all of it can be seen. */
const focusedInView = async () => {
  const focused = tab.locator(":focus")
  // A browser gives the focus with the first frame that it draws, which may be after the page is there.
  await focused.waitFor()
  const box = await focused.boundingBox()
  const seen = box !== null && box.y >= 0 && box.y + box.height <= phone.height
  return seen ? await focused.getAttribute("name") : undefined
}

describe("API keys", () => {
  const createKey = async (name: string): Promise<string> => {
    await open("keys")
    await tab.getByLabel("Name").fill(name)
    await button("Create key").click()
    return tab.getByLabel(name, { exact: true }).inputValue()
  }

  test("a key is made, shown once, used, replaced, used again, and revoked", async () => {
    await open("keys")
    await meet(tab, "settings-keys-none")
    const key = await createKey("Nightly export")
    expect(await row("Nightly export").innerText()).toContain("Just now")
    await meet(tab, "settings-keys-made")
    expect(await companiesStatus(server().url, key)).toBe(200)

    await open("keys")
    expect(await tab.content()).not.toContain(key)
    const facts = await row("Nightly export").innerText()
    expect([facts.includes(key.slice(0, 8)), facts.includes("Just now"), /In (89|90) days/.test(facts)]).toEqual([
      true,
      true,
      true
    ])
    await row("Nightly export").locator("summary", { hasText: "Revoke" }).click()
    await meet(tab, "settings-keys-asking")

    await open("keys")
    await confirm("Nightly export", "Rotate", /Make a new key/)
    const fresh = await tab.getByLabel("Nightly export", { exact: true }).inputValue()
    expect(await companiesStatus(server().url, key)).toBe(401)
    expect(await companiesStatus(server().url, fresh)).toBe(200)

    await open("keys")
    await confirm("Nightly export", "Revoke", /Revoke this key/)
    await done("key-revoked")
    await meet(tab, "settings-keys-revoked")
    expect(await companiesStatus(server().url, fresh)).toBe(401)
  })

  test("a key without a name is asked for one", async () => {
    await open("keys")
    await tab.getByLabel("Name").fill("   ")
    await button("Create key").click()
    await wrongField("name").waitFor()
    await meet(tab, "settings-keys-wrong")
  })

  test("a reload after making one makes a second and hides neither", async () => {
    const key = await createKey("Reloaded")
    await tab.reload()
    const second = await tab.getByLabel("Reloaded", { exact: true }).inputValue()
    expect(second).not.toBe(key)
    await open("keys")
    expect(await row("Reloaded").count()).toBe(2)
  })
})

describe("connected apps", () => {
  test("an app that is revoked loses its tokens at once, and the others keep theirs", async () => {
    const one = await connect("Ledger")
    const other = await connect("Notes")
    expect(await one.client.works(one.tokens)).toBe(true)
    await open("apps")
    await meet(tab, "settings-apps")
    expect(await row("Ledger").innerText()).toContain("localhost")
    await confirm("Ledger", "Revoke", /Revoke access/)
    await done("app-revoked")
    await meet(tab, "settings-apps-revoked")
    expect(await one.client.works(one.tokens)).toBe(false)
    expect(await other.client.works(other.tokens)).toBe(true)
    expect(await row("Ledger").count()).toBe(0)
  })
})

describe("registered clients", () => {
  test("one is found, switched off with all its tokens, switched on again, and deleted", async () => {
    const { client, tokens } = await connect("Wandering client")
    await open("clients")
    await meet(tab, "settings-clients")
    await tab.getByRole("searchbox").fill("wandering")
    await tab.keyboard.press("Enter")
    await tab.waitForURL("**q=wandering**")
    await meet(tab, "settings-clients-search")
    await confirm("Wandering client", "Disable", /Disable this client/)
    await done("client-disabled")
    expect(await client.works(tokens)).toBe(false)
    await tab.goto(client.authorizationUrl(redirectUri))
    await meet(tab, "error-client-disabled")

    await tab.goto(`${server().url}/settings/clients?q=wandering`)
    await row("Wandering client")
      .getByRole("button", { name: /Enable/ })
      .click()
    await done("client-enabled")
    expect(await client.works(tokens)).toBe(true)
    await confirm("Wandering client", "Delete", /Delete/)
    await done("client-deleted")
    expect(await client.works(tokens)).toBe(false)
  })
})

describe("members", () => {
  test("a person is invited by a link, comes in, is no owner, and is removed with all that they allowed", async () => {
    const member = { email: "grace@northwind.example", password: "a few words in a row" }
    await open("members")
    await tab.getByLabel("Email").fill(member.email)
    await button("Create invitation link").click()
    const link = await tab.getByLabel(/Invitation link/).inputValue()
    await meet(tab, "settings-members-invited")

    const theirs = await browser.newContext()
    const their = await theirs.newPage()
    await their.goto(link)
    await meet(their, "invite")
    await their.getByLabel("Your name").fill("Grace")
    await their.getByLabel("Password").fill(member.password)
    await their.locator("form button[type=submit]").click()
    await their.waitForURL("**/settings/**")
    expect(await their.getByRole("link", { name: "Members" }).count()).toBe(0)
    await open("members", their)
    await their.locator("body[data-page=error-owners-only]").waitFor()
    await meet(their, "error-owners-only")

    const client = await Application.register(server().url, "Of a member", redirectUri)
    await their.goto(client.authorizationUrl(redirectUri))
    await approve(their)
    await their.waitForURL(`${redirectUri}?**`)
    const tokens = await client.tokens(their.url(), redirectUri)
    expect(await client.works(tokens)).toBe(true)

    await open("members")
    await meet(tab, "settings-members")
    await confirm("Grace", "Remove", /Remove this member/)
    await done("removed")
    expect(await client.works(tokens)).toBe(false)
    await open("profile", their)
    expect(new URL(their.url()).pathname).toBe("/login")
    expect((await their.goto(link))?.status()).toBe(410)
    await theirs.close()
  })

  test("a member of two organisations is asked where, and loses what they allowed at the one that they leave", async () => {
    const member = { email: "hedy@northwind.example", password: "a few words in a row" }
    await open("members")
    await tab.getByLabel("Email").fill(member.email)
    await button("Create invitation link").click()
    const theirs = await browser.newContext()
    const their = await theirs.newPage()
    await their.goto(await tab.getByLabel(/Invitation link/).inputValue())
    await their.getByLabel("Your name").fill("Hedy")
    await their.getByLabel("Password").fill(member.password)
    await their.locator("form button[type=submit]").click()
    await their.waitForURL("**/settings/**")

    await open("members")
    await row("Hedy")
      .getByRole("link", { name: /Places/ })
      .click()
    await meet(tab, "settings-places-none")
    await tab.getByLabel("Id", { exact: true }).fill("a b")
    await button("Save place").click()
    await wrongField("place").waitFor()
    await meet(tab, "settings-places-wrong")
    const give = async (id: string, name: string) => {
      await tab.getByLabel("Id", { exact: true }).fill(id)
      await tab.getByLabel("Name").fill(name)
      await button("Save place").click()
      await tab.waitForURL((to) => to.searchParams.get("done") === "place-set")
      await row(name).waitFor()
    }
    await give("org_studio", "Studio")
    await give("org_lab", "Laboratory")
    await meet(tab, "settings-places")
    const places = tab.url()

    const client = await Application.register(server().url, "Of two organisations", redirectUri)
    const allow = async (place: string) => {
      await their.goto(client.authorizationUrl(redirectUri))
      await their.getByRole("radio", { name: place }).check()
      await approve(their)
      await their.waitForURL(`${redirectUri}?**`)
      return client.tokens(their.url(), redirectUri)
    }
    const [studio, lab] = [await allow("Studio"), await allow("Laboratory")]
    await open("apps", their)
    expect((await their.locator("main").innerText()).includes("Laboratory")).toBe(true)

    await open("keys")
    await tab.getByLabel("Name").fill("Of the API")
    await button("Create key").click()
    const key = await tab.getByLabel("Of the API", { exact: true }).inputValue()
    const told = async (token: string) => {
      const answer = await fetch(`${server().url}/oauth/introspect`, {
        method: "POST",
        headers: { ...formHeaders, authorization: `Bearer ${key}` },
        body: form({ token })
      })
      return answer.json()
    }
    expect(await told(studio.access)).toMatchObject({ active: true, place: "org_studio" })
    expect(await told(lab.access)).toMatchObject({ active: true, place: "org_lab" })

    await tab.goto(places)
    await confirm("Studio", "Remove", /Remove this place/)
    await done("place-removed")
    expect(await row("Studio").count()).toBe(0)
    expect([await client.works(studio), await client.works(lab)]).toEqual([false, true])
    expect(await told(studio.access)).toEqual({ active: false })
    // With one left, it is not asked any more.
    await their.goto(client.authorizationUrl(redirectUri))
    expect(await their.getByRole("radio").count()).toBe(0)
    await theirs.close()
  })

  test("an address in other letters than English ones stays as it is typed, and signs in", async () => {
    const member = { email: "jörg@bücher.example", password: "a few words in a row" }
    await open("members")
    await tab.getByLabel("Email").fill(member.email)
    await button("Create invitation link").click()
    const link = await tab.getByLabel(`Invitation link for ${member.email}`).inputValue()

    const theirs = await browser.newContext()
    const their = await theirs.newPage()
    await their.goto(link)
    await their.getByLabel("Your name").fill("Jörg")
    await their.getByLabel("Password").fill(member.password)
    await their.locator("form button[type=submit]").click()
    await their.waitForURL("**/settings/**")
    await theirs.clearCookies()
    await their.goto(`${server().url}/login`)
    await their.getByLabel("Email").fill(member.email)
    await their.getByLabel("Password").fill("not this one")
    await button("Sign in", their).click()
    await their.getByRole("alert").waitFor()
    expect(await their.getByLabel("Email").inputValue()).toBe(member.email)
    await signIn(their, member)
    await theirs.close()
  })

  test("an invitation that was not used is withdrawn", async () => {
    await open("members")
    await tab.getByLabel("Email").fill("")
    await button("Create invitation link").click()
    const link = await tab.getByLabel(/Invitation link/).inputValue()
    await open("members")
    await confirm(/with the link/, "Withdraw", /Withdraw this invitation/)
    await done("withdraw")
    expect((await tab.goto(link))?.status()).toBe(410)
  })
})

describe("the profile", () => {
  test("a name is changed; a new password ends all other sessions", async () => {
    const elsewhere = await browser.newContext()
    const other = await elsewhere.newPage()
    await signIn(other, owner)
    await open("profile")
    await meet(tab, "settings-profile")
    await tab.getByLabel("Name", { exact: true }).fill("Ada Lovelace")
    await button("Save").click()
    await done("profile")

    await tab.getByLabel("Current password").fill("not it")
    await tab.getByLabel("New password").fill("another few words in a row")
    await button("Change password").click()
    await tab.locator("[aria-invalid=true]").first().waitFor()
    await meet(tab, "settings-profile-wrong")
    await tab.getByLabel("Current password").fill(owner.password)
    await tab.getByLabel("New password").fill("another few words in a row")
    await button("Change password").click()
    await done("password")
    await open("profile", other)
    expect(new URL(other.url()).pathname).toBe("/login")
    await elsewhere.close()
  })
})

test("a wrong answer is under the eyes and the cursor of who gave it on a small phone", async () => {
  const before = tab.viewportSize()
  await tab.setViewportSize(phone)
  await open("keys")
  await tab.getByLabel("Name").fill("   ")
  await button("Create key").click()
  await wrongField("name").waitFor()
  expect(await focusedInView()).toBe("name")

  await open("members")
  await tab.getByLabel("Email").fill(owner.email)
  await button("Create invitation link").click()
  await wrongField("email").waitFor()
  expect(await focusedInView()).toBe("email")

  await open("profile")
  await tab.getByLabel("Current password").fill("not it")
  await tab.getByLabel("New password").fill("another few words in a row")
  await button("Change password").click()
  await wrongField("current_password").waitFor()
  expect(await focusedInView()).toBe("current_password")
  if (before !== null) await tab.setViewportSize(before)
})

test("signing out, by the keyboard alone, ends it: the back button shows nothing any more", async () => {
  await open("keys")
  await button("Sign out").focus()
  await tab.keyboard.press("Enter")
  await tab.locator("body[data-page=signed-out]").waitFor()
  await meet(tab, "signed-out-now")
  await tab.goBack()
  await tab.waitForURL("**/login**")
})
