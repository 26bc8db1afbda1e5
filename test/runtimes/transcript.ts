import { expect } from "bun:test"
import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto"
import { assertionType } from "../../core/oauth/clients/assertion.ts"
import { standsAt } from "./given/app.ts"
import type { Answer, Send, Sent } from "./given/wire.ts"

/** What a script talks to: a server, at the path of its issuer. */
export interface Talk {
  readonly send: Send
  /** The path of the issuer: empty, or `/` and more. */
  readonly prefix: string
  /** What `/test/cookies` sets, where it is not the one of the app. */
  readonly cookies?: Cookies
  /** What its clock shows, where that is not the one of the app. */
  readonly now?: () => number
}

/** An answer that leads on, and sets more cookies than one. */
export interface Cookies {
  readonly location: RegExp
  readonly lines: ReadonlyArray<RegExp>
}

/** Sends requests, says of each answer what it has to be, and gives them all back. */
export interface Script {
  readonly title: string
  /**
   * `wire`: only where a test chooses the bytes. `own`: only where no other app has a say. `stray`: only where
   * none in front of us turns away a `%` that escapes nothing. `second`: only where the second workspace is served.
   */
  readonly needs: ReadonlyArray<"wire" | "own" | "stray" | "second">
  readonly run: (talk: Talk) => Promise<ReadonlyArray<Answer>>
}

export const limit = 64 * 1024

const form = ["content-type", "application/x-www-form-urlencoded"] as const
const json = ["content-type", "application/json"] as const
const alice = ["cookie", "theme=dark; person=alice"] as const

const header = (answer: Answer, name: string) =>
  answer.headers.filter(([written]) => written === name).map(([, value]) => value)

// A script reads what it was answered; a wrong shape fails its assertions.
const read = (answer: Answer): Record<string, unknown> => JSON.parse(answer.body) as Record<string, unknown>

const text = (value: unknown): string => {
  if (typeof value !== "string") throw new Error(`not a text: ${String(value)}`)
  return value
}

const oauthError = (answer: Answer, status: number, error: string) => {
  expect(answer.status).toBe(status)
  expect(header(answer, "content-type")).toEqual(["application/json"])
  expect(read(answer).error).toBe(error)
}

const recorder = ({ send, prefix }: Talk) => {
  const answers: Array<Answer> = []
  const anywhere = async (sent: Sent) => {
    const answer = await send(sent)
    answers.push(answer)
    return answer
  }
  const below = (sent: Sent) => anywhere({ ...sent, target: prefix + sent.target })
  return { answers, below, anywhere }
}

const script = (
  title: string,
  run: (send: Send, talk: Talk) => Promise<void>,
  needs: Script["needs"] = []
): Script => ({
  title,
  needs,
  run: async (talk) => {
    const { answers, anywhere, below } = recorder(talk)
    await talk.send({ method: "GET", target: `${talk.prefix}/test/reseed?${encodeURIComponent(title)}` })
    await run(below, { ...talk, send: anywhere })
    return answers
  }
})

const verifier = "a-code-verifier-of-at-least-43-characters-~._"
const challenge = createHash("sha256").update(verifier).digest("base64url")
const redirectUri = "https://app.example.org/callback?kept=1"

const registered = async (send: Send, metadata: Record<string, unknown>) => {
  const answer = await send({
    method: "POST",
    target: "/oauth/register",
    headers: [json],
    body: JSON.stringify({
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: "client_secret_post",
      ...metadata
    })
  })
  expect(answer.status).toBe(201)
  return read(answer)
}

const register = async (send: Send, metadata: Record<string, unknown>) => {
  const { client_id, client_secret, registration_access_token } = await registered(send, metadata)
  return {
    client_id: text(client_id),
    client_secret: text(client_secret),
    registration: ["authorization", `Bearer ${text(registration_access_token)}`] as const
  }
}

const token = (send: Send, fields: Record<string, string>) =>
  send({ method: "POST", target: "/oauth/token", headers: [form], body: new URLSearchParams(fields).toString() })

