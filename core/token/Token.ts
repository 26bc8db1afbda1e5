import { Result } from "effect"
import { Base64Url, Hex } from "effect/encoding"
import { type GrantId, grantIdBytes } from "../rules/Id.ts"
import { hasPassed, type Instant } from "../rules/Instant.ts"
import type { Resource } from "../rules/Resource.ts"
import { formatScopes, readScopes, type Scopes } from "../rules/Scope.ts"
import { checksumLength, hasValidChecksum, withChecksum } from "../rules/Secret.ts"
import { endsIn, instantLength, readInstant, readNumber, writeNumber } from "./bytes.ts"
import { keyIdLength, type Sealer, type SealKey } from "./KeyRing.ts"

/** A sealed reference to a grant. What it says is true only as long as the grant agrees. */
export type Token = CodeToken | AccessToken | RefreshToken

export interface CodeToken {
  readonly kind: "code"
  readonly grant: GrantId
  readonly expiresAt: Instant
}

export interface AccessToken {
  readonly kind: "access"
  readonly grant: GrantId
  readonly expiresAt: Instant
  /** Which of the grant's access tokens live: raising the grant's own epoch ends all earlier ones. */
  readonly epoch: number
  /** Tells this access token from its siblings: 64 random bits in hex. */
  readonly serial: string
  /** Narrower than the grant's; `null` is the grant's own. */
  readonly scope: Scopes | null
  readonly resource: Resource | null
}

export interface RefreshToken {
  readonly kind: "refresh"
  readonly grant: GrantId
  readonly expiresAt: Instant
  readonly generation: number
}

export type TokenFault = "malformed" | "wrong_kind" | "unknown_key" | "forged" | "expired"

export const tokenPrefix = { code: "tsr_ac_", access: "tsr_at_", refresh: "tsr_rt_" } as const

/** FORMAT.md beside this file says the same byte by byte. */
const version = 1
const kindByte = { code: 1, access: 2, refresh: 3 } as const
const at = { key: 1, kind: 5, grant: 6, number: 22, expiry: 26 } as const
const headLength = 32
/** A claim's tag and length. */
const claimHead = 3
const macLength = 32
const serialLength = 8
const tag = { serial: 1, scope: 2, resource: 3 } as const
const maxTextLength = 4096

const utf8 = new TextEncoder()
const utf8Reader = new TextDecoder()

interface Claim {
  readonly tag: number
  readonly value: Uint8Array
}

const claimsOf = (token: Token): ReadonlyArray<Claim> => {
  if (token.kind !== "access") return []
  const claims: Array<Claim> = [{ tag: tag.serial, value: Result.getOrThrow(Hex.decode(token.serial)) }]
  if (token.scope !== null) claims.push({ tag: tag.scope, value: utf8.encode(formatScopes(token.scope)) })
  if (token.resource !== null) claims.push({ tag: tag.resource, value: utf8.encode(token.resource) })
  return claims
}

const numberOf = (token: Token): number =>
  token.kind === "refresh" ? token.generation : token.kind === "access" ? token.epoch : 0

const write = (token: Token, key: SealKey): Uint8Array => {
  const claims = claimsOf(token)
  const length = claims.reduce((sum, claim) => sum + claimHead + claim.value.length, headLength)
  const body = new Uint8Array(length)
  body[0] = version
  body.set(key.idBytes, at.key)
  body[at.kind] = kindByte[token.kind]
  body.set(grantIdBytes(token.grant), at.grant)
  writeNumber(body, at.number, 4, numberOf(token))
  writeNumber(body, at.expiry, instantLength, token.expiresAt)
  let next = headLength
  for (const claim of claims) {
    body[next] = claim.tag
    writeNumber(body, next + 1, 2, claim.value.length)
    body.set(claim.value, next + claimHead)
    next += claimHead + claim.value.length
  }
  return body
}

/** The token's text: a pure function of the token, the key and the workspace. */
export const seal = (sealer: Sealer, workspace: string, token: Token, key: SealKey = sealer.first): string => {
  const body = write(token, key)
  const bytes = new Uint8Array(body.length + macLength)
  bytes.set(body)
  bytes.set(sealer.mac(key, workspace, "token", body), body.length)
  return withChecksum(tokenPrefix[token.kind] + Base64Url.encode(bytes))
}

const readClaims = (body: Uint8Array): Map<number, Uint8Array> | undefined => {
  const claims = new Map<number, Uint8Array>()
  let next = headLength
  let last = 0
  while (next < body.length) {
    const claimTag = body[next] ?? 0
    const start = next + claimHead
    const end = start + readNumber(body, next + 1, 2)
    // Ascending tags leave one way to write a set of claims.
    if (claimTag <= last || claimTag > tag.resource || end > body.length) return undefined
    claims.set(claimTag, body.slice(start, end))
    last = claimTag
    next = end
  }
  return claims
}

