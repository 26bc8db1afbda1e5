import { describe, expect, test } from "bun:test"
import { challenge, verifier } from "../given/flow.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { companiesStatus, postRegistration, postToken, type Registered, Visitor } from "../given/serverVisitor.ts"

const server = serverOfFile()

interface Stranger {
  readonly name: string
  readonly sends: Readonly<Record<string, unknown>>
  /** Where it waits when its turn comes. */
  readonly returnsTo: string
  /** What it asks for at authorize; by MCP that is what the resource says, by habit something else. */
  readonly asks?: string
  readonly gets: string
}

const code = ["authorization_code", "refresh_token"]

/** Registrations as products send them today, by what their users and the servers that they met have reported. */
const strangers: ReadonlyArray<Stranger> = [
  {
    name: "a hosted assistant with a secret in the body",
    sends: {
      client_name: "Claude",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_post",
      scope: "api profile",
      software_id: "claude-ai",
      software_version: "1.0"
    },
    returnsTo: "https://claude.ai/api/mcp/auth_callback",
    asks: "api profile",
    gets: "api profile"
  },
  {
    name: "a hosted assistant that takes what an OpenID provider would give",
    sends: {
      client_name: "ChatGPT",
      redirect_uris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_basic",
      application_type: "web",
      scope: "openid api profile email offline_access",
      subject_type: "public",
      id_token_signed_response_alg: "RS256",
      require_auth_time: false
    },
    returnsTo: "https://chatgpt.com/connector_platform_oauth_redirect",
    asks: "openid api profile email offline_access",
    gets: "api profile openid email"
  },
  {
    name: "one whose scopes at registration are all of other servers",
    sends: {
      client_name: "Elsewhere",
      redirect_uris: ["https://elsewhere.example/cb"],
      token_endpoint_auth_method: "none",
      scope: "openid email offline_access"
    },
    returnsTo: "https://elsewhere.example/cb",
    asks: "api offline_access",
    gets: "api"
  },
  {
    name: "a command line with a loopback address of the moment and no scope",
    sends: {
      client_name: "Claude Code (companies)",
      redirect_uris: ["http://localhost:3118/callback"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native"
    },
    returnsTo: "http://localhost:49152/callback",
    asks: "api profile",
    gets: "api profile"
  },
  {
    name: "a command line with a path of the moment",
    sends: {
      client_name: "Codex",
      redirect_uris: ["http://127.0.0.1:37819/callback/tZ8kQ2"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native"
    },
    returnsTo: "http://127.0.0.1:37819/callback/tZ8kQ2",
    gets: "api"
  },
  {
    name: "an editor that knows more grant types than we do",
    sends: {
      client_name: "Visual Studio Code",
      client_uri: "https://code.visualstudio.com",
      grant_types: [...code, "urn:ietf:params:oauth:grant-type:device_code"],
      response_types: ["code"],
      redirect_uris: [
        "https://insiders.vscode.dev/redirect",
        "https://vscode.dev/redirect",
        "http://127.0.0.1/",
        "http://127.0.0.1:33418/"
      ],
      scope: "api profile",
      token_endpoint_auth_method: "none",
      application_type: "native"
    },
    returnsTo: "http://127.0.0.1:59656/",
    asks: "api profile",
    gets: "api profile"
  },
  {
    name: "one that fills what it does not know with nothing",
    sends: {
      client_name: "",
      client_uri: null,
      logo_uri: "",
      contacts: [],
      redirect_uris: ["https://tool.example/oauth/callback?tenant=7"],
      grant_types: null,
      response_types: null,
      token_endpoint_auth_method: null,
      scope: "",
      jwks_uri: null,
      policy_uri: "",
      default_max_age: null,
      "x-odd": { nested: [1, "two", { three: null }] }
    },
    returnsTo: "https://tool.example/oauth/callback?tenant=7",
    gets: "api"
  },
  {
    name: "one with a name in several scripts",
    sends: { client_name: "Προσωπικός βοηθός 助手 🚀", redirect_uris: ["https://xn--yetx65m.example/cb"] },
    returnsTo: "https://xn--yetx65m.example/cb",
    gets: "api"
  },
  {
    name: "a native application with a reversed domain name",
    sends: {
      redirect_uris: ["com.example.notes:/oauth2redirect"],
      token_endpoint_auth_method: "none",
      application_type: "native"
    },
    returnsTo: "com.example.notes:/oauth2redirect",
    gets: "api"
  },
  {
    name: "an editor's desktop, which registers three ways back at once",
    sends: {
      client_name: "Cursor",
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback"
      ],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native"
    },
    returnsTo: "cursor://anysphere.cursor-mcp/oauth/callback",
    asks: "api profile",
    gets: "api profile"
  },
  {
    name: "an extension of an editor, with a path of the moment",
    sends: {
      client_name: "Cline",
      redirect_uris: ["vscode://saoudrizwan.claude-dev/mcp-auth/callback/1f0c5d"],
      token_endpoint_auth_method: "none"
    },
    returnsTo: "vscode://saoudrizwan.claude-dev/mcp-auth/callback/1f0c5d",
    gets: "api"
  }
]

const register = async (stranger: Stranger): Promise<Registered> => {
  const answer = await postRegistration(server().url, stranger.sends)
  expect({ status: answer.status, body: answer.status === 201 ? "" : await answer.clone().text() }).toEqual({
    status: 201,
    body: ""
  })
  // RFC 7591's shape; what is missing of it fails the assertions.
  return (await answer.json()) as Registered
}

const clientAuth = (client: Registered) => {
  const [id, secret] = [client.client_id, String(client.client_secret)]
  switch (client.token_endpoint_auth_method) {
    case "client_secret_basic":
      return { fields: {}, headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` } }
    case "client_secret_post":
      return { fields: { client_id: id, client_secret: secret }, headers: {} }
    default:
      return { fields: { client_id: id }, headers: {} }
  }
}

const authorizationUrl = (client: Registered, { returnsTo, asks }: Pick<Stranger, "returnsTo" | "asks">): URL => {
  const url = new URL(`${server().url}/oauth/authorize`)
  for (const [name, value] of Object.entries({
    response_type: "code",
    client_id: client.client_id,
    redirect_uri: returnsTo,
    code_challenge: challenge,
    code_challenge_method: "S256",
    state: "st",
    resource: server().url,
    ...(asks === undefined ? {} : { scope: asks })
  }))
    url.searchParams.set(name, value)
  return url
}

describe("whoever registers gets in", () => {
  test.each([...strangers])("$name", async (stranger) => {
    const client = await register(stranger)
    expect(client.registration_client_uri).toBe(`${server().url}/oauth/register/${client.client_id}`)
    expect(client.registration_access_token).toBeString()
    expect(client.redirect_uris).toContain(
      Array.isArray(stranger.sends.redirect_uris) ? stranger.sends.redirect_uris[0] : undefined
    )

    const kept = await fetch(String(client.registration_client_uri), {
      headers: { authorization: `Bearer ${String(client.registration_access_token)}` }
    })
    expect(await kept.json()).toMatchObject({ client_id: client.client_id, redirect_uris: client.redirect_uris })

    const back = await new Visitor(server().url).decide(authorizationUrl(client, stranger))
    expect(back.href.startsWith(stranger.returnsTo)).toBe(true)
    const auth = clientAuth(client)
    const answer = await postToken(
      server().url,
      {
        ...auth.fields,
        grant_type: "authorization_code",
        code: String(back.searchParams.get("code")),
        redirect_uri: stranger.returnsTo,
        code_verifier: verifier,
        resource: `${server().url}/`
      },
      auth.headers
    )
    expect(answer.status).toBe(200)
    const tokens = (await answer.json()) as Readonly<Record<string, unknown>>
    expect(tokens.scope).toBe(stranger.gets)
    expect(await companiesStatus(server().url, String(tokens.access_token))).toBe(200)

    const renewed = await postToken(
      server().url,
      {
        ...auth.fields,
        grant_type: "refresh_token",
        refresh_token: String(tokens.refresh_token),
        scope: stranger.gets
      },
      auth.headers
    )
    expect(renewed.status).toBe(200)
  })
})

describe("what is turned away, and says why", () => {
  const refusal = async (sends: Readonly<Record<string, unknown>>) => {
    const answer = await postRegistration(server().url, sends)
    expect(answer.status).toBe(400)
    return (await answer.json()) as Readonly<Record<string, string>>
  }

  test("a host in its own script: it goes over the wire as punycode", async () => {
    const { error } = await refusal({ redirect_uris: ["https://助手.example/cb"] })
    expect(error).toBe("invalid_redirect_uri")
  })

  test("a private-use scheme without a dot that could be anybody's, and the whole registration that it is part of", async () => {
    const { error, error_description } = await refusal({
      redirect_uris: ["myapp://oauth/callback", "http://localhost:8787/callback"]
    })
    expect(error).toBe("invalid_redirect_uri")
    expect(error_description).toContain("number 1")
  })

  test.each([
    "cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=eyJjb21tYW5kIjoieCJ9",
    "vscode://file/etc/passwd",
    "vscode://vscode.git/clone?url=https://evil.example/x.git"
  ])("%s, which is no way back from a sign-in but a command to a program", async (uri) => {
    const { error } = await refusal({ redirect_uris: [uri], token_endpoint_auth_method: "none" })
    expect(error).toBe("invalid_redirect_uri")
  })

  test.each(["javascript:alert(1)//.x", "data:text/html,x.y", "vbscript:a.b", "file:///etc/passwd.x", "about:blank"])(
    "%s as a redirect URI",
    async (uri) => {
      expect((await refusal({ redirect_uris: [uri] })).error).toBe("invalid_redirect_uri")
    }
  )

  test("a method that we do not have, by its name", async () => {
    const { error, error_description } = await refusal({
      redirect_uris: ["https://a.example/cb"],
      token_endpoint_auth_method: "tls_client_auth"
    })
    expect(error).toBe("invalid_client_metadata")
    expect(error_description).toContain("token_endpoint_auth_method")
  })
})
