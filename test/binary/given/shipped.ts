import { hiddenFields } from "../../given/flow.ts"
import type { Child } from "../../runtimes/given/Child.ts"
import { type Answer, head, open, parseAnswer, type Send, type Sent, untilClosed } from "../../runtimes/given/wire.ts"
import { carried, framed } from "./carried.ts"

/** The executable at work. */
export interface Shipped {
  readonly child: Child
  readonly port: number
  readonly prefix: string
  readonly send: Send
  readonly person: { readonly email: string; readonly password: string }
}

const form = ["content-type", "application/x-www-form-urlencoded"] as const
const json = ["content-type", "application/json"] as const

const find = ({ headers }: Pick<Answer, "headers">, name: string): string | undefined =>
  headers.find(([written]) => written === name)?.[1]

const headerOf = (answer: Answer, name: string): string => {
  const value = find(answer, name)
  if (value === undefined) throw new Error(`${answer.status} without ${name}: ${answer.body}`)
  return value
}

// What the server itself writes; a wrong shape fails the assertions about it.
const read = (text: string) => JSON.parse(text) as Readonly<Record<string, string>>

/** Where a sign-in would lead back to: the request as the core has it. */
const returnTo = (answer: Answer): string =>
  new URL(headerOf(answer, "location"), "http://localhost").searchParams.get("return_to") ?? "nowhere"

const queryOf = (target: string): string => {
  const at = target.indexOf("?")
  return at === -1 ? "" : target.slice(at + 1)
}

/** Its line in the access log: the method and the path as the core had them. */
const logged = async ({ child }: Shipped, answer: Answer) => {
  const id = headerOf(answer, "x-request-id")
  const [line] = await child.says(new RegExp(`^\\{.*"requestId":"${id}".*"message":"request".*\\}\\n`, "m"))
  const { method, path } = read(line)
  return { method, path }
}

/** The query: a person who asks for a page and is not signed in comes back to the very address. */
const queryAt = async ({ prefix, send }: Shipped, { target }: Sent): Promise<string> => {
  const settings = `${prefix}/settings/apps`
  const query = queryOf(target)
  const asked = target.includes("?") ? `${settings}?${query}` : settings
  const back = returnTo(await send({ method: "GET", target: asked }))
  return back.startsWith(settings) ? queryOf(back) : back
}

/** A header, and how often it came: a preflight tells which headers it was asked for. */
const askedFor = async ({ prefix, send }: Shipped, lines: ReadonlyArray<string>): Promise<string | null> => {
  const answer = await send({
    method: "OPTIONS",
    target: `${prefix}/oauth/token`,
    headers: lines.map((line) => ["access-control-request-headers", line])
  })
  const told = headerOf(answer, "access-control-allow-headers")
  return told === "Authorization, Content-Type" ? null : told
}

/** A text of JSON: the name of a client, given by its registration's own PUT. */
const inRegistration = async ({ prefix, send }: Shipped, { body = "", method }: Sent) => {
  const about = { redirect_uris: ["https://app.example.org/callback"] }
  const registered = await send({
    method: "POST",
    target: `${prefix}/oauth/register`,
    headers: [json],
    body: JSON.stringify(about)
  })
  const { client_id = "", registration_access_token } = read(registered.body)
  const answer = await send({
    method,
    target: `${prefix}/oauth/register/${client_id}`,
    headers: [json, ["authorization", `Bearer ${registration_access_token}`]],
    body: JSON.stringify({ ...about, client_id, client_name: Buffer.from(body).toString() })
  })
  return read(answer.body).client_name ?? answer.body
}

/** A form: the email of a sign-in whose page is out of date. Nothing is what has no email in it. */
const inSignIn = async ({ prefix, send }: Shipped, { body = "", headers = [] }: Sent) => {
  const { content, frame } = framed(
    body,
    headers.some(([name]) => name === "transfer-encoding")
  )
  const target = `${prefix}/login`
  if (content.length === 0) {
    const { status } = await send({ method: "POST", target, headers, body: frame(content) })
    return status === 403 ? "" : String(status)
  }
  const form = carried(content)
  const answer = await send({ method: "POST", target, headers, body: frame(form.content) })
  const email = /<input id="email"[^>]* value="([^"]*)"/.exec(answer.body)?.[1]
  return email === undefined ? String(answer.status) : form.readBack(email)
}

