import { createServer } from "node:http"
import OAuth2Server from "@node-oauth/oauth2-server"
import { obey, portOf, redirectUri } from "../servers/serving.ts"
import { client, codeChallenge, codesIn, onNode, plansOf, readForm, user, writeJson } from "./peer.ts"

/** Its model over Maps, as in its documentation; tokens are opaque by themselves. It has no introspection. */
const owner: OAuth2Server.Client = {
  id: client.id,
  grants: ["authorization_code", "refresh_token", "client_credentials"],
  redirectUris: [redirectUri]
}
const authCodes = new Map<string, OAuth2Server.AuthorizationCode>()
const byAccess = new Map<string, OAuth2Server.Token>()
const byRefresh = new Map<string, OAuth2Server.RefreshToken>()

const model: OAuth2Server.AuthorizationCodeModel &
  OAuth2Server.RefreshTokenModel &
  OAuth2Server.ClientCredentialsModel = {
  getClient: async (id, secret) => (id === client.id && secret === client.secret ? owner : null),
  getUserFromClient: async () => ({ id: client.id }),
  validateScope: async (_user, _client, scope) => scope ?? ["api"],
  saveToken: async (token, of, subject) => {
    const kept = { ...token, client: of, user: subject }
    byAccess.set(token.accessToken, kept)
    if (token.refreshToken !== undefined)
      byRefresh.set(token.refreshToken, { ...kept, refreshToken: token.refreshToken })
    return kept
  },
  getAccessToken: async (token) => byAccess.get(token) ?? null,
  getRefreshToken: async (token) => byRefresh.get(token) ?? null,
  revokeToken: async (token) => byRefresh.delete(token.refreshToken),
  getAuthorizationCode: async (code) => authCodes.get(code) ?? null,
  saveAuthorizationCode: async (code, of, subject) => {
    const kept = { ...code, client: of, user: subject }
    authCodes.set(code.authorizationCode, kept)
    return kept
  },
  revokeAuthorizationCode: async (code) => authCodes.delete(code.authorizationCode)
}

const server = new OAuth2Server({ model, accessTokenLifetime: 3600, alwaysIssueNewRefreshToken: true })

const held = codesIn(authCodes, [byAccess, byRefresh], (authorizationCode) => ({
  authorizationCode,
  expiresAt: new Date(Date.now() + 600_000),
  redirectUri,
  scope: ["api"],
  codeChallenge,
  codeChallengeMethod: "S256",
  client: owner,
  user
}))

interface Asked {
  readonly headers: Record<string, string>
  readonly method: string
  readonly query: Record<string, string>
  readonly body: Record<string, string>
}

const answer = async (asked: Asked) => {
  const response = new OAuth2Server.Response()
  try {
    await server.token(new OAuth2Server.Request(asked), response)
  } catch (error) {
    if (response.status === undefined || response.status === 200) response.status = 500
    response.body ??= { error: String(error) }
  }
  return response
}

/** The bearer check stands in for introspection, to show that a token is real. */
const isGood = async (token: string) => {
  const request = new OAuth2Server.Request({
    headers: { authorization: `Bearer ${token}` },
    method: "GET",
    query: {},
    body: {}
  })
  return server.authenticate(request, new OAuth2Server.Response()).then(
    () => true,
    () => false
  )
}

const startOnBun = (): number => {
  const listening = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: async (request) => {
      const body = Object.fromEntries(new URLSearchParams(await request.text()))
      if (request.url.endsWith("/introspect")) return Response.json({ active: await isGood(body.token ?? "") })
      const headers = Object.fromEntries(request.headers)
      const { body: said, headers: sent, status } = await answer({ headers, method: request.method, query: {}, body })
      return Response.json(said, { status: status ?? 200, headers: sent ?? {} })
    }
  })
  return listening.port ?? 0
}

const startOnNode = () =>
  portOf(
    createServer(async (request, response) => {
      const body = await readForm(request)
      if (request.url === "/introspect") {
        return writeJson(response, 200, {}, { active: await isGood(body.token ?? "") })
      }
      // Node joins what came twice, except for cookies, which nobody sends here.
      const headers = request.headers as Record<string, string>
      const said = await answer({ headers, method: request.method ?? "GET", query: {}, body })
      writeJson(response, said.status ?? 200, said.headers ?? {}, said.body)
    })
  )

const port = onNode ? await startOnNode() : startOnBun()
const plans = plansOf({ token: "/token", introspection: "/introspect" }, { ...held, scope: "api" })
await obey(port, ({ workload, count }) => plans(workload, count, `http://127.0.0.1:${port}`))
