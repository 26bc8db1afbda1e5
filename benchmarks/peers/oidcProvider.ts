import { generateKeyPairSync, randomBytes } from "node:crypto"
import { createServer } from "node:http"
import { exportJWK, generateKeyPair } from "jose"
import type { Adapter, AdapterPayload, Client } from "oidc-provider"
import Provider from "oidc-provider"
import { Pool } from "pg"
import type { Plan, Workload } from "../Plan.ts"
import { makeProvers, provenGet, provenPost, proverAt, pushedFields, states } from "../servers/prover.ts"
import { argument, obey, portOf, post, redirectUri, verifier } from "../servers/serving.ts"
import {
  assertionAlgorithms,
  assertionPlan,
  isAssertionWorkload,
  makeSigner,
  nonce,
  tokenAlgorithms
} from "../servers/signer.ts"
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

const inMemory = {
  adapter: MapAdapter,
  clear: async (): Promise<void> => {
    stored.clear()
    byGrant.clear()
  }
}

const table = `CREATE TABLE payloads (
  model text, id text, payload jsonb NOT NULL, grant_id text, expires_at timestamptz, consumed_at timestamptz,
  PRIMARY KEY (model, id))`

/** A table of payloads, as the adapter for PostgreSQL that its repository shows, without a query builder between. */
const inPostgres = async (url: string) => {
  const pool = new Pool({ connectionString: url })
  await pool.query(table)
  await pool.query("CREATE INDEX ON payloads (grant_id)")

  /** Named, so that each is prepared once. */
  const ask = (name: string, text: string, values: ReadonlyArray<unknown>) =>
    pool.query({ name, text, values: [...values] })

  class TableAdapter implements Adapter {
    private readonly model: string

    constructor(model: string) {
      this.model = model
    }

    async upsert(id: string, payload: AdapterPayload, expiresIn: number): Promise<void> {
      const text = `INSERT INTO payloads (model, id, payload, grant_id, expires_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (model, id) DO UPDATE SET payload = $3, grant_id = $4, expires_at = $5`
      const end = expiresIn ? new Date(Date.now() + expiresIn * 1000) : null
      await ask("upsert", text, [this.model, id, payload, payload.grantId ?? null, end])
    }

    async find(id: string): Promise<AdapterPayload | undefined> {
      const text = "SELECT payload, consumed_at FROM payloads WHERE model = $1 AND id = $2"
      const [row] = (await ask("find", text, [this.model, id])).rows
      if (row === undefined) return undefined
      return row.consumed_at === null ? row.payload : { ...row.payload, consumed: true }
    }

    async findByUserCode(): Promise<undefined> {}

    async findByUid(): Promise<undefined> {}

    async consume(id: string): Promise<void> {
      await ask("consume", "UPDATE payloads SET consumed_at = now() WHERE model = $1 AND id = $2", [this.model, id])
    }

    async destroy(id: string): Promise<void> {
      await ask("destroy", "DELETE FROM payloads WHERE model = $1 AND id = $2", [this.model, id])
    }

    async revokeByGrantId(grantId: string): Promise<void> {
      await ask("revoke", "DELETE FROM payloads WHERE grant_id = $1", [grantId])
    }
  }

  return {
    adapter: TableAdapter,
    clear: async (): Promise<void> => {
      await pool.query("TRUNCATE payloads")
    }
  }
}

const url = argument("postgres", "")
const { adapter, clear } = url === "" ? inMemory : await inPostgres(url)

const scope = "api"
const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" })

const issuer = "http://127.0.0.1:3000"

/** Only where they are compared: clients that sign, and tokens that others can read. */
const signs = argument("signatures", "off") === "on"
const signers = signs ? await Promise.all(Object.values(assertionAlgorithms).map(makeSigner)) : []
const signingKeys = signs ? await Promise.all(Object.values(tokenAlgorithms).map(signingKeyOf)) : []

/** Only where they are compared: tokens that are bound to a key. */
const proves = argument("proofs", "off") === "on"
const provers = proves ? await makeProvers() : []

async function signingKeyOf(algorithm: string) {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true })
  return { ...(await exportJWK(privateKey)), use: "sig", alg: algorithm }
}

/** Each algorithm of tokens has a resource that asks for it. */
const resourceOf = (algorithm: string) => `https://${algorithm.toLowerCase()}.example.org/`

const jwtFeatures = {
  resourceIndicators: {
    enabled: true,
    getResourceServerInfo: async (_ctx: unknown, resource: string) => {
      const alg = Object.values(tokenAlgorithms).find((one) => resourceOf(one) === resource)
      if (alg === undefined) throw new Error(`no such resource: ${resource}`)
      return { scope, accessTokenFormat: "jwt" as const, accessTokenTTL: 3600, jwt: { sign: { alg } } }
    }
  }
}

const scopes = signs ? [scope, "openid"] : [scope]

