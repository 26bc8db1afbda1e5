/**
 * Programs that people connect today, each with the requests that it sends, by what their users and the servers that they
 * met have reported, and with its metadata document, as it was read in public. `programs.test.ts` plays them: a program
 * that is in here gets in.
 */

type Fields = Readonly<Record<string, string>>

export interface Program {
  readonly name: string
  /** RFC 7591: the body of its registration. A program that goes by a document has none. */
  readonly registers?: Readonly<Record<string, unknown>>
  /** What is found at the address that it goes by. */
  readonly document?: Readonly<Record<string, unknown>> & { readonly client_id: string }
  /** Where it waits when its turn comes. */
  readonly returnsTo: string
  /**
   * What it sends beside that: to authorize, with a code, and with a refresh token. `{resource}` is the address of the API,
   * as its metadata tells it, and `{issuer}` that of the server.
   */
  readonly authorize?: Fields
  readonly redeem?: Fields
  readonly refresh?: Fields
  /** How it sends its secret, whatever it registered; `signed`: by an assertion with RS256. */
  readonly proves?: "basic" | "post" | "signed"
  /** At a server that has no keys and verifies no signatures. */
  readonly unsigned?: boolean
  /** On each of its requests to the token endpoint, and its registration. */
  readonly headers?: Fields
  readonly gets: string
}

const code = ["authorization_code", "refresh_token"]
const here: Fields = { resource: "{resource}" }
const native = { response_types: ["code"], token_endpoint_auth_method: "none", application_type: "native" }

const publicCode = { grant_types: code, response_types: ["code"], token_endpoint_auth_method: "none" }

/** It says by several names how it proves itself, of which servers know some. */
const chatGpt = {
  client_uri: "https://chatgpt.com/",
  client_name: "ChatGPT",
  logo_uri: "https://persistent.oaistatic.com/sonic/misc/openai-logo.png",
  grant_types: code,
  response_types: ["code"],
  token_endpoint_auth_method: "private_key_jwt",
  token_endpoint_auth_signing_alg: "RS256",
  jwks_uri: "https://chatgpt.com/oauth/jwks.json"
}

const chatGptForAll = {
  ...chatGpt,
  client_id: "https://chatgpt.com/oauth/client.json",
  redirect_uris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
  token_endpoint_auth_methods_supported: ["none", "private_key_jwt"]
}

const vsCode = {
  client_id: "https://vscode.dev/oauth/client-metadata.json",
  client_name: "Visual Studio Code",
  client_uri: "https://vscode.dev/product",
  logo_uri: "https://code.visualstudio.com/assets/branding/code-stable.png",
  redirect_uris: ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
  ...publicCode,
  grant_types: [...code, "urn:ietf:params:oauth:grant-type:device_code"],
  application_type: "native"
}

const ownComputer = ["http://localhost/callback", "http://127.0.0.1/callback"]

const claudeCode = {
  client_id: "https://claude.ai/oauth/claude-code-client-metadata",
  client_name: "Claude Code",
  client_uri: "https://claude.ai",
  redirect_uris: ownComputer,
  ...publicCode
}

const codex = {
  client_name: "Codex",
  client_uri: "https://chatgpt.com/codex",
  ...publicCode,
  application_type: "native"
}

