import { Option, type Redacted, Result, Schema } from "effect"
import { readBase64Url, textLength } from "../codec/Base64Url.ts"
import { type GrantId, grantIdBytes, grantIdOf, idLength } from "../rules/Id.ts"
import type { Instant, Millis } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { allScopes } from "../rules/Scope.ts"
import { checksumLength, credential, hasValidChecksum } from "../rules/Secret.ts"
import { sanitizeName } from "../rules/sanitizeName.ts"
import type { Key } from "./Grant.ts"

export const keyNameLength = 100
/** A hundred years: what is to last longer is to have no end. */
export const longestKeyLifetime: Millis = 36_525 * 86_400_000

/** An API key that nobody can be given. */
export class BadKeyTerms extends Schema.TaggedError<BadKeyTerms>()("BadKeyTerms", {
  reason: Schema.Literals(["no_name", "long_name", "lifetime"])
}) {}

/** What an owner wants a key to be called, and for how long it is to be good; `undefined`: for good. */
export interface KeyTerms {
  readonly name: string
  readonly lasts: Millis | undefined
}

/** Held to what a list can show, whoever typed it and wherever; the name as it will be shown. */
export const readKeyTerms = ({ lasts, name: typed }: KeyTerms): Result.Result<KeyTerms, BadKeyTerms> => {
  if (typed.length > keyNameLength) return Result.fail(new BadKeyTerms({ reason: "long_name" }))
  const name = sanitizeName(typed, keyNameLength)
  if (name === undefined) return Result.fail(new BadKeyTerms({ reason: "no_name" }))
  if (lasts === undefined) return Result.succeed({ name, lasts })
  return lasts >= 1 && lasts <= longestKeyLifetime
    ? Result.succeed({ name, lasts: Math.floor(lasts) })
    : Result.fail(new BadKeyTerms({ reason: "lifetime" }))
}

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
