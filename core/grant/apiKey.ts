import { Option, type Redacted } from "effect"
import { readBase64Url, textLength } from "../rules/Base64Url.ts"
import { type GrantId, grantIdBytes, grantIdOf, idLength } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { allScopes } from "../rules/Scope.ts"
import { checksumLength, credential, hasValidChecksum } from "../rules/Secret.ts"
import type { Key } from "./Grant.ts"

export const apiKeyPrefix = "tsr_ak_"
export const apiKeySecretLength = 32
const hintLength = apiKeyPrefix.length + 4

export interface NewKey {
  readonly grant: Key
  /** Shown once. */
  readonly text: Redacted.Redacted<string>
}

/** A workspace's own key: its text is the grant's id and 256 random bits, of which only the digest is kept. */
export const makeKey = (
  asked: { readonly name: string; readonly expiresAt: Instant | null },
  id: GrantId,
  secret: Uint8Array,
  policy: Policy,
  now: Instant
): NewKey => {
  const bytes = new Uint8Array(idLength + apiKeySecretLength)
  bytes.set(grantIdBytes(id))
  bytes.set(secret, idLength)
  const { text, digest } = credential(apiKeyPrefix, bytes)
  return {
    text,
    grant: {
      _tag: "Key",
      id,
      subject: { _tag: "Workspace" },
      scope: allScopes(policy.scopes),
      resource: null,
      createdAt: now,
      name: asked.name,
      hint: `${apiKeyPrefix}${id}`.slice(0, hintLength),
      digest,
      expiresAt: asked.expiresAt
    }
  }
}

const keyTextLength = apiKeyPrefix.length + textLength(idLength + apiKeySecretLength) + checksumLength

export const isKeyText = (text: string): boolean => text.startsWith(apiKeyPrefix)

/** The grant that a key's text points to, if it can be one of ours at all. */
export const readKey = (text: string): Option.Option<GrantId> => {
  if (text.length !== keyTextLength || !hasValidChecksum(text)) return Option.none()
  const bytes = readBase64Url(text, apiKeyPrefix.length, text.length - checksumLength)
  return bytes === undefined ? Option.none() : Option.some(grantIdOf(bytes.subarray(0, idLength)))
}
