import { sha256 } from "@noble/hashes/sha2.js"
import { Effect } from "effect"
import { base64Url } from "../../codec/Base64Url.ts"
import { readJws } from "../../codec/Jws.ts"
import { SignatureFault, type Signatures } from "../../ports/Signatures.ts"
import { type Algorithm, type PublicKey, thumbprint } from "../../rules/Jwk.ts"
import { digestOf } from "../../rules/Secret.ts"
import { signedUntil } from "../model/proof.ts"
import { resourceText } from "../model/resource.ts"
import type { World } from "../model/World.ts"
import type { AsserterName, Attest, KeyName, Ref, ShownKey, SignedAs } from "../script/Command.ts"
import type { JsonObject } from "./reading.ts"

const utf8 = new TextEncoder()

const keyOf = (name: string): PublicKey & { readonly kty: "OKP" } => ({
  kty: "OKP",
  crv: "Ed25519",
  x: base64Url(sha256(utf8.encode(`key ${name}`)))
})

const keys = { first: keyOf("first"), second: keyOf("second") } as const

export const jktOf = (name: KeyName): string => thumbprint(keys[name])

/** A digest stands for a signature: what is played is who holds a key, and no arithmetic. */
const signature = (x: string, text: string): string => digestOf(`${x} ${text}`)

/** What signs ID tokens, whatever the key. */
const signer = "the server"

const publicKeyFor = (algorithm: Algorithm): PublicKey =>
  algorithm === "ES256"
    ? { kty: "EC", crv: "P-256", x: keys.first.x, y: keys.second.x }
    : { kty: "RSA", n: base64Url(new Uint8Array(256).fill(255)), e: "AQAB" }

interface SignedByServer {
  readonly header: JsonObject
  readonly claims: JsonObject
}

export const signedText = (header: object, claims: object): string => {
  const text = `${part(header)}.${part(claims)}`
  return `${text}.${signature(signer, text)}`
}

/** What the server signed, an ID token or an access token; `null`: none of that, or forged. */
export const readSigned = (text: string | null): SignedByServer | null => {
  const read = text === null ? undefined : readJws(text)
  const end = text?.lastIndexOf(".") ?? 0
  const holds = text !== null && signature(signer, text.slice(0, end)) === text.slice(end + 1)
  return read === undefined || !holds ? null : { header: read.header, claims: read.claims }
}

const part = (value: object): string => base64Url(utf8.encode(JSON.stringify(value)))

/** What a proof is for (RFC 9449 §4.2). */
interface ProofOf {
  readonly step: Ref
  readonly method: string
  readonly address: string
  readonly now: number
  readonly token?: string
}

export const proofOf = (shown: ShownKey, { address, method, now, step, token }: ProofOf): string => {
  const key = keys[shown === "forged" ? "first" : shown]
  const claims = {
    jti: `proof of #${step}`,
    htm: method,
    htu: address,
    iat: now / 1000,
    ...(token === undefined ? {} : { ath: digestOf(token) })
  }
  const text = `${part({ typ: "dpop+jwt", alg: "EdDSA", jwk: key })}.${part(claims)}`
  return `${text}.${signature(shown === "forged" ? "nobody" : key.x, text)}`
}

export const issuerText = (name: AsserterName): string => `https://login.${name}.example`

/** The keys of an issuer, by the name that a script has for them. */
export const issuerKey = (issuer: AsserterName, name: KeyName): PublicKey & { readonly kty: "OKP" } =>
  keyOf(`${name} of ${issuer}`)

/** The key of a client that signs, by the name that a script has for it. */
export const clientKey = (client: Ref, name: KeyName): PublicKey & { readonly kty: "OKP" } =>
  keyOf(`${name} of client ${client}`)

/** What a client writes to prove itself (RFC 7523 §3); `forged`: no key of a client signed it. */
export const clientAssertion = (
  { audience, idOf, key, lives }: SignedAs,
  request: {
    readonly step: Ref
    readonly client: Ref
    readonly id: string
    readonly issuer: string
    readonly endpoint: string
    readonly now: number
    readonly isForged: boolean
  }
): string => {
  const { client, endpoint, id, isForged, issuer, now, step } = request
  const elsewhere = "https://elsewhere.example"
  const aud = { issuer, endpoint, elsewhere, several: [issuer, elsewhere] }[audience]
  const claims = { iss: id, sub: id, aud, jti: `shown by #${idOf ?? step}`, exp: signedUntil(now, { lives }) / 1000 }
  const text = `${part({ typ: "JWT", alg: "EdDSA" })}.${part(claims)}`
  return `${text}.${signature(isForged ? "nobody" : clientKey(client, key).x, text)}`
}

/** What an issuer writes about a person (RFC 7523 §3). */
export const assertionOf = (
  { audience, id, issuer, key, kind, lives, names, resource, scope, subject, workspace }: Attest,
  { client, now, world }: { readonly world: World; readonly client: string | undefined; readonly now: number }
): string => {
  const here = world.issuers[workspace]
  const elsewhere = "https://elsewhere.example"
  const aud = {
    here,
    elsewhere,
    "here and elsewhere": [here, elsewhere],
    "the token endpoint": `${here}/oauth/token`
  }[audience]
  const iat = Math.floor(now / 1000)
  const named = resourceText(resource, world, workspace)
  const claims = {
    iss: issuerText(issuer),
    sub: subject,
    aud,
    jti: `assertion of #${id}`,
    iat,
    exp: iat + lives,
    ...(names === null ? {} : { client_id: client }),
    ...(scope === null ? {} : { scope }),
    ...(named === null ? {} : { resource: named.split(" ") })
  }
  const typ = kind === "id-jag" ? "oauth-id-jag+jwt" : "JWT"
  const text = `${part({ typ, alg: "EdDSA" })}.${part(claims)}`
  return `${text}.${signature(issuerKey(issuer, key).x, text)}`
}

/** What scripts sign by themselves, and what the server signs in one. */
const ofScripts: ReadonlySet<unknown> = new Set(["dpop+jwt", "oauth-id-jag+jwt", "JWT", "at+jwt"])

/** Verifies the proofs of scripts, and signs ID tokens; all else is what the host's own adapter says, where it has one. */
export const scriptSignatures = (own: Signatures["Service"]): Signatures["Service"] => ({
  ...own,
  makeKey: (algorithm, wrappingOf) => {
    const publicKey = publicKeyFor(algorithm)
    wrappingOf(publicKey)
    return Effect.succeed({ publicKey, wrapped: "by a script" })
  },
  rewrap: ({ wrapped }) => Effect.succeed(wrapped),
  signer: (_key, algorithm) =>
    Effect.succeed((header, claims) => Effect.succeed(signedText({ ...header, alg: algorithm }, claims))),
  verify: (jws, candidates, allowed) => {
    const read = typeof jws === "string" ? readJws(jws) : jws
    if (read === undefined || !ofScripts.has(read.header.typ)) return own.verify(jws, candidates, allowed)
    const { claims, header, text } = read
    const end = text.lastIndexOf(".")
    const key = candidates.find(
      (one) => signature(one.kty === "OKP" ? one.x : signer, text.slice(0, end)) === text.slice(end + 1)
    )
    return key === undefined
      ? Effect.fail(new SignatureFault({ reason: "forged" }))
      : Effect.succeed({ header, claims, key })
  }
})