/** They register where a server takes no documents, as the rows below do. Cursor, Copilot and Gemini have none. */
const byDocument: ReadonlyArray<Program> = [
  {
    name: "Claude by its document, which lists a grant type that no document is given",
    document: {
      client_id: "https://claude.ai/oauth/mcp-oauth-client-metadata",
      client_name: "Claude",
      client_uri: "https://claude.ai",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
      ...publicCode,
      grant_types: [...code, "urn:ietf:params:oauth:grant-type:jwt-bearer"]
    },
    returnsTo: "https://claude.ai/api/mcp/auth_callback",
    authorize: { ...here, scope: " offline_access", prompt: "consent" },
    redeem: here,
    refresh: here,
    gets: "api"
  },
  {
    name: "Claude Code by its document, whose loopback addresses have no port",
    document: claudeCode,
    returnsTo: "http://localhost:8080/callback",
    authorize: { ...here, scope: "api profile" },
    redeem: here,
    refresh: here,
    headers: { "mcp-protocol-version": "2026-07-28" },
    gets: "api profile"
  },
  {
    name: "Claude Code by its document, on the other name of this computer",
    document: claudeCode,
    returnsTo: "http://127.0.0.1:52163/callback",
    authorize: here,
    redeem: here,
    gets: "api"
  },
  {
    name: "ChatGPT by its document, which signs",
    document: chatGptForAll,
    proves: "signed",
    returnsTo: "https://chatgpt.com/connector_platform_oauth_redirect",
    authorize: { ...here, scope: "api profile" },
    redeem: here,
    refresh: here,
    gets: "api profile"
  },
  {
    name: "ChatGPT by its document, at a server that reads no signatures",
    document: chatGptForAll,
    unsigned: true,
    returnsTo: "https://chatgpt.com/connector_platform_oauth_redirect",
    authorize: here,
    redeem: here,
    refresh: here,
    gets: "api"
  },
  {
    name: "ChatGPT by a document for one connector, which signs and nothing else",
    document: {
      ...chatGpt,
      client_id: "https://chatgpt.com/oauth/kDmjx77UnKOM/client.json",
      redirect_uris: ["https://chatgpt.com/connector/oauth/kDmjx77UnKOM"]
    },
    proves: "signed",
    returnsTo: "https://chatgpt.com/connector/oauth/kDmjx77UnKOM",
    authorize: here,
    redeem: here,
    refresh: here,
    gets: "api"
  },
  {
    name: "Codex by a document for one server, whose way back has the server's name",
    document: {
      ...codex,
      client_id: "https://chatgpt.com/oauth/codex/tZ8kQ2dVn0aB/client.json",
      redirect_uris: ["http://127.0.0.1/callback/tZ8kQ2dVn0aB"]
    },
    returnsTo: "http://127.0.0.1:37819/callback/tZ8kQ2dVn0aB",
    authorize: here,
    redeem: here,
    refresh: here,
    gets: "api"
  },
  {
    name: "Codex by its document for servers that say who they are",
    document: {
      ...codex,
      client_id: "https://chatgpt.com/oauth/codex/client.json",
      redirect_uris: [...ownComputer].reverse(),
      token_endpoint_auth_methods_supported: ["none"]
    },
    returnsTo: "http://127.0.0.1:57585/callback",
    authorize: { ...here, scope: "api" },
    redeem: here,
    refresh: here,
    gets: "api"
  },
  {
    name: "Visual Studio Code with Copilot by its document, on a port of the moment",
    document: vsCode,
    returnsTo: "http://127.0.0.1:59656/",
    authorize: { ...here, scope: "api profile", state: "gXVXo0/iMD8WMolDHKxSTg==" },
    redeem: here,
    refresh: here,
    headers: { accept: "application/json", "user-agent": "node" },
    gets: "api profile"
  },
  {
    name: "Visual Studio Code in a browser by its document",
    document: vsCode,
    returnsTo: "https://vscode.dev/redirect",
    authorize: {
      ...here,
      scope: "api",
      state: "vscode://dynamicauthprovider/auth.example.com/authorize?nonce=Zm9v&windowId=1#2"
    },
    redeem: here,
    gets: "api"
  },
  {
    name: "Zed by its document",
    document: {
      client_id: "https://zed.dev/oauth/client-metadata.json",
      client_name: "Zed",
      redirect_uris: ["http://127.0.0.1/callback"],
      ...publicCode
    },
    returnsTo: "http://127.0.0.1:40123/callback",
    authorize: here,
    redeem: here,
    gets: "api"
  },
  {
    name: "opencode by its document",
    document: {
      client_id: "https://opencode.ai/oauth/opencode/client.json",
      client_name: "opencode",
      client_uri: "https://opencode.ai",
      logo_uri: "https://opencode.ai/web-app-manifest-512x512.png",
      application_type: "native",
      redirect_uris: [...ownComputer].reverse(),
      ...publicCode,
      token_endpoint_auth_methods_supported: ["none"]
    },
    returnsTo: "http://127.0.0.1:19876/callback",
    authorize: here,
    redeem: here,
    refresh: here,
    gets: "api"
  }
]

