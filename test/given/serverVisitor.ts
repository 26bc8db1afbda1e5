import { form, formHeaders, hiddenFields, jsonHeaders } from "./flow.ts"
import { owner } from "./server.ts"

export type Fields = Readonly<Record<string, string>>

/**
 * A person at a browser without a screen: keeps cookies, reads pages, sends forms, and follows no redirect by itself. Like
 * the script of the sign-in page, it goes to the session's own path for what has none.
 */
export class Visitor {
  readonly cookies = new Map<string, string>()
  readonly url: string
  sessionPath = ""

  constructor(url: string) {
    this.url = url
  }

  async get(target: string, headers: Fields = {}): Promise<Response> {
    return this.#keep(await fetch(this.at(target), { headers: this.#with(headers), redirect: "manual" }))
  }

  async post(target: string, fields: Fields, headers: Fields = {}): Promise<Response> {
    return this.#keep(
      await fetch(this.at(target), {
        method: "POST",
        headers: this.#with({ ...formHeaders, ...headers }),
        body: form(fields),
        redirect: "manual"
      })
    )
  }

  /** The address of a page, in the session if there is one. */
  at(target: string): URL {
    const address = new URL(target, this.url)
    if (isInSession(address.pathname)) return address
    const root = this.sessionPath.split("/~/", 1)[0] ?? ""
    address.pathname = this.sessionPath + address.pathname.slice(root.length)
    return address
  }

  /** Opens a page and sends its form. */
  async submit(target: string, fields: Fields): Promise<Response> {
    const page = await this.get(target)
    return this.post(target.split("?", 1)[0] ?? target, { ...hiddenFields(await page.text()), ...fields })
  }

  async signIn(who: { readonly email: string; readonly password: string } = owner, at = "/login"): Promise<Response> {
    const answer = await this.submit(at, who)
    if (answer.status !== 303) throw new Error(`signing in answered ${answer.status}: ${await answer.text()}`)
    return answer
  }

  /** Signs in and decides, up to the redirect back to the client. */
  async decide(authorizationUrl: string | URL, decision: "approve" | "deny" = "approve"): Promise<URL> {
    let page = await this.get(String(authorizationUrl))
    if (page.status === 303 && locationOf(page).pathname.endsWith("/login")) {
      const signedIn = await this.signIn(owner, locationOf(page).href)
      page = await this.get(locationOf(signedIn, this.url).href)
    }
    const text = await page.text()
    if (page.status !== 200)
      throw new Error(`no consent page but ${page.status}: ${text}${page.headers.get("location") ?? ""}`)
    const answer = await this.post("/consent", { ...hiddenFields(text), decision })
    if (answer.status !== 303) throw new Error(`the consent was answered ${answer.status}: ${await answer.text()}`)
    return locationOf(answer)
  }

  #with(headers: Fields): Fields {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ")
    return cookie === "" ? headers : { cookie, ...headers }
  }

  #keep(response: Response): Response {
    for (const header of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = header.split("; ")
      const at = pair.indexOf("=")
      const path = attributes.find((attribute) => attribute.startsWith("Path="))?.slice("Path=".length) ?? ""
      const isGone = attributes.includes("Max-Age=0")
      if (isInSession(path)) this.sessionPath = isGone ? "" : path
      if (isGone) this.cookies.delete(pair.slice(0, at))
      else this.cookies.set(pair.slice(0, at), pair.slice(at + 1))
    }
    return response
  }
}

const isInSession = (path: string): boolean => path.includes("/~/")

/** Where an answer takes the person back to: at once, or by the link of a page that leaves it to them. */
export const wayBack = async (response: Response): Promise<URL> => {
  if (response.status === 303) return locationOf(response)
  const [, href = ""] = /<a class="button primary wide" href="([^"]*)"/.exec(await response.text()) ?? []
  return new URL(href.replaceAll("&amp;", "&"))
}

export const locationOf = (response: Response, base: string = response.url): URL =>
  new URL(response.headers.get("location") ?? "/no-location", base)

/** The answer to a registration. */
export type Registered = Readonly<Record<string, unknown>> & { readonly client_id: string }

export const postRegistration = (url: string, metadata: Readonly<Record<string, unknown>>): Promise<Response> =>
  fetch(`${url}/oauth/register`, { method: "POST", headers: jsonHeaders, body: JSON.stringify(metadata) })

export const register = async (url: string, metadata: Readonly<Record<string, unknown>>): Promise<Registered> => {
  const answer = await postRegistration(url, metadata)
  if (answer.status !== 201) throw new Error(`registration answered ${answer.status}: ${await answer.text()}`)
  // The shape of RFC 7591; a wrong one fails the test that reads it.
  return (await answer.json()) as Registered
}

export const postToken = (url: string, fields: Fields, headers: Fields = {}): Promise<Response> =>
  fetch(`${url}/oauth/token`, { method: "POST", headers: { ...formHeaders, ...headers }, body: form(fields) })

export const companiesStatus = async (url: string, token: string): Promise<number> =>
  (await fetch(`${url}/rest/companies`, { headers: { authorization: `Bearer ${token}` } })).status
