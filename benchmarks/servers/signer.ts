import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import type { Plan } from "../Plan.ts"
import { getWithBearer, post } from "./serving.ts"

export const issuer = "http://127.0.0.1:3000"

/** The workloads of clients that sign, by what they sign with. */
export const assertionAlgorithms = {
  assertion_es256: "ES256",
  assertion_eddsa: "EdDSA",
  assertion_ps256: "PS256"
} as const
export type AssertionWorkload = keyof typeof assertionAlgorithms
export type AssertionAlgorithm = (typeof assertionAlgorithms)[AssertionWorkload]

export const isAssertionWorkload = (workload: string): workload is AssertionWorkload =>
  Object.hasOwn(assertionAlgorithms, workload)

/** A client that signs, before anybody knows it. */
export interface Signer {
  readonly algorithm: AssertionAlgorithm
  readonly sign: CryptoKey
  readonly verify: CryptoKey
  readonly jwk: JWK
}

export const makeSigner = async (algorithm: AssertionAlgorithm): Promise<Signer> => {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid: algorithm, alg: algorithm, use: "sig" }
  return { algorithm, sign: privateKey, verify: publicKey, jwk }
}

/** Before they are too old, the last of them has been used. */
const life = 240

/** Client credentials of a client that signs: each assertion is good once. */
export const assertionPlan = async (
  { algorithm, sign }: Signer,
  client: string,
  audience: string,
  count: number,
  path = "/oauth/token"
): Promise<Plan> => {
  const assertions = Array.from({ length: count }, () =>
    new SignJWT({ iss: client, sub: client, aud: audience, jti: crypto.randomUUID() })
      .setProtectedHeader({ alg: algorithm, kid: algorithm })
      .setIssuedAt()
      .setExpirationTime(Math.floor(Date.now() / 1000) + life)
      .sign(sign)
  )
  const fields = {
    grant_type: "client_credentials",
    scope: "api",
    client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    client_assertion: "{value}"
  }
  return post(path, fields, "once", await Promise.all(assertions))
}

/** Of whoever signs in. */
export const nonce = "n-0S6_WzA2MjR9wKQpX4"

/** The workloads of tokens that others can read. */
export const tokenAlgorithms = { jwt_es256: "ES256", jwt_eddsa: "EdDSA" } as const

/** Calls of a resource server, each with a JWT that it has not seen: what it remembers is not what is compared. */
export const jwtPlan = async (sign: CryptoKey, count: number): Promise<Plan> => {
  const tokens = Array.from({ length: count }, () =>
    new SignJWT({
      iss: issuer,
      sub: "user-1",
      aud: issuer,
      client_id: "benchmark",
      jti: crypto.randomUUID(),
      scope: "api",
      principal: "User",
      grant: "AAAAAAAA"
    })
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: "ES256" })
      .setIssuedAt()
      .setExpirationTime("1 hour")
      .sign(sign)
  )
  return { ...getWithBearer("/orders", await Promise.all(tokens)), use: "once" }
}
