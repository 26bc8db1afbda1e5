import { beforeAll, describe, expect, test } from "bun:test"
import { Redacted } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import {
  bearing,
  challenge,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonHeaders,
  jsonOf,
  redirectUri,
  text,
  verifier
} from "../given/flow.ts"
import { wholeServer } from "./wholeServer.ts"

const workspace = (id: string, issuer: string, disabled = false): Workspace => ({
  id: WorkspaceId.make(id),
  issuer: Issuer.make(issuer),
  name: id,
  ...(disabled ? { disabled } : {})
})

const root = workspace("root", "https://id.example")
const acme = workspace("acme", "https://id.example/acme")
const beta = workspace("beta", "https://id.example/beta")
const below = workspace("below", "https://id.example/acme/below")
const other = workspace("other", "https://other.example")
const off = workspace("off", "https://off.example", true)
const all = [root, acme, beta, below, other, off]

const { log, runtime, services } = wholeServer("workspaces", all)
const { accounts, tessera } = await runtime.runPromise(services)

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string | undefined>>
  readonly body?: string
  readonly cookie?: string
}

const raw = (host: string, method: string, target: string, sent: Sent = {}): Promise<HttpResponse> => {
  const [path = "", query = ""] = target.split("?")
  const headers: Record<string, string> = {
    host,
    ...(sent.form === undefined ? {} : formHeaders),
    ...(sent.cookie === undefined ? {} : { cookie: sent.cookie }),
    ...sent.headers
  }
  const request = {
    method,
    path,
    query,
    headers: { get: (name: string) => headers[name.toLowerCase()] },
    body: sent.form === undefined ? (sent.body ?? "") : form(sent.form)
  }
  return runtime.runPromise(tessera.handle(request))
}

const hostOf = ({ issuer }: Workspace) => new URL(issuer).host
const baseOf = ({ issuer }: Workspace) => new URL(issuer).pathname.replace(/\/$/, "")
const send = (at: Workspace, method: string, path: string, sent: Sent = {}) =>
  raw(hostOf(at), method, baseOf(at) + path, sent)

const cookiesOf = (response: HttpResponse): ReadonlyArray<string> =>
  response.headers.filter(([name]) => name === "set-cookie").map(([, value]) => value.split(";")[0] ?? "")

const email = "ada@northwind.example"
const password = "correct horse battery staple"

/** A session, an application with tokens, a key, and an open consent page: all that a workspace can give away. */
const livedIn = async (at: Workspace) => {
  await runtime.runPromise(
    accounts.open(at.id, { email, name: "Ada", role: "owner", password: Redacted.make(password) })
  )
  const login = await send(at, "GET", "/login")
  const formCookie = cookiesOf(login).join("; ")
  const loginFields = hiddenFields(login.body)
  const entered = await send(at, "POST", "/login", { cookie: formCookie, form: { ...loginFields, email, password } })
  const session = cookiesOf(entered).find((cookie) => cookie.includes("session")) ?? ""
  const device = cookiesOf(entered).find((cookie) => cookie.includes("device")) ?? ""
  const registered = jsonOf(
    await send(at, "POST", "/oauth/register", {
      headers: jsonHeaders,
      body: JSON.stringify({ client_name: "App", redirect_uris: [redirectUri], token_endpoint_auth_method: "none" })
    })
  )
  const client = text(registered.client_id)
  const query = new URLSearchParams({
    response_type: "code",
    client_id: client,
    redirect_uri: redirectUri,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "s",
    scope: "api profile"
  })
  const authorize = `/oauth/authorize?${query}`
  const page = () => send(at, "GET", authorize, { cookie: session })
  const approve = async () => {
    const fields = hiddenFields((await page()).body)
    return send(at, "POST", "/consent", { cookie: session, form: { ...fields, decision: "approve" } })
  }
  const code = async () => new URL(header(await approve(), "location") ?? "").searchParams
  const redeemAt = (where: Workspace, given: string) =>
    send(where, "POST", "/oauth/token", {
      form: {
        grant_type: "authorization_code",
        code: given,
        client_id: client,
        redirect_uri: redirectUri,
        code_verifier: verifier
      }
    })
  const answered = await code()
  const tokens = jsonOf(await redeemAt(at, answered.get("code") ?? ""))
  const { text: key } = await runtime.runPromise(
    tessera.services.grants.createKey(at.id, { name: "k", expiresAt: null })
  )
  return {
    at,
    session,
    device,
    formCookie,
    loginFields,
    client,
    registrationToken: text(registered.registration_access_token),
    authorize,
    page,
    code,
    redeemAt,
    iss: answered.get("iss"),
    access: text(tokens.access_token),
    refresh: text(tokens.refresh_token),
    key: Redacted.value(key)
  }
}