const readAccess = (head: Omit<CodeToken, "kind">, epoch: number, claims: Map<number, Uint8Array>) => {
  const serial = claims.get(tag.serial)
  const scopeBytes = claims.get(tag.scope)
  const resourceBytes = claims.get(tag.resource)
  if (serial?.length !== serialLength) return undefined
  const scope = scopeBytes === undefined ? null : Result.getOrUndefined(readScopes(utf8Reader.decode(scopeBytes)))
  if (scope === undefined) return undefined
  // Written by `seal` from a Resource, as the MAC has shown.
  const resource = resourceBytes === undefined ? null : (utf8Reader.decode(resourceBytes) as Resource)
  return { kind: "access", ...head, epoch, serial: Hex.encode(serial), scope, resource } satisfies AccessToken
}

/**
 * The grant's id is base64url too, and begins where a group of the payload begins: its first 21 characters stand in the
 * payload as they are, and two bits are left for the last.
 */
const grantIn = (payload: string, body: Uint8Array): GrantId =>
  // The characters of 16 bytes.
  (payload.slice(8, 29) + "AQgw".charAt((body[at.number - 1] ?? 0) & 3)) as GrantId

const read = (payload: string, body: Uint8Array): Token | undefined => {
  const head = { grant: grantIn(payload, body), expiresAt: readInstant(body, at.expiry) }
  const number = readNumber(body, at.number, 4)
  const claims = readClaims(body)
  if (claims === undefined) return undefined
  switch (body[at.kind]) {
    case kindByte.code:
      return claims.size === 0 && number === 0 ? { kind: "code", ...head } : undefined
    case kindByte.refresh:
      return claims.size === 0 ? { kind: "refresh", ...head, generation: number } : undefined
    case kindByte.access:
      return readAccess(head, number, claims)
    default:
      return undefined
  }
}

const alphabet = /^[A-Za-z0-9_-]+$/
/** The last characters that leave no bit over, by how many characters stand in the last group of four. */
const endings: Readonly<Record<number, RegExp>> = { 0: /./, 2: /[AQgw]$/, 3: /[AEIMQUYcgkosw048]$/ }

/** One text for one token: padding, white space and bits left over at the end would make a second. */
const isCanonical = (payload: string): boolean =>
  alphabet.test(payload) && endings[payload.length % 4]?.test(payload) === true

/** Everything but expiry and kind: that the text is one of ours, whole, and sealed in this workspace by a key we hold. */
const unseal = (sealer: Sealer, workspace: string, prefix: string, text: string): Result.Result<Token, TokenFault> => {
  if (text.length > maxTextLength || !hasValidChecksum(text)) return Result.fail("malformed")
  const payload = text.slice(prefix.length, -checksumLength)
  if (!isCanonical(payload)) return Result.fail("malformed")
  const decoded = Base64Url.decode(payload)
  if (Result.isFailure(decoded)) return Result.fail("malformed")
  const bytes = decoded.success
  if (bytes.length < headLength + macLength) return Result.fail("malformed")
  if (bytes[0] !== version) return Result.fail("malformed")
  const key = sealer.findByNumber(readNumber(bytes, at.key, keyIdLength))
  if (key === undefined) return Result.fail("unknown_key")
  const body = bytes.slice(0, bytes.length - macLength)
  if (!endsIn(bytes, sealer.mac(key, workspace, "token", body))) return Result.fail("forged")
  const token = read(payload, body)
  return token === undefined ? Result.fail("malformed") : Result.succeed(token)
}

const kindOf = (text: string): Token["kind"] | undefined =>
  text.startsWith(tokenPrefix.access)
    ? "access"
    : text.startsWith(tokenPrefix.refresh)
      ? "refresh"
      : text.startsWith(tokenPrefix.code)
        ? "code"
        : undefined

/** Opens a token of any kind. Storage is not asked: what fails here never reaches it. */
export const openAny = (
  sealer: Sealer,
  workspace: string,
  text: string,
  now: Instant
): Result.Result<Token, TokenFault> => {
  const kind = kindOf(text)
  if (kind === undefined) return Result.fail("malformed")
  const opened = unseal(sealer, workspace, tokenPrefix[kind], text)
  if (Result.isFailure(opened)) return opened
  if (opened.success.kind !== kind) return Result.fail("malformed")
  return hasPassed(opened.success.expiresAt, now) ? Result.fail("expired") : opened
}

/** Opens a token of the kind that is wanted, and no other. */
export const open = <K extends Token["kind"]>(
  sealer: Sealer,
  workspace: string,
  kind: K,
  text: string,
  now: Instant
): Result.Result<Extract<Token, { readonly kind: K }>, TokenFault> => {
  const written = kindOf(text)
  if (written !== undefined && written !== kind) return Result.fail("wrong_kind")
  const opened = openAny(sealer, workspace, text, now)
  if (Result.isFailure(opened)) return Result.fail(opened.failure)
  return isOfKind(opened.success, kind) ? Result.succeed(opened.success) : Result.fail("wrong_kind")
}

const isOfKind = <K extends Token["kind"]>(token: Token, kind: K): token is Extract<Token, { readonly kind: K }> =>
  token.kind === kind