/**
 * No page tells what came along with a GET or a DELETE. What can be seen is that it was read to its end and as a body:
 * the next request on the same connection is understood.
 */
const behindIt = async ({ port, prefix }: Shipped, { body = "", method }: Sent): Promise<string> => {
  const socket = open(port)
  const length = Buffer.byteLength(body)
  const all = untilClosed(socket)
  const answered = new Promise((resolve) => socket.once("data", resolve))
  socket.write(head({ method, target: `${prefix}/nowhere` }, [`content-length: ${length}`]))
  socket.write(Buffer.from(body))
  await answered
  socket.write(head({ method: "GET", target: `${prefix}/healthz` }, ["connection: close"]))
  const raw = await all
  const answer = parseAnswer(raw.subarray(raw.lastIndexOf("HTTP/1.1 ")), "GET")
  if (answer?.status !== 200) return `then ${answer?.status ?? "nothing"}`
  return method === "GET" ? "" : Buffer.from(body).toString()
}

const bodyAt = (shipped: Shipped, sent: Sent) => {
  const { body, headers = [], method } = sent
  if (body === undefined) return ""
  if (method === "GET" || method === "DELETE") return behindIt(shipped, sent)
  return find({ headers }, "content-type") === json[1] ? inRegistration(shipped, sent) : inSignIn(shipped, sent)
}

/** The request goes out as it is, to an unknown address; then each part of it to a page that tells it again. */
const echo = async (shipped: Shipped, sent: Sent): Promise<Answer> => {
  const answer = await shipped.send(sent)
  if (answer.status !== 404) return answer
  const twice = (sent.headers ?? []).filter(([name]) => name === "x-twice").map(([, value]) => value)
  const told = {
    ...(await logged(shipped, answer)),
    query: await queryAt(shipped, sent),
    body: await bodyAt(shipped, sent),
    twice: await askedFor(shipped, twice),
    absent: await askedFor(shipped, [])
  }
  return { status: 200, headers: [], body: JSON.stringify(told) }
}

/** The answer of the server with the most cookies: to a sign-in. */
const signIn = async ({ person, prefix, send }: Shipped): Promise<Answer> => {
  const target = `${prefix}/login`
  const page = await send({ method: "GET", target })
  const [cookie = ""] = headerOf(page, "set-cookie").split(";", 1)
  return send({
    method: "POST",
    target,
    headers: [form, ["cookie", cookie]],
    body: new URLSearchParams({ ...hiddenFields(page.body), ...person }).toString()
  })
}

/** What a sign-in sets, each cookie in a line of its own: the session, the device, and the end of the form's. */
export const signInCookies = (prefix: string) => {
  const line = (purpose: string, value: string, lasts: string, path = prefix || "/") =>
    new RegExp(
      `^tessera_${purpose}_3000${prefix && "_[a-z]+_[\\w-]{8}"}=${value}; Path=${path}; Max-Age=${lasts}; HttpOnly; SameSite=Lax$`
    )
  const session = `${prefix}/~/[\\w-]{22}`
  return {
    location: new RegExp(`^${session}/settings$`),
    lines: [
      line("session", "[\\w-]{43}", "1209600", session),
      line("device", "[\\w.-]+", "34560000"),
      line("form", "", "0")
    ]
  }
}

/** Stands in for the routes that only the transcript's own app has, by pages that every server has. */
export const asTranscript = (shipped: Shipped): Send => {
  const { prefix, send } = shipped
  const own = `${prefix}/test/`
  return async (sent) => {
    const at = sent.target.indexOf(own)
    if (at === -1) return send(sent)
    const [name = ""] = /^[a-z]+/.exec(sent.target.slice(at + own.length)) ?? []
    switch (name) {
      // It draws at random, and a test cannot tell it what.
      case "reseed":
        return { status: 204, headers: [], body: "" }
      // Every registration waits for the store.
      case "echo":
      case "later":
        return echo(shipped, sent)
      case "cookies":
        return signIn(shipped)
      // The workspace's name is in it.
      case "unicode":
        return send({ ...sent, target: `${prefix}/.well-known/oauth-protected-resource` })
      case "empty":
        return send({ ...sent, method: "OPTIONS", target: `${prefix}/oauth/token` })
      default:
        throw new Error(`the transcript asks for ${sent.target}, and no page stands in for it`)
    }
  }
}