export const programs: ReadonlyArray<Program> = [
  ...byDocument,
  {
    name: "Claude, whose scopes are those of the server's metadata",
    registers: {
      client_name: "Claude",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_post",
      scope: "api profile offline_access",
      software_id: "claude-ai",
      software_version: "1.0"
    },
    returnsTo: "https://claude.ai/api/mcp/auth_callback",
    authorize: { ...here, scope: "api profile offline_access", prompt: "consent" },
    redeem: here,
    refresh: here,
    gets: "api profile"
  },
  {
    name: "Claude, which asked for offline_access alone, with a space in front",
    registers: {
      client_name: "Claude",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "none"
    },
    returnsTo: "https://claude.ai/api/mcp/auth_callback",
    authorize: { ...here, scope: " offline_access", prompt: "consent" },
    redeem: here,
    gets: "api"
  },
  {
    name: "Claude, which sends a secret in the body where it was to send it by Basic",
    registers: {
      client_name: "Claude",
      redirect_uris: ["https://claude.ai/api/mcp/auth_callback"],
      grant_types: code,
      token_endpoint_auth_method: "client_secret_basic"
    },
    proves: "post",
    returnsTo: "https://claude.ai/api/mcp/auth_callback",
    authorize: { ...here, scope: "api" },
    redeem: here,
    refresh: here,
    gets: "api"
  },
  {
    name: "Claude Code, with a loopback address of the moment",
    registers: {
      client_name: "Claude Code (companies)",
      redirect_uris: ["http://localhost:3118/callback"],
      grant_types: code,
      ...native
    },
    returnsTo: "http://localhost:49152/callback",
    authorize: { ...here, scope: "api profile" },
    redeem: here,
    refresh: here,
    headers: { "mcp-protocol-version": "2025-11-25" },
    gets: "api profile"
  },
  {
    name: "Claude Code, which registers a loopback address without a port",
    registers: {
      client_name: "Claude Code",
      redirect_uris: ["http://localhost/callback"],
      grant_types: code,
      ...native
    },
    returnsTo: "http://localhost:54321/callback",
    authorize: here,
    redeem: here,
    refresh: { ...here, scope: "api" },
    gets: "api"
  },
  {
    name: "ChatGPT, a connector with an address of its own",
    registers: {
      client_name: "ChatGPT",
      redirect_uris: ["https://chatgpt.com/connector/oauth/Kd93hvnQ1Zx0"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "none"
    },
    returnsTo: "https://chatgpt.com/connector/oauth/Kd93hvnQ1Zx0",
    authorize: { ...here, scope: "api profile" },
    redeem: here,
    refresh: here,
    gets: "api profile"
  },
  {
    name: "ChatGPT, which takes what an OpenID provider would give",
    registers: {
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
    authorize: { ...here, scope: "openid api profile email offline_access", nonce: "n-0S6_WzA2Mj" },
    redeem: here,
    gets: "api profile"
  },
  {
    name: "Codex, with a path of the moment and no scope",
    registers: {
      client_name: "Codex",
      redirect_uris: ["http://127.0.0.1:37819/callback/tZ8kQ2"],
      grant_types: code,
      ...native
    },
    returnsTo: "http://127.0.0.1:37819/callback/tZ8kQ2",
    authorize: here,
    gets: "api"
  },
  {
    name: "Cursor, which registers three ways back at once",
    registers: {
      client_name: "Cursor",
      redirect_uris: [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "http://localhost:8787/callback"
      ],
      grant_types: code,
      ...native
    },
    returnsTo: "cursor://anysphere.cursor-mcp/oauth/callback",
    authorize: { ...here, scope: "api profile", state: "eyJpZCI6InVzZXItY29tcGFuaWVzIn0=" },
    redeem: here,
    refresh: here,
    gets: "api profile"
  },
  {
    name: "Visual Studio Code, which knows more grant types than we do",
    registers: {
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
    authorize: { ...here, scope: "api profile" },
    redeem: here,
    refresh: here,
    headers: { accept: "application/json", "user-agent": "node" },
    gets: "api profile"
  },
  {
    name: "Visual Studio Code in a browser, whose state is an address",
    registers: {
      client_name: "Visual Studio Code",
      grant_types: code,
      response_types: ["code"],
      redirect_uris: ["https://vscode.dev/redirect", "http://127.0.0.1:33418/"],
      token_endpoint_auth_method: "none"
    },
    returnsTo: "https://vscode.dev/redirect",
    authorize: {
      ...here,
      scope: "api",
      state: "vscode://dynamicauthprovider/auth.example.com/authorize?nonce=Zm9v&windowId=1#2"
    },
    redeem: here,
    gets: "api"
  },
  {
    name: "Copilot's command line",
    registers: {
      client_name: "GitHub Copilot CLI",
      redirect_uris: ["http://127.0.0.1:33418/", "http://localhost:33418/"],
      grant_types: code,
      ...native
    },
    returnsTo: "http://127.0.0.1:41007/",
    authorize: { ...here, scope: "api" },
    redeem: here,
    refresh: here,
    gets: "api"
  },
  {
    name: "Gemini CLI, whose registration has members that nobody knows",
    registers: {
      client_name: "Gemini CLI MCP Client",
      redirect_uris: ["http://localhost:7777/oauth/callback"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      code_challenge_method: ["S256"],
      scope: "api"
    },
    returnsTo: "http://localhost:7777/oauth/callback",
    authorize: { ...here, scope: "api" },
    redeem: here,
    refresh: { ...here, scope: "api" },
    gets: "api"
  },
  {
    name: "Cline, with a path of the moment",
    registers: {
      client_name: "Cline",
      redirect_uris: ["vscode://saoudrizwan.claude-dev/mcp-auth/callback/1f0c5d"],
      token_endpoint_auth_method: "none"
    },
    returnsTo: "vscode://saoudrizwan.claude-dev/mcp-auth/callback/1f0c5d",
    authorize: here,
    redeem: here,
    gets: "api"
  },
  {
    name: "MCP Inspector, which is a page of another origin",
    registers: {
      client_name: "MCP Inspector",
      client_uri: "https://github.com/modelcontextprotocol/inspector",
      redirect_uris: ["http://localhost:6274/oauth/callback"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      scope: ""
    },
    returnsTo: "http://localhost:6274/oauth/callback",
    authorize: { ...here, scope: "api profile" },
    redeem: here,
    refresh: here,
    headers: { origin: "http://localhost:6274", "mcp-protocol-version": "2025-11-25" },
    gets: "api profile"
  },
  {
    name: "n8n, which sends its secret by Basic and knows no resources",
    registers: {
      client_name: "n8n",
      redirect_uris: ["https://n8n.example/rest/oauth2-credential/callback"],
      grant_types: code,
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_basic"
    },
    returnsTo: "https://n8n.example/rest/oauth2-credential/callback",
    authorize: { scope: "api", access_type: "offline" },
    refresh: { scope: "api" },
    gets: "api"
  },
  {
    name: "one whose scopes at registration are all of other servers",
    registers: {
      client_name: "Elsewhere",
      redirect_uris: ["https://elsewhere.example/cb"],
      token_endpoint_auth_method: "none",
      scope: "openid email offline_access"
    },
    returnsTo: "https://elsewhere.example/cb",
    authorize: { resource: "{issuer}/", scope: "api offline_access" },
    redeem: { resource: "{issuer}" },
    gets: "api"
  },
  {
    name: "one that fills what it does not know with nothing",
    registers: {
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
    refresh: { scope: "" },
    gets: "api"
  },
  {
    name: "one with a name in several scripts",
    registers: { client_name: "Προσωπικός βοηθός 助手 🚀", redirect_uris: ["https://xn--yetx65m.example/cb"] },
    returnsTo: "https://xn--yetx65m.example/cb",
    gets: "api"
  },
  {
    name: "a native application with a reversed domain name",
    registers: {
      redirect_uris: ["com.example.notes:/oauth2redirect"],
      token_endpoint_auth_method: "none",
      application_type: "native"
    },
    returnsTo: "com.example.notes:/oauth2redirect",
    gets: "api"
  }
]
