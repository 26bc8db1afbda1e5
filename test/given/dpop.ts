import { Effect } from "effect"
import { CompactSign, type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from "jose"
import { digestOf } from "../../core/rules/Secret.ts"
import { codeFor, form, formHeaders, registerClient, type TestClient, tokensOf, type Values, verifier } from "./flow.ts"
import { t0, type World } from "./World.ts"

/** A client that holds a key, and signs proofs with it (RFC 9449 §4.2). */
export interface Holder {
  readonly alg: string
  readonly sign: CryptoKey
  readonly jwk: JWK
  readonly secret: JWK
  readonly jkt: string
}

export const holderOf = async (alg: string): Promise<Holder> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(publicKey)
  return { alg, sign: privateKey, jwk, secret: await exportJWK(privateKey), jkt: await calculateJwkThumbprint(jwk) }
}

const utf8 = new TextEncoder()
let drawn = 0

/** What a proof says beside what is right of it; `undefined` leaves a member out. */
export interface Odd {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: Readonly<Record<string, unknown>>
}

const withoutUndefined = (members: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))

export const tokenAddress = "https://auth.example.com/oauth/token"
export const companiesAddress = "https://auth.example.com/rest/companies"

/** The claims of a good proof for this request. */
export const proofClaims = (method: string, address: string, token?: string): Readonly<Record<string, unknown>> => {
  drawn += 1
  return {
    htm: method,
    htu: address,
    jti: `proof-${drawn}`,
    iat: t0 / 1000,
    ...(token === undefined ? {} : { ath: digestOf(token) })
  }
}

export const signedProof = (holder: Holder, claims: object, header: Readonly<Record<string, unknown>> = {}) => {
  const protectedHeader = withoutUndefined({ typ: "dpop+jwt", alg: holder.alg, jwk: holder.jwk, ...header })
  return Effect.promise(() =>
    new CompactSign(utf8.encode(JSON.stringify(claims)))
      .setProtectedHeader({ alg: holder.alg, ...protectedHeader })
      .sign(holder.sign)
  )
}

/** A proof that is good, or as odd as it is said to be. */
export const proofFor = (holder: Holder, method: string, address: string, token?: string, odd: Odd = {}) =>
  signedProof(holder, withoutUndefined({ ...proofClaims(method, address, token), ...odd.claims }), odd.header)

export const tokenProof = (holder: Holder, odd: Odd = {}) => proofFor(holder, "POST", tokenAddress, undefined, odd)

type Server = Pick<World, "send">

/** A client whose only proof is the one of its key. */
export const publicClient = (server: Server, metadata: object = {}) =>
  registerClient(server, { token_endpoint_auth_method: "none", ...metadata })

/** A request to the token endpoint, with this proof or none. */
export const askWith = (server: Server, fields: Values, proof?: string) =>
  server.send("POST", "/oauth/token", {
    headers: { ...formHeaders, ...(proof === undefined ? {} : { dpop: proof }) },
    body: form(fields)
  })

export const redeemWith = (server: Server, { id, redirectUri, secret }: TestClient, code: string, proof?: string) => {
  const shown = { client_id: id, client_secret: secret, code, redirect_uri: redirectUri, code_verifier: verifier }
  return askWith(server, { grant_type: "authorization_code", ...shown }, proof)
}

export const refreshWith = (server: Server, { id, secret }: TestClient, token: string, proof?: string) =>
  askWith(server, { grant_type: "refresh_token", client_id: id, client_secret: secret, refresh_token: token }, proof)

/** Tokens of a code, bound to the holder's key. */
export const signInWith = Effect.fnUntraced(function* (
  world: World,
  client: TestClient,
  holder: Holder,
  fields: Values = {}
) {
  return tokensOf(yield* redeemWith(world, client, yield* codeFor(world, client, fields), yield* tokenProof(holder)))
})
