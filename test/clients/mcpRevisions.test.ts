import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import * as ofFetch from "../../runtimes/fetch.ts"
import { createTessera } from "../../runtimes/tessera.ts"
import { options } from "../embed/host.ts"
import { challenge, hiddenFields, verifier } from "../given/flow.ts"
import { startServer } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import {
  companiesStatus,
  type Fields,
  locationOf,
  postToken,
  register,
  Visitor,
  wayBack
} from "../given/serverVisitor.ts"
import { freePort } from "../harness/freePort.ts"
import { scoped } from "../harness/scoped.ts"

/** The rows of README.md, in its order. */

const server = serverOfFile()
const redirectUri = "https://app.example.org/callback"

type Json = Readonly<Record<string, unknown>>

// What a test reads of a document it asserts.
const jsonAt = async (url: string): Promise<Json> => (await (await fetch(url)).json()) as Json

const statusAt = async (url: string): Promise<number> => (await fetch(url)).status

const asking = (clientId: string, fields: Fields = {}): string =>
  `${server().url}/oauth/authorize?${new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "st",
    ...fields
  })}`

const publicClient = () => register(server().url, { redirect_uris: [redirectUri], token_endpoint_auth_method: "none" })

const redeem = (clientId: string, back: URL, fields: Fields = {}) =>
  postToken(server().url, {
    grant_type: "authorization_code",
    client_id: clientId,
    code: String(back.searchParams.get("code")),
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...fields
  })

const tokensFor = async (fields: Fields = {}) => {
  const { client_id } = await publicClient()
  const answer = await redeem(client_id, await new Visitor(server().url).decide(asking(client_id, fields)))
  return { client_id, status: answer.status, tokens: (await answer.json()) as Json }
}

const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

describe("discovery", () => {
  test("the authorization server's metadata names the very issuer that it was asked for, and PKCE with S256", async () => {
    const metadata = await jsonAt(`${server().url}/.well-known/oauth-authorization-server`)
    expect(metadata).toMatchObject({ issuer: server().url, code_challenge_methods_supported: ["S256"] })
    expect(metadata.registration_endpoint).toBe(`${server().url}/oauth/register`)
  })

  test("an issuer with a path is found where the path is inserted", () =>
    scoped(function* () {
      const port = yield* freePort
      const nested = yield* startServer({
        env: { PORT: String(port), BASE_URL: `http://127.0.0.1:${port}/tenant` }
      })
      expect(nested.log()).toContain(`/tenant`)
      yield* Effect.promise(async () => {
        const origin = `http://127.0.0.1:${port}`
        const metadata = await jsonAt(`${origin}/.well-known/oauth-authorization-server/tenant`)
        expect(metadata.issuer).toBe(`${origin}/tenant`)
        const resource = await jsonAt(`${origin}/.well-known/oauth-protected-resource/tenant/rest/companies`)
        expect(resource).toMatchObject({
          resource: `${origin}/tenant/rest/companies`,
          authorization_servers: [`${origin}/tenant`]
        })
        const challenged = await fetch(`${origin}/tenant/rest/companies`)
        const [, hint = ""] =
          /resource_metadata="([^"]+)"/.exec(String(challenged.headers.get("www-authenticate"))) ?? []
        expect(await jsonAt(hint)).toMatchObject({ authorization_servers: [`${origin}/tenant`] })
      })
    }))

  test("clients that try OpenID's address find the same document", async () => {
    const metadata = await jsonAt(`${server().url}/.well-known/openid-configuration`)
    expect(metadata).toEqual(await jsonAt(`${server().url}/.well-known/oauth-authorization-server`))
  })

  test("the protected resource says who its authorization server is, at its own path and at the root", async () => {
    const below = await jsonAt(`${server().url}/.well-known/oauth-protected-resource/rest/companies`)
    expect(below).toMatchObject({
      resource: `${server().url}/rest/companies`,
      authorization_servers: [server().url],
      bearer_methods_supported: ["header"]
    })
    const root = await jsonAt(`${server().url}/.well-known/oauth-protected-resource`)
    expect(root).toMatchObject({ resource: server().url, authorization_servers: [server().url] })
  })

  test("a 401 leads there, and refresh tokens are no matter of the resource's scopes", async () => {
    const answer = await fetch(`${server().url}/rest/companies`)
    expect(answer.status).toBe(401)
    const header = String(answer.headers.get("www-authenticate"))
    const [, hint = ""] = /^Bearer resource_metadata="([^"]+)", scope="api", DPoP /.exec(header) ?? []
    const metadata = await jsonAt(hint)
    expect(metadata.scopes_supported).toEqual(["api", "profile"])
    expect(header).not.toContain("offline_access")
  })

  test("client ID metadata documents are offered, and one of a private network is told like one that is away", async () => {
    const metadata = await jsonAt(`${server().url}/.well-known/oauth-authorization-server`)
    expect(metadata.client_id_metadata_document_supported).toBe(true)
    const answer = await fetch(asking("https://127.0.0.1/client.json"), { redirect: "manual" })
    expect([answer.status, answer.headers.get("location")]).toEqual([503, null])
  })
})

