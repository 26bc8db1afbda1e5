import { createHash } from "node:crypto"
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import type { Plan } from "../Plan.ts"
import { get, post, redirectUri, verifier } from "./serving.ts"

/** Who holds a key and proves it (RFC 9449), before anybody knows it. */
export interface Prover {
  readonly sign: CryptoKey
  readonly jwk: JWK
  readonly thumbprint: string
}

const makeProver = async (): Promise<Prover> => {
  const { privateKey, publicKey } = await generateKeyPair("ES256")
  const jwk = await exportJWK(publicKey)
  return { sign: privateKey, jwk, thumbprint: await calculateJwkThumbprint(jwk) }
}

/** As many installations of an application, each with a key of its own, that ask in turn. */
export const makeProvers = (): Promise<ReadonlyArray<Prover>> => Promise.all(Array.from({ length: 16 }, makeProver))

/** Whose turn it is. */
export const proverAt = (provers: ReadonlyArray<Prover>, n: number): Prover => {
  const prover = provers[n % provers.length]
  if (prover === undefined) throw new Error("nobody holds a key")
  return prover
}

/** A fresh proof of each key in turn, for a request to this address; with the tokens, if any, that they stand beside. */
const proofsFor = (
  provers: ReadonlyArray<Prover>,
  method: "GET" | "POST",
  address: string,
  count: number,
  tokens: ReadonlyArray<string> = []
): Promise<ReadonlyArray<string>> =>
  Promise.all(
    Array.from({ length: count }, (_, n) => {
      const { jwk, sign } = proverAt(provers, n)
      const token = tokens[n]
      const ath = token === undefined ? {} : { ath: createHash("sha256").update(token).digest("base64url") }
      return new SignJWT({ htm: method, htu: address, jti: crypto.randomUUID(), ...ath })
        .setProtectedHeader({ alg: "ES256", typ: "dpop+jwt", jwk })
        .setIssuedAt()
        .sign(sign)
    })
  )

/** What a plan of these workloads is for. */
export interface Proving {
  readonly provers: ReadonlyArray<Prover>
  /** The address as whoever made the proof knows it. */
  readonly origin: string
  readonly path: string
  readonly count: number
}

/** A form, each with another value and a proof that is good once. */
export const provenPost = async (
  { count, origin, path, provers }: Proving,
  fields: Readonly<Record<string, string>>,
  values: ReadonlyArray<string>
): Promise<Plan> => {
  const made = post(path, fields, "once", values)
  const proofs = await proofsFor(provers, "POST", origin + path, count)
  return { ...made, headers: { ...made.headers, dpop: "{proof}" }, proofs }
}

/** What is pushed, beside what the client shows of itself. */
export const pushedFields = {
  response_type: "code",
  redirect_uri: redirectUri,
  scope: "api",
  state: "{value}",
  code_challenge: createHash("sha256").update(verifier).digest("base64url"),
  code_challenge_method: "S256"
}

/** Calls of a protected resource, each with a token of the key that proves it. */
export const provenGet = async (
  { count, origin, path, provers }: Proving,
  tokens: ReadonlyArray<string>
): Promise<Plan> => ({
  ...get(path),
  headers: { authorization: "DPoP {value}", dpop: "{proof}" },
  use: "once",
  values: tokens,
  proofs: await proofsFor(provers, "GET", origin + path, count, tokens)
})

/** Words that differ, where nothing else does. */
export const states = (count: number): ReadonlyArray<string> => Array.from({ length: count }, () => crypto.randomUUID())
