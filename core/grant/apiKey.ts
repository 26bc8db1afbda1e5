import { type Redacted, Result, Schema } from "effect"
import { readBase64Url, textLength } from "../codec/Base64Url.ts"
import { type GrantId, grantIdOf, idBytes, idLength } from "../rules/Id.ts"
import { day, type Instant, type Millis } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import { apiScopes, noScopes, type ScopeRegistry, type Scopes, scopesNamed } from "../rules/Scope.ts"
import { checksumLength, credential, hasValidChecksum } from "../rules/Secret.ts"
import { sanitizeName } from "../rules/sanitizeName.ts"
import type { Key, KeyUse } from "./Grant.ts"

export const keyNameLength = 100
/** A hundred years: what is to last longer is to have no end. */
export const longestKeyLifetime: Millis = 36_525 * day

/** An API key that cannot be given. */
export class BadKeyTerms extends Schema.TaggedError<BadKeyTerms>()("BadKeyTerms", {
  reason: Schema.Literals(["no_name", "long_name", "lifetime", "scopes"])
}) {}

/** How far a key reaches. */
interface KeyReach {
  readonly use: KeyUse
  readonly scope: Scopes
}

/** What an owner wants of a key: its name, for how long it is good (`undefined`: for good), and what it opens. */
export interface KeyTerms {
  readonly name: string
  readonly lasts: Millis | undefined
  /** The names of scopes for a key that opens these alone. Default: everything. */
  readonly opens?: "everything" | "introspection" | ReadonlyArray<string>
}

const reachOf = (registry: ScopeRegistry, opens: KeyTerms["opens"] = "everything"): KeyReach | undefined => {
  if (opens === "everything") return { use: opens, scope: apiScopes(registry) }
  if (opens === "introspection") return { use: opens, scope: noScopes }
  const scope = scopesNamed(registry, opens)
  return scope && { use: "scopes", scope }
}

/** Held to what a list can show, wherever it was typed; the name as it will be shown. */
export const readKeyTerms = (
  { lasts, name: typed, opens }: KeyTerms,
  registry: ScopeRegistry
): Result.Result<
  { readonly name: string; readonly lasts: Millis | undefined; readonly reach: KeyReach },
  BadKeyTerms
> => {
  const refuse = (reason: BadKeyTerms["reason"]) => Result.fail(new BadKeyTerms({ reason }))
  if (typed.length > keyNameLength) return refuse("long_name")
  const name = sanitizeName(typed, keyNameLength)
  if (name === undefined) return refuse("no_name")
  const reach = reachOf(registry, opens)
  if (reach === undefined) return refuse("scopes")
  if (lasts === undefined) return Result.succeed({ name, lasts, reach })
  return lasts >= 1 && lasts <= longestKeyLifetime
    ? Result.succeed({ name, lasts: Math.floor(lasts), reach })
    : refuse("lifetime")
}

/** What it takes to make a key. Without a reach it opens everything. */
export interface KeyAsked {
  readonly name: string
  readonly expiresAt: Instant | null
  readonly reach?: KeyReach
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
export const makeKey = (asked: KeyAsked, id: GrantId, secret: Uint8Array, policy: Policy, now: Instant): NewKey => {
  const { scope, use } = asked.reach ?? { use: "everything", scope: apiScopes(policy.scopes) }
  const bytes = new Uint8Array(idLength + apiKeySecretLength)
  bytes.set(idBytes(id))
  bytes.set(secret, idLength)
  const { text, digest } = credential(apiKeyPrefix, bytes)
  return {
    text,
    grant: {
      _tag: "Key",
      id,
      subject: { _tag: "Workspace" },
      scope,
      resources: null,
      createdAt: now,
      name: asked.name,
      hint: `${apiKeyPrefix}${id}`.slice(0, hintLength),
      digest,
      use,
      expiresAt: asked.expiresAt
    }
  }
}

const keyTextLength = apiKeyPrefix.length + textLength(idLength + apiKeySecretLength) + checksumLength

export const isKeyText = (text: string): boolean => text.startsWith(apiKeyPrefix)

/** The grant that a key's text points to, if it can be one of ours at all. */
export const readKey = (text: string): GrantId | undefined => {
  if (text.length !== keyTextLength || !hasValidChecksum(text)) return undefined
  const bytes = readBase64Url(text, apiKeyPrefix.length, text.length - checksumLength)
  return bytes && grantIdOf(bytes.subarray(0, idLength))
}
