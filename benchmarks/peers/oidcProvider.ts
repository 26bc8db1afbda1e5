import { generateKeyPairSync, randomBytes } from "node:crypto"
import { createServer } from "node:http"
import Provider, { type Adapter, type AdapterPayload } from "oidc-provider"
import { redirectUri } from "../servers/forms.ts"
import { obey } from "../servers/obey.ts"
import { portOf } from "../servers/portOf.ts"
import { client, codeChallenge, plansOf, user } from "./peer.ts"

/**
 * The package's own adapter in memory forgets all but a thousand entries, so this is the example of its documentation
 * over a plain Map, which is less work.
 */
const stored = new Map<string, AdapterPayload>()
const byGrant = new Map<string, Set<string>>()

class MapAdapter implements Adapter {
  private readonly model: string

  constructor(model: string) {
    this.model = model
  }

  private key(id: string): string {
    return `${this.model}:${id}`
  }

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    const key = this.key(id)
    stored.set(key, payload)
    if (payload.grantId === undefined) return
    const members = byGrant.get(payload.grantId)
    if (members === undefined) byGrant.set(payload.grantId, new Set([key]))
    else members.add(key)
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return stored.get(this.key(id))
  }

  async findByUserCode(): Promise<undefined> {}

  async findByUid(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    const payload = stored.get(this.key(id))
    if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000)
  }

  async destroy(id: string): Promise<void> {
    stored.delete(this.key(id))
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const key of byGrant.get(grantId) ?? []) stored.delete(key)
    byGrant.delete(grantId)
  }
}

const scope = "api"
const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" })

const provider = new Provider("http://127.0.0.1:3000", {
  adapter: MapAdapter,
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

const clear = async () => {
  stored.clear()
  byGrant.clear()
}

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
