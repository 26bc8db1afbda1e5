import { randomBytes } from "node:crypto"
import { createServer } from "node:http"
import {
  AuthorizationServer,
  DateInterval,
  isOAuthError,
  type OAuthAuthCode,
  type OAuthClient,
  OAuthRequest,
  type OAuthScope,
  type OAuthToken
} from "@jmondi/oauth2-server"
import { requestFromVanilla, responseToVanilla } from "@jmondi/oauth2-server/vanilla"
import { obey, portOf, redirectUri } from "../servers/serving.ts"
import { client, codeChallenge, codesIn, onNode, plansOf, readForm, user, writeJson } from "./peer.ts"

/** Repositories over Maps, as in the example of its documentation, and opaque tokens where it has them. */
const scopes: ReadonlyMap<string, OAuthScope> = new Map([["api", { name: "api" }]])
const clients: ReadonlyMap<string, OAuthClient> = new Map([
  [
    client.id,
    {
      id: client.id,
      name: "Benchmark",
      secret: client.secret,
      redirectUris: [redirectUri],
      allowedGrants: ["authorization_code", "refresh_token", "client_credentials"],
      scopes: [...scopes.values()]
    }
  ]
])
const authCodes = new Map<string, OAuthAuthCode>()
const byAccess = new Map<string, OAuthToken>()
const byRefresh = new Map<string, OAuthToken>()

const opaque = () => randomBytes(32).toString("base64url")

const found = <A>(value: A | undefined): A => {
  if (value === undefined) throw new Error("not found")
  return value
}

const server = new AuthorizationServer(
  {
    getByIdentifier: async (id) => found(clients.get(id)),
    isClientValid: async (grantType, owner, secret) =>
      owner.secret === secret && owner.allowedGrants.includes(grantType)
  },
  {
    issueToken: async (owner, granted, subject) => ({
      accessToken: opaque(),
      accessTokenExpiresAt: new DateInterval("1h").getEndDate(),
      client: owner,
      user: subject ?? null,
      scopes: granted
    }),
    issueRefreshToken: async (token) => {
      token.refreshToken = opaque()
      token.refreshTokenExpiresAt = new DateInterval("30d").getEndDate()
      byRefresh.set(token.refreshToken, token)
      return token
    },
    persist: async (token) => {
      byAccess.set(token.accessToken, token)
    },
    revoke: async (token) => {
      token.accessTokenExpiresAt = new Date(0)
      token.refreshTokenExpiresAt = new Date(0)
    },
    isRefreshTokenRevoked: async (token) => Date.now() > (token.refreshTokenExpiresAt?.getTime() ?? 0),
    getByRefreshToken: async (token) => found(byRefresh.get(token)),
    getByAccessToken: async (token) => found(byAccess.get(token))
  },
  {
    getAllByIdentifiers: async (names) => names.flatMap((name) => scopes.get(name) ?? []),
    finalize: async (asked) => asked
  },
  opaque(),
  {
    requiresPKCE: true,
    useOpaqueAuthorizationCodes: true,
    useOpaqueRefreshTokens: true,
    authenticateIntrospect: true
  }
)

server.enableGrantTypes(
  ["client_credentials", new DateInterval("1h")],
  ["refresh_token", new DateInterval("30d")],
  [
    {
      grant: "authorization_code",
      authCodeRepository: {
        getByIdentifier: async (code) => found(authCodes.get(code)),
        issueAuthCode: (owner, subject, granted) => ({
          code: opaque(),
          redirectUri: null,
          codeChallenge: null,
          codeChallengeMethod: "S256",
          expiresAt: new DateInterval("15m").getEndDate(),
          client: owner,
          scopes: granted,
          ...(subject === undefined ? {} : { user: subject })
        }),
        persist: async (code) => {
          authCodes.set(code.code, code)
        },
        isRevoked: async (code) => Date.now() > found(authCodes.get(code)).expiresAt.getTime(),
        revoke: async (code) => {
          found(authCodes.get(code)).expiresAt = new Date(0)
        }
      },
      userRepository: { getUserByCredentials: async (id) => ({ id }) }
    },
    new DateInterval("1h")
  ]
)

const held = codesIn(
  authCodes,
  [byAccess, byRefresh],
  (code): OAuthAuthCode => ({
    code,
    redirectUri,
    codeChallenge,
    codeChallengeMethod: "S256",
    expiresAt: new DateInterval("15m").getEndDate(),
    user,
    client: found(clients.get(client.id)),
    scopes: [...scopes.values()]
  })
)

const statusOf = (error: unknown) => (isOAuthError(error) ? 400 : 500)
const messageOf = (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) })

const startOnBun = (): number => {
  const listening = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: async (request) => {
      try {
        const asked = await requestFromVanilla(request)
        return responseToVanilla(
          request.url.endsWith("/token")
            ? await server.respondToAccessTokenRequest(asked)
            : await server.introspect(asked)
        )
      } catch (error) {
        return Response.json(messageOf(error), { status: statusOf(error) })
      }
    }
  })
  return found(listening.port)
}

const startOnNode = () =>
  portOf(
    createServer(async (request, response) => {
      try {
        const body = await readForm(request)
        const asked = new OAuthRequest({ headers: { ...request.headers }, query: {}, body })
        const answer =
          request.url === "/token" ? await server.respondToAccessTokenRequest(asked) : await server.introspect(asked)
        writeJson(response, answer.status, answer.headers, answer.body)
      } catch (error) {
        writeJson(response, statusOf(error), {}, messageOf(error))
      }
    })
  )

const port = onNode ? await startOnNode() : startOnBun()
const plans = plansOf({ token: "/token", introspection: "/introspect" }, { ...held, scope: "api" })
await obey(port, ({ workload, count }) => plans(workload, count, `http://127.0.0.1:${port}`))
