import { Result } from "effect"
import { hexOf, readBase64Url, textLength, writeHex } from "../codec/Base64Url.ts"
import { macLength } from "../codec/Sha256.ts"
import { type GrantId, writeGrantId } from "../rules/Id.ts"
import { hasPassed, type Instant, later, type Millis } from "../rules/Instant.ts"
import type { tokenFaults } from "../rules/Refusal.ts"
import type { Resource } from "../rules/Resource.ts"
import { formatScopes, readScopes, type Scopes } from "../rules/Scope.ts"
import { checkedText, checksumLength, hasValidChecksum } from "../rules/Secret.ts"
import { instantLength, readInstant, readNumber, writeNumber } from "./bytes.ts"
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

export type TokenFault = (typeof tokenFaults)[number]

export const tokenPrefix = { code: "tsr_ac_", access: "tsr_at_", refresh: "tsr_rt_" } as const

/** FORMAT.md beside this file says the same byte by byte. */
const version = 1
const kindByte = { code: 1, access: 2, refresh: 3 } as const
const at = { key: 1, kind: 5, grant: 6, number: 22, expiry: 26 } as const
const headLength = 32
/** A claim's tag and length. */
const claimHead = 3
const serialLength = 8
const tag = { serial: 1, scope: 2, resource: 3 } as const
/** Room for the longest scope and resource that there are. */
const maxTextLength = 8192

/** Where an access token's text has the first character that is all of its serial's bits. */
export const serialAt = tokenPrefix.access.length + textLength(headLength + claimHead)

const utf8 = new TextEncoder()
const utf8Reader = new TextDecoder()

const numberOf = (token: Token): number =>
  token.kind === "refresh" ? token.generation : token.kind === "access" ? token.epoch : 0

const claimAt = (bytes: Uint8Array, at: number, claimTag: number, value: Uint8Array): number => {
  bytes[at] = claimTag
  writeNumber(bytes, at + 1, 2, value.length)
  bytes.set(value, at + claimHead)
  return at + claimHead + value.length
}

/** Everything before the MAC, with room for it behind. */
const write = (token: Token, key: SealKey): Uint8Array => {
  const isAccess = token.kind === "access"
  const scope = isAccess && token.scope !== null ? utf8.encode(formatScopes(token.scope)) : undefined
  const resource = isAccess && token.resource !== null ? utf8.encode(token.resource) : undefined
  const claims =
    (isAccess ? claimHead + serialLength : 0) +
    (scope === undefined ? 0 : claimHead + scope.length) +
    (resource === undefined ? 0 : claimHead + resource.length)
  const bytes = new Uint8Array(headLength + claims + macLength)
  bytes[0] = version
  for (let i = 0; i < keyIdLength; i++) bytes[at.key + i] = key.idBytes[i] ?? 0
  bytes[at.kind] = kindByte[token.kind]
  writeGrantId(token.grant, bytes, at.grant)
  writeNumber(bytes, at.number, 4, numberOf(token))
  writeNumber(bytes, at.expiry, instantLength, token.expiresAt)
  if (!isAccess) return bytes
  bytes[headLength] = tag.serial
  writeNumber(bytes, headLength + 1, 2, serialLength)
  writeHex(token.serial, bytes, headLength + claimHead)
  let next = headLength + claimHead + serialLength
  if (scope !== undefined) next = claimAt(bytes, next, tag.scope, scope)
  if (resource !== undefined) claimAt(bytes, next, tag.resource, resource)
  return bytes
}

/** The token's text: a pure function of the token, the key and the workspace. */
export const seal = (sealer: Sealer, workspace: string, token: Token, key: SealKey = sealer.first): string => {
  const bytes = write(token, key)
  sealer.under(key, workspace, "token").seal(bytes)
  return checkedText(tokenPrefix[token.kind], bytes)
}