/** The hidden fields of a page's form. */
const hiddenFields = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden"[^>]*>/g)].map(([tag]) => [
      /name="([^"]*)"/.exec(tag)?.[1] ?? "",
      (/value="([^"]*)"/.exec(tag)?.[1] ?? "").replaceAll("&amp;", "&").replaceAll("&#39;", "'")
    ])
  )

/** A key of Ed25519, whose signature of the same text is the same each time (RFC 8032 §5.1.6). */
const signerOf = (byte: number) => {
  const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, byte)])
  const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" })
  const part = (told: object) => Buffer.from(JSON.stringify(told)).toString("base64url")
  return {
    jwk: { ...createPublicKey(key).export({ format: "jwk" }), kid: "one" },
    sign: (claims: object) => {
      const text = `${part({ alg: "EdDSA", kid: "one" })}.${part(claims)}`
      return `${text}.${sign(null, Buffer.from(text), key).toString("base64url")}`
    }
  }
}

const authorizeTarget = (client: string, state: string) =>
  `/oauth/authorize?${new URLSearchParams({
    response_type: "code",
    client_id: client,
    redirect_uri: redirectUri,
    code_challenge: challenge,
    code_challenge_method: "S256",
    scope: "api profile",
    state
  })}`

const appCookies: Cookies = {
  location: /^\/test\/echo$/,
  lines: [/^a=1; Path=\/; HttpOnly$/, /^b=2; Path=\/; Expires=Thu, 01 Jan 2032 00:00:00 GMT$/]
}

const bearer = (access: string) => ["authorization", `Bearer ${access}`] as const

/** A body of a token request that is exactly so many bytes long. */
const padded = (bytes: number): string => {
  const start = "grant_type=client_credentials&client_id=nobody&client_secret=x&unknown="
  return start + "a".repeat(bytes - start.length)
}

const targets: ReadonlyArray<string> = [
  "/test/echo/a%2Fb/%7e/%C3%A9",
  "/test/echo//double//slashes/",
  "/test/echo/a;b=c,d:e@f!$&'()*+=~",
  "/test/echo?a=1&a=2&b=%20+%2B&c",
  "/test/echo?",
  "/test/echo??a=%",
  "/test/echo?return_to=https://a.example/b?c=d/e"
]