const provider = new Provider(issuer, {
  adapter,
  clients: [
    ...signers.map(({ algorithm, jwk }) => ({
      client_id: algorithm,
      jwks: { keys: [jwk as { kty: string }] },
      redirect_uris: [],
      grant_types: ["client_credentials"],
      response_types: [],
      token_endpoint_auth_method: "private_key_jwt" as const,
      token_endpoint_auth_signing_alg: algorithm,
      scope
    })),
    {
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_post",
      id_token_signed_response_alg: signs ? "ES256" : "RS256",
      scope: scopes.join(" ")
    }
  ],
  scopes,
  cookies: { keys: [randomBytes(32).toString("hex")] },
  jwks: { keys: [{ ...key, use: "sig", alg: "RS256" }, ...signingKeys] },
  ...(signs ? { enabledJWA: { clientAuthSigningAlgValues: ["ES256", "EdDSA", "PS256"] } } : {}),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: async () => true },
    ...(proves ? { dPoP: { enabled: true }, pushedAuthorizationRequests: { enabled: true } } : {}),
    ...(signs ? jwtFeatures : {})
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

/** What somebody approved, so many times; a key of its own for each, where there is one. */
const approvedFor = async <A>(
  count: number,
  of: string,
  make: (
    approved: {
      readonly accountId: string
      readonly client: Client
      readonly grantId: string
      readonly scope: string
      readonly gty: string
    },
    n: number
  ) => Promise<A>
): Promise<ReadonlyArray<A>> => {
  const owner = await provider.Client.find(client.id)
  if (owner === undefined) throw new Error("the client is not there")
  const made: Array<A> = []
  for (let n = 0; n < count; n++) {
    const grant = new provider.Grant({ accountId: user.id, clientId: client.id })
    grant.addOIDCScope(of)
    const grantId = await grant.save()
    made.push(await make({ accountId: user.id, client: owner, grantId, scope: of, gty: "authorization_code" }, n))
  }
  return made
}

const codes = (count: number) =>
  approvedFor(count, scope, (approved, n) => {
    const bound = proves ? { dpopJkt: proverAt(provers, n).thumbprint } : {}
    const asked = { redirectUri, codeChallenge, codeChallengeMethod: "S256", ...bound }
    return new provider.AuthorizationCode({ ...approved, ...asked }).save()
  })

/** Of people who sign in. */
const identityCodes = (count: number) =>
  approvedFor(count, scopes.join(" "), (approved) =>
    new provider.AuthorizationCode({
      ...approved,
      redirectUri,
      codeChallenge,
      codeChallengeMethod: "S256",
      nonce
    }).save()
  )

const refreshTokens = (count: number) =>
  approvedFor(count, scope, (approved) => new provider.RefreshToken({ ...approved, rotations: 0 }).save())

/** Its protected resource is its own: userinfo. */
const openTokens = (count: number) =>
  approvedFor(count, "openid", (approved, n) =>
    new provider.AccessToken({ ...approved, jkt: proverAt(provers, n).thumbprint, tokenType: "DPoP" }).save()
  )

const port = await portOf(createServer(provider.callback()))
const plans = plansOf({ token: "/token", introspection: "/token/introspection" }, { codes, clear, scope })
const credentials = { client_id: client.id, client_secret: client.secret }

const provenPlan = async (workload: Workload, count: number): Promise<Plan> => {
  await clear()
  const proving = { provers, origin: `http://127.0.0.1:${port}`, count }
  switch (workload) {
    case "dpop_push": {
      const form = { ...pushedFields, ...credentials }
      return { ...(await provenPost({ ...proving, path: "/request" }, form, states(count))), expect: 201 }
    }
    case "dpop_code": {
      const fields = { redirect_uri: redirectUri, code_verifier: verifier, ...credentials }
      const form = { grant_type: "authorization_code", code: "{value}", ...fields }
      return provenPost({ ...proving, path: "/token" }, form, await codes(count))
    }
    case "dpop_refresh": {
      const form = { grant_type: "refresh_token", refresh_token: "{value}", ...credentials }
      return provenPost({ ...proving, path: "/token" }, form, await refreshTokens(count))
    }
    default:
      return provenGet({ ...proving, path: "/me" }, await openTokens(count))
  }
}

const identityPlan = async (count: number): Promise<Plan> => {
  await clear()
  const fields = { redirect_uri: redirectUri, code_verifier: verifier, ...credentials }
  const form = { grant_type: "authorization_code", code: "{value}", ...fields }
  return post("/token", form, "once", await identityCodes(count))
}

await obey(port, ({ workload, count }) => {
  if (proves) return provenPlan(workload, count)
  if (workload === "id_token") return identityPlan(count)
  if (isAssertionWorkload(workload)) {
    const signer = signers.find(({ algorithm }) => algorithm === assertionAlgorithms[workload])
    if (signer === undefined) throw new Error(`nobody signs for ${workload}`)
    return assertionPlan(signer, signer.algorithm, issuer, count, "/token")
  }
  if (workload === "jwt_es256" || workload === "jwt_eddsa") {
    return post("/token", {
      grant_type: "client_credentials",
      scope,
      resource: resourceOf(tokenAlgorithms[workload]),
      client_id: client.id,
      client_secret: client.secret
    })
  }
  return plans(workload, count, `http://127.0.0.1:${port}`)
})