/** RFC 9728 §3.3 to the letter, as go-sdk, Gemini CLI and VS Code have it: up to a token for the address that was called. */
const strictly = async (called: string, cookie: string): Promise<string> => {
  const challenged = await fetch(called)
  const header = String(challenged.headers.get("www-authenticate"))
  const { authorization_servers, resource } = await jsonAt(/resource_metadata="([^"]+)"/.exec(header)?.[1] ?? "")
  if (resource !== called) throw new Error(`called ${called}, and the metadata is of ${String(resource)}`)
  // What a test reads of a document it asserts.
  const [url = ""] = authorization_servers as ReadonlyArray<string>
  const { origin, pathname } = new URL(url)
  const path = pathname === "/" ? "" : pathname
  const { issuer } = await jsonAt(`${origin}/.well-known/oauth-authorization-server${path}`)
  if (issuer !== url) throw new Error(`asked for ${url}, and the metadata is of ${String(issuer)}`)
  const { client_id } = await register(url, { redirect_uris: [redirectUri], token_endpoint_auth_method: "none" })
  const person = new Visitor(origin)
  person.cookies.set("session", cookie)
  const query = { response_type: "code", client_id, redirect_uri: redirectUri, code_challenge: challenge }
  const asked = new URLSearchParams({ ...query, code_challenge_method: "S256", state: "st", resource: called })
  const page = await person.get(`${url}/oauth/authorize?${asked}`)
  const answer = await person.post(`${url}/consent`, {
    ...hiddenFields(await page.text()),
    decision: "approve"
  })
  const code = String(locationOf(answer).searchParams.get("code"))
  const redeemed = await postToken(url, {
    grant_type: "authorization_code",
    client_id,
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    resource: called
  })
  // The same.
  const { access_token } = (await redeemed.json()) as Json
  return String(access_token)
}

describe("an MCP endpoint in an application of one's own", () => {
  for (const prefix of ["", "/tenant"]) {
    test(`is found by a client that takes no other resource than the one it called: ${prefix || "at the root"}`, () =>
      scoped(function* () {
        const port = yield* freePort
        const origin = `http://127.0.0.1:${port}`
        const auth = createTessera(options({ issuer: origin + prefix }))
        yield* Effect.addFinalizer(() => Effect.promise(auth.close))
        const caller = (_: Request, { resources }: { readonly resources: ReadonlyArray<string> | null }) =>
          Response.json({ resources })
        const guarded = (resource: string) => ofFetch.guard(auth, { scopes: ["api"], resource }, caller)
        const mount = ofFetch.mount(auth)
        const server = Bun.serve({
          hostname: "127.0.0.1",
          port,
          routes: {
            [`${prefix}/mcp`]: guarded("/mcp"),
            [`${prefix}/mcp/`]: guarded("/mcp/"),
            [`${prefix}/orders`]: ofFetch.guard(auth, { scopes: ["api"] }, caller)
          },
          fetch: (request) => mount(request) ?? new Response(null, { status: 404 })
        })
        yield* Effect.addFinalizer(() => Effect.promise(() => server.stop(true)))
        yield* Effect.promise(async () => {
          for (const path of ["/mcp", "/mcp/"]) {
            const called = origin + prefix + path
            const token = await strictly(called, "ada")
            const answer = await fetch(called, bearing(token))
            expect([answer.status, await answer.json()]).toEqual([200, { resources: [`${origin + prefix}/mcp`] }])
            const beside = await fetch(`${origin + prefix}/orders`, bearing(token))
            expect(beside.status).toBe(401)
          }
          // Who says nothing of the resource speaks of all that is below the issuer.
          const orders = `${origin + prefix}/orders`
          expect(strictly(orders, "ada")).rejects.toThrow(`the metadata is of ${origin + prefix}`)
        })
      }))
  }
})

describe("registration", () => {
  test("any application_type, and none, is taken with either kind of address", async () => {
    for (const uri of [redirectUri, "http://localhost:1/cb"]) {
      for (const sent of [{ application_type: "native" }, { application_type: "web" }, {}]) {
        const registered = await register(server().url, { redirect_uris: [uri], ...sent })
        expect(registered).toMatchObject(sent)
      }
    }
  })
})