export const scripts: ReadonlyArray<Script> = [
  script("discovery", async (send, { send: sendAnywhere, prefix }) => {
    const server = await send({ method: "GET", target: "/.well-known/oauth-authorization-server" })
    expect(server.status).toBe(200)
    expect(header(server, "access-control-allow-origin")).toEqual(["*"])
    const { issuer, token_endpoint } = read(server)
    expect(issuer).toBe(`http://localhost:3000${prefix}`)
    expect(token_endpoint).toBe(`http://localhost:3000${prefix}/oauth/token`)
    const inserted = await sendAnywhere({ method: "GET", target: `/.well-known/oauth-authorization-server${prefix}` })
    expect(read(inserted)).toEqual(read(server))
    const resource = await send({ method: "GET", target: "/.well-known/oauth-protected-resource" })
    expect(read(resource).resource).toBe(`http://localhost:3000${prefix}`)
    const suffixed = await sendAnywhere({
      method: "GET",
      target: `/.well-known/oauth-protected-resource${prefix}/rest/companies`
    })
    expect(read(suffixed).resource).toBe(`http://localhost:3000${prefix}/rest/companies`)
  }),

  script("a client, from its registration to its end", async (send) => {
    const client = await register(send, { client_name: "Zoë's €uro \u{1f511}", unknown_field: { a: [1] } })
    const target = `/oauth/register/${client.client_id}`
    const shown = await send({ method: "GET", target, headers: [client.registration] })
    expect(read(shown).client_name).toBe("Zoë's €uro \u{1f511}")
    const changed = await send({
      method: "PUT",
      target,
      headers: [client.registration, json],
      body: JSON.stringify({ client_id: client.client_id, client_name: "Other", redirect_uris: [redirectUri] })
    })
    expect(changed.status).toBe(200)
    expect((await send({ method: "DELETE", target, headers: [client.registration] })).status).toBe(204)
    const gone = await send({ method: "GET", target, headers: [client.registration] })
    expect(gone.status).toBe(401)
    expect(header(gone, "www-authenticate")).toHaveLength(1)
  }),

  script("the whole code flow", async (send) => {
    const { client_id, client_secret } = await register(send, { client_name: "App" })
    const state = `s &=+%/?#"'<>é`
    const away = await send({ method: "GET", target: authorizeTarget(client_id, state) })
    expect(away.status).toBe(303)
    expect(header(away, "location")[0]).toContain("/login?return_to=")
    const page = await send({ method: "GET", target: authorizeTarget(client_id, state), headers: [alice] })
    expect(page.status).toBe(200)
    expect(header(page, "content-security-policy")).toHaveLength(1)
    const back = await send({
      method: "POST",
      target: "/consent",
      headers: [alice, form],
      body: new URLSearchParams({ ...hiddenFields(page.body), acknowledged: "yes", decision: "approve" }).toString()
    })
    expect(back.status).toBe(303)
    const returned = new URL(text(header(back, "location")[0])).searchParams
    expect(returned.get("state")).toBe(state)
    expect(returned.get("kept")).toBe("1")
    const redeemed = await token(send, {
      grant_type: "authorization_code",
      code: text(returned.get("code")),
      redirect_uri: redirectUri,
      code_verifier: verifier,
      client_id,
      client_secret
    })
    expect(redeemed.status).toBe(200)
    expect(header(redeemed, "cache-control")).toEqual(["no-store"])
    const tokens = read(redeemed)
    const companies = await send({
      method: "GET",
      target: "/rest/companies",
      headers: [bearer(text(tokens.access_token))]
    })
    expect(companies.status).toBe(200)
    const userinfo = await send({
      method: "GET",
      target: "/oauth/userinfo",
      headers: [bearer(text(tokens.access_token))]
    })
    expect(read(userinfo).name).toBe("Zoë")
    const refreshed = await token(send, {
      grant_type: "refresh_token",
      refresh_token: text(tokens.refresh_token),
      client_id,
      client_secret
    })
    expect(refreshed.status).toBe(200)
    const introspected = await send({
      method: "POST",
      target: "/oauth/introspect",
      headers: [form],
      body: new URLSearchParams({ token: text(read(refreshed).access_token), client_id, client_secret }).toString()
    })
    expect(read(introspected).active).toBe(true)
    const revoked = await send({
      method: "POST",
      target: "/oauth/revoke",
      headers: [form],
      body: new URLSearchParams({ token: text(tokens.refresh_token), client_id, client_secret }).toString()
    })
    expect(revoked.status).toBe(200)
    const dead = await send({
      method: "GET",
      target: "/rest/companies",
      headers: [bearer(text(read(refreshed).access_token))]
    })
    expect(dead.status).toBe(401)
    expect(header(dead, "www-authenticate")[0]).toContain('error="invalid_token"')
  }),

  script("client credentials, by Basic", async (send) => {
    const { client_id, client_secret } = await register(send, {
      grant_types: ["client_credentials"],
      redirect_uris: [],
      token_endpoint_auth_method: "client_secret_basic"
    })
    const basic = ["authorization", `Basic ${btoa(`${client_id}:${client_secret}`)}`] as const
    const body = "grant_type=client_credentials"
    const answer = await send({ method: "POST", target: "/oauth/token", headers: [form, basic], body })
    expect(answer.status).toBe(200)
    const wrong = ["authorization", `Basic ${btoa(`${client_id}:x`)}`] as const
    const refused = await send({ method: "POST", target: "/oauth/token", headers: [form, wrong], body })
    oauthError(refused, 401, "invalid_client")
    expect(header(refused, "www-authenticate")).toEqual(['Basic realm="oauth"'])
  }),

  script("a client that signs for itself", async (send, { now = () => standsAt, prefix }) => {
    const signer = signerOf(7)
    const { client_id, client_secret } = await registered(send, {
      grant_types: ["client_credentials"],
      redirect_uris: [],
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [signer.jwk] }
    })
    expect(client_secret).toBeUndefined()
    const seconds = Math.floor(now() / 1000)
    const issuer = `http://localhost:3000${prefix}`
    const good = { iss: client_id, sub: client_id, aud: issuer, iat: seconds, exp: seconds + 60 }
    const shown = (jti: string, over: object = {}, by = signer) => ({
      client_assertion_type: assertionType,
      client_assertion: by.sign({ ...good, jti, ...over })
    })
    const ask = (sent: Record<string, string>) => token(send, { grant_type: "client_credentials", ...sent })
    const issued = await ask(shown("first"))
    expect(issued.status).toBe(200)
    for (const sent of [
      shown("first"),
      shown("for another", { aud: "https://elsewhere.example" }),
      shown("too late", { iat: seconds - 120, exp: seconds - 60 }),
      shown("by another", {}, signerOf(8)),
      { client_id: text(client_id), client_secret: "a secret" }
    ]) {
      oauthError(await ask(sent), 401, "invalid_client")
    }
    const access = text(read(issued).access_token)
    const about = (target: string, jti: string) =>
      send({
        method: "POST",
        target,
        headers: [form],
        body: new URLSearchParams({ token: access, ...shown(jti) }).toString()
      })
    expect(read(await about("/oauth/introspect", "second")).active).toBe(true)
    expect((await about("/oauth/revoke", "third")).status).toBe(200)
    expect(read(await about("/oauth/introspect", "fourth")).active).toBe(false)
  }),

  script("parameters and headers that come twice", async (send) => {
    const body = "grant_type=client_credentials&client_id=a&client_id=b"
    oauthError(await send({ method: "POST", target: "/oauth/token", headers: [form], body }), 400, "invalid_request")
    const echoed = await send({
      method: "POST",
      target: "/test/echo?a=1&a=2",
      headers: [form, ["x-twice", "one"], ["x-twice", "two, three"]],
      body: "b=1&b=2&%62=+%20"
    })
    expect(read(echoed)).toMatchObject({
      query: "a=1&a=2",
      body: "b=1&b=2&%62=+%20",
      twice: "one, two, three",
      absent: null
    })
    const twoTokens = await send({
      method: "GET",
      target: "/rest/companies",
      headers: [bearer("one"), bearer("two")]
    })
    oauthError(twoTokens, 401, "invalid_token")
  }),

  script("the path and the query, byte for byte", async (send, { prefix }) => {
    for (const target of targets) {
      const [path = "", ...query] = target.split("?")
      const echoed = await send({ method: "GET", target })
      expect(read(echoed)).toMatchObject({ path: prefix + path, query: query.join("?"), body: "" })
    }
  }),

  script(
    "a path with percent signs that escape nothing",
    async (send, { prefix }) => {
      const echoed = await send({ method: "GET", target: "/test/echo/%zz/%" })
      expect(read(echoed).path).toBe(`${prefix}/test/echo/%zz/%`)
    },
    ["stray"]
  ),

  script("a body in any encoding", async (send) => {
    const bytes = Uint8Array.from([0xef, 0xbb, 0xbf, 0x61, 0xff, 0xe2, 0x82, 0xac, 0x00, 0x0a])
    const echoed = await send({ method: "POST", target: "/test/echo", headers: [form], body: bytes })
    expect(read(echoed).body).toBe("a\ufffd€\u0000\n")
    const later = await send({ method: "PUT", target: "/test/later", headers: [json], body: '{"a":"é"}' })
    expect(read(later)).toMatchObject({ method: "PUT", body: '{"a":"é"}' })
    expect((await send({ method: "GET", target: "/test/unicode" })).body).toContain("Zoë €\u{1f511}")
    expect((await send({ method: "GET", target: "/test/empty" })).body).toBe("")
  }),

  script("HEAD, OPTIONS and methods that are not there", async (send) => {
    for (const target of ["/.well-known/oauth-authorization-server", "/test/unicode", "/rest/companies"]) {
      const got = await send({ method: "GET", target })
      const peeked = await send({ method: "HEAD", target })
      expect(peeked.status).toBe(got.status)
      expect(peeked.body).toBe("")
      expect(header(peeked, "content-length")).toEqual([String(Buffer.byteLength(got.body))])
      expect(header(peeked, "content-type")).toEqual([...header(got, "content-type")])
    }
    const preflight = await send({
      method: "OPTIONS",
      target: "/oauth/token",
      headers: [
        ["origin", "https://spa.example"],
        ["access-control-request-method", "POST"],
        ["access-control-request-headers", "authorization,content-type"]
      ]
    })
    expect(preflight.status).toBe(204)
    expect(header(preflight, "access-control-allow-headers")).toEqual(["authorization,content-type"])
    const wrong = await send({ method: "GET", target: "/oauth/token" })
    oauthError(wrong, 405, "invalid_request")
    expect(header(wrong, "allow")).toEqual(["POST, OPTIONS"])
    expect((await send({ method: "PATCH", target: "/oauth/token", headers: [json], body: "{}" })).status).toBe(405)
    expect((await send({ method: "OPTIONS", target: "/oauth/authorize" })).status).toBe(405)
    expect((await send({ method: "HEAD", target: "/oauth/token" })).status).toBe(405)
  }),

  script("every Set-Cookie of an answer", async (send, { cookies = appCookies }) => {
    const answer = await send({ method: "GET", target: "/test/cookies" })
    expect(answer.status).toBe(303)
    expect(header(answer, "location")).toEqual([expect.stringMatching(cookies.location)])
    expect(header(answer, "set-cookie")).toEqual(cookies.lines.map((line) => expect.stringMatching(line)))
  }),

  script("bodies up to 64 KiB, and not a byte more", async (send) => {
    const exact = await send({ method: "POST", target: "/test/echo", headers: [form], body: padded(limit) })
    expect(read(exact).body).toEqual({ length: limit })
    const unknown = await send({ method: "POST", target: "/oauth/token", headers: [form], body: padded(limit) })
    oauthError(unknown, 401, "invalid_client")
    for (const target of ["/oauth/token", "/oauth/register", "/test/echo", "/consent"]) {
      const refused = await send({ method: "POST", target, headers: [form], body: padded(limit + 1) })
      oauthError(refused, 413, "invalid_request")
      expect(header(refused, "cache-control")).toEqual(["no-store"])
      expect(header(refused, "x-request-id")).toEqual([expect.stringMatching(/^[0-9a-f]{16}$/)])
      expect(header(refused, "access-control-allow-origin")).toEqual(["*"])
    }
    // Fewer characters than the limit, more bytes.
    oauthError(
      await send({ method: "POST", target: "/test/echo", headers: [form], body: "€".repeat(limit / 3 + 1) }),
      413,
      "invalid_request"
    )
  }),

  script(
    "bodies without a length up to 64 KiB, and not a byte more",
    async (send) => {
      const chunked = (sizes: ReadonlyArray<number>) =>
        `${sizes.map((size) => `${size.toString(16)}\r\n${"a".repeat(size)}\r\n`).join("")}0\r\n\r\n`
      const headers = [form, ["transfer-encoding", "chunked"]] as const
      const exact = await send({ method: "POST", target: "/test/echo", headers, body: chunked([limit - 7, 7]) })
      expect(read(exact).body).toEqual({ length: limit })
      const refused = await send({ method: "POST", target: "/test/echo", headers, body: chunked([limit - 7, 8]) })
      oauthError(refused, 413, "invalid_request")
      oauthError(
        await send({ method: "POST", target: "/oauth/token", headers, body: chunked([limit * 4]) }),
        413,
        "invalid_request"
      )
      const empty = await send({ method: "POST", target: "/test/echo", headers, body: chunked([]) })
      expect(read(empty).body).toBe("")
    },
    ["wire"]
  ),

  script(
    "a body where none belongs",
    async (send) => {
      const small = await send({ method: "GET", target: "/test/echo", body: "abc" })
      expect(read(small).body).toBe("")
      const large = await send({ method: "GET", target: "/test/echo", body: padded(limit + 1) })
      expect(read(large)).toMatchObject({ method: "GET", body: "" })
      const deleted = await send({ method: "DELETE", target: "/test/echo", body: "abc" })
      expect(read(deleted)).toMatchObject({ method: "DELETE", body: "abc" })
    },
    ["wire"]
  ),

  script(
    "addresses that nobody has",
    async (send) => {
      oauthError(await send({ method: "GET", target: "/nowhere" }), 404, "not_found")
      oauthError(await send({ method: "GET", target: "/oauth/token/" }), 404, "not_found")
      const page = await send({ method: "GET", target: "/nowhere", headers: [["accept", "text/html"]] })
      expect(page.status).toBe(404)
      expect(header(page, "content-type")[0]).toStartWith("text/html")
      oauthError(await send({ method: "POST", target: "/nowhere", headers: [form], body: "a=b" }), 404, "not_found")
    },
    ["own"]
  ),

  script(
    "targets that only a stranger sends",
    async (_, { send, prefix }) => {
      const answers = [
        await send({ method: "GET", target: `http://elsewhere.example${prefix}/test/echo/a?b=c` }),
        await send({ method: "GET", target: `${prefix}/test/echo/a/../b/./%2e%2E/c` }),
        await send({ method: "GET", target: `${prefix}/test/echo/a\\b"<c>|` }),
        await send({ method: "GET", target: `${prefix}/test/echo/a#b?c` })
      ]
      expect(answers.map((answer) => read(answer).path)).toEqual(
        ["/test/echo/a", "/test/echo/c", "/test/echo/a/b%22%3Cc%3E|", "/test/echo/a"].map((path) => prefix + path)
      )
    },
    ["wire", "own"]
  ),

  script(
    "a second workspace, to which nothing of the first is anything",
    async (send, { send: sendAnywhere, prefix }) => {
      const second: Send = (sent) => send({ ...sent, target: `/second${sent.target}` })
      const inserted = await sendAnywhere({
        method: "GET",
        target: `/.well-known/oauth-authorization-server${prefix}/second`
      })
      expect(read(inserted).issuer).toBe(`http://localhost:3000${prefix}/second`)
      const { client_id, client_secret } = await register(second, { client_name: "App" })
      oauthError(await token(send, { grant_type: "refresh_token", client_id, client_secret }), 401, "invalid_client")
      const page = await second({ method: "GET", target: authorizeTarget(client_id, "s"), headers: [alice] })
      const fields = { ...hiddenFields(page.body), acknowledged: "yes", decision: "approve" }
      const answer = { headers: [alice, form], body: new URLSearchParams(fields).toString() }
      const wrong = await send({ method: "POST", target: "/consent", ...answer })
      expect(wrong.status).toBe(403)
      const back = await second({ method: "POST", target: "/consent", ...answer })
      const returned = new URL(text(header(back, "location")[0])).searchParams
      expect(returned.get("iss")).toBe(`http://localhost:3000${prefix}/second`)
      const redeemed = await token(second, {
        grant_type: "authorization_code",
        code: text(returned.get("code")),
        redirect_uri: redirectUri,
        code_verifier: verifier,
        client_id,
        client_secret
      })
      const shown = { method: "GET", target: "/rest/companies", headers: [bearer(text(read(redeemed).access_token))] }
      expect((await second(shown)).status).toBe(200)
      oauthError(await send(shown), 401, "invalid_token")
    },
    ["second"]
  ),

  script(
    "an API elsewhere, whose tokens open nothing here",
    async (send) => {
      const second: Send = (sent) => send({ ...sent, target: `/second${sent.target}` })
      const { client_id, client_secret } = await register(second, {
        grant_types: ["client_credentials"],
        redirect_uris: []
      })
      const asked = (resource: string) => ({
        grant_type: "client_credentials",
        resource,
        client_id,
        client_secret
      })
      const issued = await token(second, asked("https://tools.example/mcp/"))
      expect(issued.status).toBe(200)
      const access = text(read(issued).access_token)
      const introspected = await second({
        method: "POST",
        target: "/oauth/introspect",
        headers: [form],
        body: new URLSearchParams({ token: access, client_id, client_secret }).toString()
      })
      expect(read(introspected).aud).toBe("https://tools.example/mcp")
      const here = await second({ method: "GET", target: "/rest/companies", headers: [bearer(access)] })
      oauthError(here, 401, "invalid_token")
      for (const other of ["https://tools.example", "https://tools.example/mcpx", "http://tools.example/mcp"]) {
        oauthError(await token(second, asked(other)), 400, "invalid_target")
      }
    },
    ["second"]
  )
]
