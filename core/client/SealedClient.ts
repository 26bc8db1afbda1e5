import { Option, type Redacted, Result, Schema, Struct } from "effect"
import { base64Url, readBase64Url } from "../codec/Base64Url.ts"
import { hasPassed, Instant, later } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { type Credential, credential } from "../rules/Secret.ts"
import { keyIdIn, openEnvelope, sealEnvelope } from "../token/Envelope.ts"
import type { Place, Sealer, SealKey } from "../token/KeyRing.ts"
import { Brought } from "./Brought.ts"
import type { Client } from "./Client.ts"
import { longestSealed, readSealedIdentifier, type SealedIdentifier, sealedPrefix } from "./ClientIdentifier.ts"
import { isSecret, StoredSecret } from "./ClientSecret.ts"
import { clientSecretPrefix, credentialLength, registrationTokenPrefix } from "./register.ts"

/*
 * Zero-row registration: the identifier of a client is what it registered, under seal, and its secret and its registration
 * access token are MACs of the identifier. So a registration writes nothing, and whichever process has the key knows it.
 */

/** What the identifier holds. The digest of a secret is no part of it, since the secret is made of it. */
const Sealed = Schema.Struct({
  ...Struct.pick(Brought.fields, ["about", "redirectUris", "grantTypes", "scope", "members"]),
  credential: Schema.Union([
    Schema.Struct(Struct.omit(StoredSecret.fields, ["digest", "older"])),
    Brought.fields.credential
  ]),
  createdAt: Instant,
  until: Instant,
  /** Drawn, so that two who register the same at once are two clients. */
  nonce: Schema.String
})

const version = 1
const utf8 = new TextEncoder()
const utf8Reader = new TextDecoder()
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Sealed))

/** Only the holder of the key of the identifier's own seal knows both. */
const madeOf = (sealer: Sealer, key: SealKey, place: Place, identifier: SealedIdentifier) => {
  const bytes = utf8.encode(identifier)
  const of = (purpose: "secret" | "registration") =>
    sealer.mac(key, place, purpose, bytes).subarray(0, credentialLength)
  return {
    secret: credential(clientSecretPrefix, of("secret")),
    registration: credential(registrationTokenPrefix, of("registration"))
  }
}

/** A registration that was answered, and of which nothing is kept. */
interface SealedRegistration {
  readonly brought: Brought
  readonly secret: Redacted.Redacted<string> | undefined
  readonly registrationToken: Redacted.Redacted<string>
}

const broughtOf = (
  { credential: proof, ...said }: Omit<typeof Sealed.Type, "nonce">,
  identifier: SealedIdentifier,
  { registration, secret }: { readonly registration: Credential; readonly secret: Credential }
): Brought => ({
  ...said,
  identifier,
  credential: proof._tag === "Secret" ? { ...proof, digest: secret.digest } : proof,
  registration: registration.digest
})

/** `undefined` where the identifier would be too long: then the client has a record, as elsewhere. */
export const sealClient = (
  sealer: Sealer,
  place: Place,
  client: Client,
  { unusedClientTtl }: Pick<Policy, "unusedClientTtl">,
  nonce: Uint8Array
): SealedRegistration | undefined => {
  const { about, createdAt, credential: stored, grantTypes, members, redirectUris, scope } = client
  const { digest: _, ...method } = stored
  const sealed = {
    about,
    redirectUris,
    grantTypes,
    scope,
    ...(members && { members }),
    credential: isSecret(stored) ? method : stored,
    createdAt,
    until: later(createdAt, unusedClientTtl)
  }
  const body = utf8.encode(JSON.stringify({ ...sealed, nonce: base64Url(nonce) }))
  const text = sealedPrefix + base64Url(sealEnvelope(sealer, place, "client", version, body))
  const identifier = text.length > longestSealed ? undefined : Option.getOrUndefined(readSealedIdentifier(text))
  if (identifier === undefined) return undefined
  const made = madeOf(sealer, sealer.first, place, identifier)
  return {
    brought: broughtOf(sealed, identifier, made),
    secret: isSecret(stored) ? made.secret.text : undefined,
    registrationToken: made.registration.text
  }
}

/** Of which key an identifier says that it was sealed with it: the key's id. */
export const sealedUnder = (identifier: SealedIdentifier): string | undefined => {
  const bytes = readBase64Url(identifier, sealedPrefix.length)
  return bytes && keyIdIn(bytes)
}

/** What the identifier holds, where this server sealed it for this place, and its time is not over. */
export const openClient = (
  sealer: Sealer,
  place: Place,
  identifier: SealedIdentifier,
  now: Instant
): Brought | undefined => {
  const opened = openEnvelope(sealer, place, "client", [version], readBase64Url(identifier, sealedPrefix.length))
  if (Result.isFailure(opened)) return undefined
  const { body, key } = opened.success
  const sealed = decode(utf8Reader.decode(body))
  if (Option.isNone(sealed) || hasPassed(sealed.value.until, now)) return undefined
  const { nonce: _, ...said } = sealed.value
  return broughtOf(said, identifier, madeOf(sealer, key, place, identifier))
}
