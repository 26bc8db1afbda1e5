import { sha512 } from "@noble/hashes/sha2.js"
import type { ClientIdentifier } from "../client/ClientIdentifier.ts"
import { base64Url } from "../codec/Base64Url.ts"
import type { Members } from "../codec/Json.ts"
import type { ClientId, UserId } from "../rules/Id.ts"
import { type Instant, later, type Millis, secondsOf } from "../rules/Instant.ts"
import type { Algorithm } from "../rules/Jwk.ts"
import { hashOf } from "../rules/Secret.ts"
import type { Issuer } from "../workspace/Workspace.ts"
import type { Authentication } from "./Authentication.ts"

/** Whom an ID token names, and what its application asked to be told of the sign-in. */
export interface Identity {
  readonly user: UserId
  readonly client: ClientId
  readonly authentication: Authentication
}

/** An access token is `at+jwt`, a logout token `logout+jwt`: neither is ever taken for this. */
export const idTokenType = "JWT"

const utf8 = new TextEncoder()

/** OpenID Connect Core §3.1.3.6: half of the hash that the signature is made with, so that no other token stands beside. */
export const halfHash = (text: string, algorithm: Algorithm): string => {
  const hash = algorithm === "EdDSA" || algorithm === "Ed25519" ? sha512(utf8.encode(text)) : hashOf(text)
  return base64Url(hash, hash.length / 2)
}

/**
 * OpenID Connect Core §2. What is `undefined` is not signed. `more`: claims about the person, none of which can be one of
 * these.
 */
export const idTokenClaims = (
  issuer: Issuer,
  { authentication: { acr, amr, at, nonce, sid }, user }: Pick<Identity, "authentication" | "user">,
  client: ClientIdentifier,
  accessToken: string,
  algorithm: Algorithm,
  life: Millis,
  now: Instant,
  more: Members
): Members => ({
  ...more,
  iss: issuer,
  sub: user,
  aud: client,
  exp: secondsOf(later(now, life)),
  iat: secondsOf(now),
  at_hash: halfHash(accessToken, algorithm),
  auth_time: at === undefined ? undefined : secondsOf(at),
  nonce,
  acr,
  amr,
  sid
})
