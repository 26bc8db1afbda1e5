import { randomBytes } from "node:crypto"
import { CompactSign, type CryptoKey, compactVerify, generateKeyPair, jwtVerify } from "jose"
import type { Order, Plan } from "../../Plan.ts"
import { obey, post, redirectUri, verifier } from "../serving.ts"
import {
  assertionAlgorithms,
  assertionPlan,
  isAssertionWorkload,
  issuer,
  jwtPlan,
  makeSigner,
  nonce,
  type Signer,
  tokenAlgorithms
} from "../signer.ts"
import { clientId, credentials, data, grant, headers, hour, isClient, markOf, month } from "./answers.ts"
import { audit, isAllowed } from "./duty.ts"
import { kinds, open, seal, sha256Of } from "./Seal.ts"

/** What a floor does that knows signatures: one call of `jose` for each request, and what no server can leave out. */

const utf8 = new TextEncoder()
const utf8Reader = new TextDecoder()
const refused = JSON.stringify({ error: "invalid_client" })

const signers = new Map<string, Signer>()
for (const algorithm of Object.values(assertionAlgorithms)) signers.set(algorithm, await makeSigner(algorithm))
const used = new Set<string>()

interface Claims {
  readonly sub: string
  readonly aud: string
  readonly exp: number
  readonly jti: string
}

// What its own plan signed.
const readClaims = (bytes: Uint8Array) => JSON.parse(utf8Reader.decode(bytes)) as Claims

const isSigned = async (assertion: string, algorithm: string): Promise<boolean> => {
  const signer = signers.get(algorithm)
  if (signer === undefined) return false
  const { payload } = await compactVerify(assertion, signer.verify, { algorithms: [algorithm] })
  const { aud, exp, jti, sub } = readClaims(payload)
  if (sub !== clientId || aud !== issuer || exp * 1000 < Date.now() || used.has(jti)) return false
  used.add(jti)
  return isAllowed(clientId)
}

const answered = (access: string): string => {
  const text = JSON.stringify({ access_token: access, token_type: "Bearer", expires_in: 3600, scope: "api" })
  audit("client_credentials", clientId, markOf(grant))
  return text
}

const sealed = (): string => seal(kinds.access, grant, 0, Date.now() + hour, "api")

const algorithmOf = (assertion: string): string => {
  const header = Buffer.from(assertion.slice(0, assertion.indexOf(".")), "base64url")
  return String((JSON.parse(header.toString()) as { readonly alg: unknown }).alg)
}

const byAssertion = async (body: string): Promise<string> => {
  const assertion = new URLSearchParams(body).get("client_assertion") ?? ""
  return (await isSigned(assertion, algorithmOf(assertion))) ? answered(sealed()) : refused
}

const pairs = new Map<string, { readonly sign: CryptoKey; readonly verify: CryptoKey }>()
for (const algorithm of Object.values(tokenAlgorithms)) {
  const { privateKey, publicKey } = await generateKeyPair(algorithm)
  pairs.set(algorithm, { sign: privateKey, verify: publicKey })
}

const keysOf = (algorithm: string) => {
  const pair = pairs.get(algorithm)
  if (pair === undefined) throw new Error(`no key for ${algorithm}`)
  return pair
}

/** The same claims as Tessera's, its reference to the grant among them. */
const signed = (alg: string): Promise<string> => {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: issuer,
    sub: clientId,
    aud: issuer,
    client_id: clientId,
    exp: now + 3600,
    iat: now,
    jti: randomBytes(8).toString("hex"),
    scope: "api",
    principal: "Workspace",
    grant: markOf(grant),
    ref: sealed()
  }
  return new CompactSign(utf8.encode(JSON.stringify(claims)))
    .setProtectedHeader({ typ: "at+jwt", kid: alg, alg })
    .sign(keysOf(alg).sign)
}

const asJwt = async (body: string, algorithm: string): Promise<string> =>
  isClient(new URLSearchParams(body)) ? answered(await signed(algorithm)) : refused

/** What signs a person in, beside the tokens: the claims of Tessera's. */
const identified = async (body: string): Promise<string> => {
  const form = new URLSearchParams(body)
  const opened = isClient(form) ? open(form.get("code") ?? "") : undefined
  if (opened === undefined) return refused
  const access = seal(kinds.access, opened.grant, 0, Date.now() + hour)
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: issuer,
    sub: "user-1",
    aud: clientId,
    exp: now + 3600,
    iat: now,
    nonce,
    at_hash: Buffer.from(sha256Of(access).subarray(0, 16)).toString("base64url")
  }
  const idToken = await new CompactSign(utf8.encode(JSON.stringify(claims)))
    .setProtectedHeader({ kid: "ES256", alg: "ES256" })
    .sign(keysOf("ES256").sign)
  const text = JSON.stringify({
    access_token: access,
    token_type: "Bearer",
    expires_in: 3600,
    refresh_token: seal(kinds.refresh, opened.grant, 1, Date.now() + month),
    scope: "api openid",
    id_token: idToken
  })
  audit("authorization_code", clientId, markOf(opened.grant))
  return text
}

const guarded = async (authorization: string | null): Promise<string> => {
  const token = authorization?.slice("Bearer ".length) ?? ""
  await jwtVerify(token, keysOf("ES256").verify, { issuer, audience: issuer, typ: "at+jwt", algorithms: ["ES256"] })
  return data()
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  fetch: async (request) => {
    const { url } = request
    const path = url.slice(url.indexOf("/", 8))
    switch (path) {
      case "/oauth/token":
        return new Response(await byAssertion(await request.text()), { headers })
      case "/identify":
        return new Response(await identified(await request.text()), { headers })
      case "/orders":
        return new Response(await guarded(request.headers.get("authorization")), { headers })
      default:
        return new Response(await asJwt(await request.text(), path.slice(1)), { headers })
    }
  }
})

const plan = async ({ count, workload }: Order): Promise<Plan> => {
  if (isAssertionWorkload(workload)) {
    const signer = signers.get(assertionAlgorithms[workload])
    if (signer === undefined) throw new Error(`nobody signs for ${workload}`)
    return assertionPlan(signer, clientId, issuer, count)
  }
  switch (workload) {
    case "jwt_es256":
    case "jwt_eddsa":
      return post(`/${tokenAlgorithms[workload]}`, { grant_type: "client_credentials", ...credentials })
    case "id_token": {
      const fields = { redirect_uri: redirectUri, code_verifier: verifier, ...credentials }
      const codes = Array.from({ length: count }, () => seal(kinds.code, randomBytes(16), 1, Date.now() + hour))
      return post("/identify", { grant_type: "authorization_code", code: "{value}", ...fields }, "once", codes)
    }
    case "jwt_guard":
      return jwtPlan(keysOf("ES256").sign, count)
    default:
      throw new Error(`the signatures floor has no ${workload}`)
  }
}

await obey(server.port ?? 0, plan)