describe("authorization", () => {
  test("success and error carry iss, as the metadata promises", async () => {
    const metadata = await jsonAt(`${server().url}/.well-known/oauth-authorization-server`)
    expect(metadata.authorization_response_iss_parameter_supported).toBe(true)
    const { client_id } = await publicClient()
    for (const decision of ["approve", "deny"] as const) {
      const back = await new Visitor(server().url).decide(asking(client_id), decision)
      expect(back.searchParams.getAll("iss")).toEqual([server().url])
    }
    const refused = await fetch(asking(client_id, { response_type: "token" }), { redirect: "manual" })
    const back = await wayBack(refused)
    expect(back.searchParams.get("error")).toBe("unsupported_response_type")
    expect(back.searchParams.getAll("iss")).toEqual([server().url])
  })

  test("PKCE is asked of public clients, and plain is not to be had", async () => {
    const { client_id } = await publicClient()
    const wrong: ReadonlyArray<Fields> = [
      { code_challenge: "", code_challenge_method: "" },
      { code_challenge_method: "plain" },
      { code_challenge_method: "" }
    ]
    for (const fields of wrong) {
      const answer = await fetch(asking(client_id, fields), { redirect: "manual" })
      const back = await wayBack(answer)
      expect(back.searchParams.get("error")).toBe("invalid_request")
    }
    const back = await new Visitor(server().url).decide(asking(client_id))
    expect((await redeem(client_id, back, { code_verifier: `${verifier}x` })).status).toBe(400)
  })

  test("a redirect URI that is not registered, letter by letter, gets a page and no redirect", async () => {
    const { client_id } = await publicClient()
    for (const uri of [
      `${redirectUri}/`,
      `${redirectUri}?x=1`,
      "https://APP.example.org/callback",
      "https://evil.example"
    ]) {
      const answer = await fetch(asking(client_id, { redirect_uri: uri }), { redirect: "manual" })
      expect([uri, answer.status, answer.headers.get("location")]).toEqual([uri, 400, null])
    }
  })

  test("the consent page shows the host that the person goes to, and that no owner vouches for the client", async () => {
    const { client_id } = await publicClient()
    const visitor = new Visitor(server().url)
    await visitor.signIn()
    const page = (await (await visitor.get(asking(client_id))).text()).replaceAll("<wbr>", "")
    expect(page).toContain("app.example.org")
    expect(page).toContain("registered itself")
  })
})

describe("resource and audience", () => {
  test("a token is for the resource that was asked for, and for nothing beside it", async () => {
    const here = await tokensFor({ resource: `${server().url}/rest/companies` })
    expect(await companiesStatus(server().url, String(here.tokens.access_token))).toBe(200)
    const elsewhere = await tokensFor({ resource: `${server().url}/rest/people` })
    expect(await companiesStatus(server().url, String(elsewhere.tokens.access_token))).toBe(401)
    const beside = await tokensFor({ resource: `${server().url}/rest/comp` })
    expect(await companiesStatus(server().url, String(beside.tokens.access_token))).toBe(401)
  })

  test("another server's resource is refused", async () => {
    const { client_id } = await publicClient()
    const answer = await fetch(asking(client_id, { resource: "https://mcp.example.com/mcp" }), { redirect: "manual" })
    expect((await wayBack(answer)).searchParams.get("error")).toBe("invalid_target")
  })

  test("the scheme and the host may be in upper case, and a slash may end it", async () => {
    for (const resource of [server().url.replace("http", "HTTP"), `${server().url}/`]) {
      const { tokens } = await tokensFor({ resource })
      expect(await companiesStatus(server().url, String(tokens.access_token))).toBe(200)
    }
  })
})

describe("tokens", () => {
  test("access is short, and a public client's refresh token is new each time", async () => {
    const { client_id, tokens } = await tokensFor()
    expect(tokens.expires_in).toBeLessThanOrEqual(3600)
    const renewed = await postToken(server().url, {
      grant_type: "refresh_token",
      client_id,
      refresh_token: String(tokens.refresh_token)
    })
    const next = (await renewed.json()) as Json
    expect(next.refresh_token).toBeString()
    expect(next.refresh_token).not.toBe(tokens.refresh_token)
  })

  test("a bad token gets 401, and one in the address counts for nothing", async () => {
    expect(await companiesStatus(server().url, "made-up")).toBe(401)
    const { tokens } = await tokensFor()
    expect(await statusAt(`${server().url}/rest/companies?access_token=${String(tokens.access_token)}`)).toBe(401)
  })

  test("too little scope gets 403, and all that it takes in one challenge", async () => {
    const { tokens } = await tokensFor({ scope: "profile" })
    const answer = await fetch(`${server().url}/rest/companies`, bearing(String(tokens.access_token)))
    expect(answer.status).toBe(403)
    const header = String(answer.headers.get("www-authenticate"))
    expect(header).toContain('error="insufficient_scope"')
    expect(header).toContain('scope="api"')
    expect(header).toContain("resource_metadata=")
  })

  test("a malformed request gets 400", async () => {
    const { client_id } = await publicClient()
    expect((await postToken(server().url, { grant_type: "authorization_code", client_id })).status).toBe(400)
  })
})