type LivedIn = Awaited<ReturnType<typeof livedIn>>
const homes = new Map<string, LivedIn>()
const homeOf = (at: Workspace): LivedIn => {
  const found = homes.get(at.id)
  if (found === undefined) throw new Error(`nobody lives in ${at.id}`)
  return found
}

beforeAll(async () => {
  for (const at of [root, acme, beta, below, other]) homes.set(at.id, await livedIn(at))
})

const document = "/.well-known/oauth-authorization-server"

describe("which workspace answers cannot be talked round", () => {
  const rows: ReadonlyArray<readonly [host: string, target: string, issuer: string | number]> = [
    ["id.example", document, root.issuer],
    ["id.example:443", `${document}/acme`, acme.issuer],
    ["ID.EXAMPLE", `${document}/acme`, acme.issuer],
    ["id.example:80", `${document}/acme`, 404],
    ["id.example:8443", `${document}/acme`, 404],
    ["id.example.", `${document}/acme`, 404],
    [".id.example", document, 404],
    ["a.id.example", document, 404],
    ["id.example.evil.example", document, 404],
    ["id..example", document, 404],
    ["id.example/acme", document, 404],
    ["id.example#", document, 404],
    ["user@id.example", document, 404],
    ["id.example, other.example", document, 400],
    ["id.example other.example", document, 404],
    ["ïd.example", document, 404],
    ["xn--d-wga.example", document, 404],
    ["id\u3002example", document, 404],
    ["", document, 404],
    ["[::1]", document, 404],
    ["off.example", document, 503],
    ["other.example", `${document}/acme`, other.issuer],
    ["other.example", `/acme${document}`, 404],
    ["id.example", `/acme${document}`, acme.issuer],
    ["id.example", `${document}/acme/below`, below.issuer],
    ["id.example", `${document}/acme/below/mcp`, below.issuer],
    ["id.example", `${document}/acme/belowx`, acme.issuer],
    ["id.example", `${document}/ACME`, root.issuer],
    ["id.example", `${document}/acme/../beta`, acme.issuer],
    ["id.example", `${document}/%61cme`, root.issuer],
    ["id.example", `${document}/acme%2fbelow`, root.issuer],
    ["id.example", `${document}//acme`, root.issuer],
    ["id.example", `/.well-known//oauth-authorization-server/acme`, 404],
    ["id.example", `/acme/.well-known/oauth-authorization-server/beta`, acme.issuer],
    ["id.example", `//acme${document}`, 404],
    ["id.example", `/beta/../acme${document}`, 404],
    ["id.example", `/%2e%2e/acme${document}`, 404]
  ]

  test.each(rows)("%p %s: %p", async (host, target, issuer) => {
    const response = await raw(host, "GET", target)
    expect(response.status === 200 ? jsonOf(response).issuer : response.status).toBe(issuer)
  })

  const forwarded = [
    "x-forwarded-host",
    "x-host",
    "x-original-host",
    "x-forwarded-server",
    "forwarded",
    "x-original-url",
    "x-forwarded-prefix"
  ]
  test.each(forwarded)("%s is not read", async (name) => {
    const headers = {
      [name]:
        name === "forwarded"
          ? "host=other.example"
          : name.includes("url") || name.includes("prefix")
            ? "/acme"
            : "other.example"
    }
    expect(jsonOf(await raw("id.example", "GET", document, { headers })).issuer).toBe(root.issuer)
    expect((await raw("nobody.example", "GET", document, { headers })).status).toBe(404)
  })
})

