import { generateKeyPairSync, randomBytes } from "node:crypto"
import { createServer } from "node:http"
import Provider from "oidc-provider"
import { argument } from "../servers/Argument.ts"
import { redirectUri } from "../servers/forms.ts"
import { obey } from "../servers/obey.ts"
import { portOf } from "../servers/portOf.ts"
import { client, codeChallenge, plansOf, user } from "./peer.ts"

const url = argument("postgres", "")
const { adapter, clear } =
  url === ""
    ? (await import("./oidcInMemory.ts")).inMemory
    : await (await import("./oidcInPostgres.ts")).inPostgres(url)

const scope = "api"
const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" })

const provider = new Provider("http://127.0.0.1:3000", {
  adapter,
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_post",
      scope
    }
  ],
  scopes: [scope],
  cookies: { keys: [randomBytes(32).toString("hex")] },
  jwks: { keys: [{ ...key, use: "sig", alg: "RS256" }] },
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: async () => true }
  },
  findAccount: async (_ctx, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 600,
    ClientCredentials: 3600,
    Grant: 2_592_000,
    RefreshToken: 2_592_000
  }
})

const codes = async (count: number) => {
  const owner = await provider.Client.find(client.id)
  if (owner === undefined) throw new Error("the client is not there")
  const made: Array<string> = []
  for (let i = 0; i < count; i++) {
    const grant = new provider.Grant({ accountId: user.id, clientId: client.id })
    grant.addOIDCScope(scope)
    const grantId = await grant.save()
    const code = new provider.AuthorizationCode({
      accountId: user.id,
      client: owner,
      grantId,
      redirectUri,
      scope,
      codeChallenge,
      codeChallengeMethod: "S256",
      gty: "authorization_code"
    })
    made.push(await code.save())
  }
  return made
}

const port = await portOf(createServer(provider.callback()))
const plans = plansOf({ token: "/token", introspection: "/token/introspection" }, { codes, clear, scope })
await obey(port, ({ workload, count }) => plans(workload, count, `http://127.0.0.1:${port}`))