/** The claims of an access token. Ascending tags leave one way to write a set of them. */
const readAccess = (
  grant: GrantId,
  expiresAt: Instant,
  epoch: number,
  bytes: Uint8Array,
  end: number
): AccessToken | undefined => {
  let serial: string | undefined
  let scope: Scopes | null = null
  let resource: Resource | null = null
  let last = 0
  for (let next = headLength; next < end; ) {
    const claimTag = bytes[next] ?? 0
    const start = next + claimHead
    next = start + readNumber(bytes, start - 2, 2)
    if (claimTag <= last || claimTag > tag.resource || next > end) return undefined
    last = claimTag
    if (claimTag === tag.serial) {
      if (next - start !== serialLength) return undefined
      serial = hexOf(bytes, start, next)
    } else if (claimTag === tag.scope) {
      const read = readScopes(utf8Reader.decode(bytes.subarray(start, next)))
      if (Result.isFailure(read)) return undefined
      scope = read.success
    } else {
      // Written by `seal` from a Resource, as the MAC has shown.
      resource = utf8Reader.decode(bytes.subarray(start, next)) as Resource
    }
  }
  return serial === undefined ? undefined : { kind: "access", grant, expiresAt, epoch, serial, scope, resource }
}

/**
 * The grant's id is base64url too, and begins where a group of the payload begins: its first 21 characters stand in the
 * payload as they are, and two bits are left for the last.
 */
const grantIn = (text: string, payloadAt: number, bytes: Uint8Array): GrantId =>
  // The characters of 16 bytes.
  (text.slice(payloadAt + 8, payloadAt + 29) + "AQgw".charAt((bytes[at.number - 1] ?? 0) & 3)) as GrantId

const read = (kind: Token["kind"], grant: GrantId, bytes: Uint8Array, end: number): Token | undefined => {
  // The text's prefix and the bytes under the MAC have to agree on what it is.
  if (bytes[at.kind] !== kindByte[kind]) return undefined
  const expiresAt = readInstant(bytes, at.expiry)
  const number = readNumber(bytes, at.number, 4)
  switch (kind) {
    case "code":
      return end === headLength && number === 0 ? { kind, grant, expiresAt } : undefined
    case "refresh":
      return end === headLength ? { kind, grant, expiresAt, generation: number } : undefined
    case "access":
      return readAccess(grant, expiresAt, number, bytes, end)
  }
}

/** Everything but expiry: that the text is one of ours, whole, and sealed in this workspace by a key we hold. */
const unseal = (
  sealer: Sealer,
  workspace: string,
  kind: Token["kind"],
  text: string
): Result.Result<Token, TokenFault> => {
  if (text.length > maxTextLength || !hasValidChecksum(text)) return Result.fail("malformed")
  const payloadAt = tokenPrefix[kind].length
  const bytes = readBase64Url(text, payloadAt, text.length - checksumLength)
  if (bytes === undefined || bytes.length < headLength + macLength) return Result.fail("malformed")
  if (bytes[0] !== version) return Result.fail("malformed")
  const key = sealer.findByNumber(readNumber(bytes, at.key, keyIdLength))
  if (key === undefined) return Result.fail("unknown_key")
  if (!sealer.under(key, workspace, "token").holds(bytes)) return Result.fail("forged")
  const token = read(kind, grantIn(text, payloadAt, bytes), bytes, bytes.length - macLength)
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

const openUntil = (
  sealer: Sealer,
  workspace: string,
  text: string,
  now: Instant,
  endOf: (token: Token) => Instant
): Result.Result<Token, TokenFault> => {
  const kind = kindOf(text)
  if (kind === undefined) return Result.fail("malformed")
  const opened = unseal(sealer, workspace, kind, text)
  if (Result.isFailure(opened)) return opened
  return hasPassed(endOf(opened.success), now) ? Result.fail("expired") : opened
}

/** Opens a token of any kind. Storage is not asked: what fails here never reaches it. */
export const openAny = (
  sealer: Sealer,
  workspace: string,
  text: string,
  now: Instant
): Result.Result<Token, TokenFault> => openUntil(sealer, workspace, text, now, (token) => token.expiresAt)

/** The same for revoking: a refresh token that refreshes no more still ends the access tokens that came of it last. */
export const openToRevoke = (
  sealer: Sealer,
  workspace: string,
  text: string,
  now: Instant,
  accessTtl: Millis
): Result.Result<Token, TokenFault> =>
  openUntil(sealer, workspace, text, now, ({ expiresAt, kind }) =>
    kind === "refresh" ? later(expiresAt, accessTtl) : expiresAt
  )

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