const pairs: ReadonlyArray<readonly [name: string, from: Workspace, to: Workspace]> = [
  ["the sibling on one host", acme, beta],
  ["the one above", acme, root],
  ["the one below", acme, below],
  ["another host", acme, other],
  ["a path, from its host", root, acme]
]

/** A cookie's value under the name that another workspace gives to its own. */
const renamed = (cookie: string, like: string) => `${like.split("=")[0]}=${cookie.slice(cookie.indexOf("=") + 1)}`

describe.each(pairs)("what is one workspace's opens nothing of %s", (_name, from, to) => {
  const [here, there] = [() => homeOf(from), () => homeOf(to)]
  const isSignedIn = async (cookie: string) => (await send(to, "GET", "/settings/apps", { cookie })).status === 200

  test("its own opens it", async () => {
    expect((await send(from, "GET", "/settings/apps", { cookie: here().session })).status).toBe(200)
    expect(await isSignedIn(there().session)).toBe(true)
    expect(here().iss).toBe(from.issuer)
    expect(here().session.split("=")[0]).not.toBe(
      from.issuer.startsWith(to.issuer) || hostOf(from) === hostOf(to) ? (there().session.split("=")[0] ?? "") : ""
    )
  })

  test("a session's cookie, under its own name and under the other's", async () => {
    expect(await isSignedIn(here().session)).toBe(false)
    expect(await isSignedIn(renamed(here().session, there().session))).toBe(false)
    expect(await isSignedIn(`${here().session}; ${renamed(here().session, there().session)}`)).toBe(false)
  })

  test("the form of a sign-in, with its cookie under either name", async () => {
    for (const cookie of [here().formCookie, renamed(here().formCookie, there().formCookie)]) {
      const answer = await send(to, "POST", "/login", { cookie, form: { ...here().loginFields, email, password } })
      expect([answer.status, cookiesOf(answer).some((one) => one.includes("session"))]).toEqual([403, false])
    }
  })

  test("its client", async () => {
    const page = await send(to, "GET", here().authorize, { cookie: there().session })
    expect([page.status, header(page, "location")]).toEqual([400, undefined])
  })

  test("its access token and its key", async () => {
    for (const shown of [here().access, here().key]) {
      expect((await send(to, "GET", "/rest/companies", { headers: bearing(shown) })).status).toBe(401)
      expect((await send(to, "GET", "/oauth/userinfo", { headers: bearing(shown) })).status).toBe(401)
      expect((await send(from, "GET", "/rest/companies", { headers: bearing(shown) })).status).toBe(200)
    }
  })

  test("its token, asked about or revoked with the other's key", async () => {
    const asked = await send(to, "POST", "/oauth/introspect", {
      headers: bearing(there().key),
      form: { token: here().access }
    })
    expect(jsonOf(asked)).toEqual({ active: false })
    await send(to, "POST", "/oauth/revoke", { form: { token: here().access, client_id: there().client } })
    expect((await send(from, "GET", "/rest/companies", { headers: bearing(here().access) })).status).toBe(200)
  })

  test("its registration", async () => {
    for (const method of ["GET", "PUT", "DELETE"]) {
      const answer = await send(to, method, `/oauth/register/${here().client}`, {
        headers: { ...jsonHeaders, ...bearing(here().registrationToken) },
        body: JSON.stringify({ client_id: here().client, redirect_uris: [redirectUri] })
      })
      expect(answer.status).toBe(401)
    }
  })

  test("a way back that leads there", async () => {
    const login = await send(from, "GET", `/login?return_to=${encodeURIComponent(`${baseOf(to)}/settings/apps`)}`)
    const fields = hiddenFields(login.body)
    const answer = await send(from, "POST", "/login", {
      cookie: cookiesOf(login).join("; "),
      form: { ...fields, email, password }
    })
    const back = header(answer, "location") ?? ""
    expect(back === "" || back.startsWith(`${baseOf(from)}/`)).toBe(true)
  })
})

test("nothing of it all was a fault of the server's", () => {
  expect(log).toEqual([])
})
