import { Option, Result, Schema } from "effect"
import { base64Url, hexOf, readBase64Url, readBase64UrlInto, textLength, writeHex } from "../codec/Base64Url.ts"
import { macLength } from "../codec/Sha256.ts"
import type { Binding } from "../grant/Binding.ts"
import { ClientId, type GrantId, writeId } from "../rules/Id.ts"
import { hasPassed, type Instant, later, type Millis } from "../rules/Instant.ts"
import type { tokenFaults } from "../rules/Refusal.ts"
import type { Resources } from "../rules/Resource.ts"
import { formatScopes, readScopes, type Scopes } from "../rules/Scope.ts"
import { checkedText, checksumLength, hasValidChecksum } from "../rules/Secret.ts"
import { instantLength, readInstant, readNumber, writeNumber } from "./bytes.ts"
import { holdsAt, keyIdLength, type Place, type Sealer, type SealKey } from "./KeyRing.ts"

/** A sealed reference to a grant. What it says is true only as long as the grant agrees. */
export type Token = CodeToken | AccessToken | RefreshToken

export interface CodeToken {
  readonly kind: "code"
  readonly grant: GrantId
  readonly expiresAt: Instant
}

export interface AccessToken extends AccessClaims {
  readonly kind: "access"
  readonly grant: GrantId
  readonly expiresAt: Instant
  /** Which of the grant's access tokens live: raising the grant's own epoch ends all earlier ones. */
  readonly epoch: number
}

export interface RefreshToken {
  readonly kind: "refresh"
  readonly grant: GrantId
  readonly expiresAt: Instant
  readonly generation: number
}

export type TokenFault = (typeof tokenFaults)[number]

const utf8 = new TextEncoder()
const utf8Reader = new TextDecoder()

/** How a claim's value stands in a token. */
interface Form<V> {
  readonly write: (value: V) => Uint8Array
  /** `undefined` where the bytes are not what `write` writes. */
  readonly read: (bytes: Uint8Array, start: number, end: number) => V | undefined
}

const hex = (length: number): Form<string> => ({
  write: (value) => {
    const bytes = new Uint8Array(length)
    writeHex(value, bytes, 0)
    return bytes
  },
  read: (bytes, start, end) => (end - start === length ? hexOf(bytes, start, end) : undefined)
})

const scopes: Form<Scopes> = {
  write: (value) => utf8.encode(formatScopes(value)),
  read: (bytes, start, end) =>
    Option.getOrUndefined(Result.getSuccess(readScopes(utf8Reader.decode(bytes.subarray(start, end)))))
}

const resources: Form<Resources> = {
  write: (value) => utf8.encode(value.join(" ")),
  // Written by `seal` from Resources, as the MAC has shown.
  read: (bytes, start, end) =>
    // As the comment above says: at least one, each once.
    utf8Reader.decode(bytes.subarray(start, end)).split(" ") as ReadonlyArray<string> as Resources
}

const thumbprintLength = 32

const binding: Form<Binding> = {
  write: ({ thumbprint }) => {
    const bytes = new Uint8Array(thumbprintLength)
    readBase64UrlInto(thumbprint, 0, thumbprint.length, bytes, 0)
    return bytes
  },
  read: (bytes, start, end) =>
    end - start === thumbprintLength ? { thumbprint: base64Url(bytes.subarray(start, end)) } : undefined
}

/** Who got a token for another (RFC 8693 §4.1). */
export const Actor = Schema.Struct({
  client: ClientId,
  /** The serial of the token that it showed: with that one, what came of it ends. */
  showed: Schema.String.check(Schema.isPattern(/^[0-9a-f]{16}$/))
})
export type Actor = typeof Actor.Type

const actors: Form<ReadonlyArray<Actor>> = {
  write: (value) => utf8.encode(value.map(({ client, showed }) => `${client} ${showed}`).join(" ")),
  read: (bytes, start, end) => {
    const words = utf8Reader.decode(bytes.subarray(start, end)).split(" ")
    const read: Array<Actor> = []
    for (let i = 0; i < words.length; i += 2) {
      const [client, showed] = [words[i], words[i + 1]]
      if (!client || !showed) return undefined
      // Written by `seal` from an actor, as the MAC has shown.
      read.push({ client: client as ClientId, showed })
    }
    return read
  }
}

interface Claim<V> extends Form<V> {
  readonly tag: number
  /** A token without it is none of ours; without any other, the token has `null` there. */
  readonly required: boolean
}

const always = <V>(tag: number, form: Form<V>) => ({ ...form, tag, required: true }) as const
const claim = <V>(tag: number, form: Form<V>) => ({ ...form, tag, required: false }) as const

/** What an access token says beside its head. A claim is a row here, and a row of FORMAT.md. */
const claims = {
  /** Tells this access token from its siblings: 64 random bits in hex. The first claim, so that its place is known. */
  serial: always(1, hex(8)),
  /** Narrower than the grant's; `null` is the grant's own. */
  scope: claim(2, scopes),
  /** Fewer than the grant's; `null` are the grant's own. */
  resources: claim(3, resources),
  /** Who may use it: the holder of a key or a certificate; `null` is any bearer. */
  binding: claim(4, binding),
  /** Those who exchanged tokens for this one, the last of them first; `null` where it came of no exchange. */
  actors: claim(5, actors)
}

type ValueOf<C> = C extends Claim<infer V> ? (C extends { readonly required: true } ? V : V | null) : never

type AccessClaims = { readonly [Name in keyof typeof claims]: ValueOf<(typeof claims)[Name]> }

interface NamedClaim extends Claim<unknown> {
  readonly name: string
}

/** By ascending tags, which leave one way to write a set of claims. */
const accessClaims: ReadonlyArray<NamedClaim> = Object.entries(claims)
  // Each is only given the value that stands under its own name.
  .map(([name, one]) => ({ ...(one as Claim<unknown>), name }))
  .sort((a, b) => a.tag - b.tag)

const noClaims: ReadonlyArray<NamedClaim> = []

/** An access token before its claims are read. */
const unclaimed = Object.fromEntries(accessClaims.map(({ name }) => [name, null]))

interface Kind<T> {
  readonly prefix: string
  readonly byte: number
  /** The number in the head, which means something else in each kind. */
  readonly numberOf: (token: T) => number
  readonly made: (grant: GrantId, expiresAt: Instant, number: number) => T | undefined
  readonly claims: ReadonlyArray<NamedClaim>
}

const kind = <T>(
  prefix: string,
  byte: number,
  numberOf: Kind<T>["numberOf"],
  made: Kind<T>["made"],
  claims: ReadonlyArray<NamedClaim> = noClaims
): Kind<T> => ({ prefix, byte, numberOf, made, claims })

/** The kinds of token. FORMAT.md beside this file says the same byte by byte. */
export const tokens: { readonly [K in Token["kind"]]: Kind<Extract<Token, { readonly kind: K }>> } = {
  code: kind(
    "tsr_ac_",
    1,
    () => 0,
    (grant, expiresAt, number) => (number === 0 ? { kind: "code", grant, expiresAt } : undefined)
  ),
  access: kind(
    "tsr_at_",
    2,
    ({ epoch }) => epoch,
    // `readClaims` puts the values in, or there is no token.
    (grant, expiresAt, epoch) => ({ kind: "access", grant, expiresAt, epoch, ...unclaimed }) as unknown as AccessToken,
    accessClaims
  ),
  refresh: kind(
    "tsr_rt_",
    3,
    ({ generation }) => generation,
    (grant, expiresAt, generation) => ({ kind: "refresh", grant, expiresAt, generation })
  )
}

const version = 1
const at = { key: 1, kind: 5, grant: 6, number: 22, expiry: 26 } as const
const headLength = 32
/** A claim's tag and length. */
const claimHead = 3
/** Room for the longest scope and resources that there are. */
const maxTextLength = 8192

/** Where an access token's text has the first character that is all of its serial's bits. */
export const serialAt = tokens.access.prefix.length + textLength(headLength + claimHead)

const kindOfToken = (token: Token): Kind<Token> =>
  // The row of the token's own kind.
  tokens[token.kind] as Kind<Token>

/**
 * What a JWT access token carries for the server that issued it: an access token under another byte and without a
 * prefix, so that it is borne nowhere by itself.
 */
const reference: Kind<AccessToken> = { ...tokens.access, prefix: "", byte: 4 }

const claimedBy = (token: Token, { name }: NamedClaim): unknown =>
  // A claim stands in the token under its own name.
  (token as unknown as Readonly<Record<string, unknown>>)[name]

/** Everything before the MAC, with room for it behind. */
const write = (token: Token, { byte, claims, numberOf }: Kind<Token>, key: SealKey): Uint8Array => {
  const values: Array<Uint8Array | undefined> = []
  let length = headLength
  for (const one of claims) {
    const value = claimedBy(token, one)
    const written = value === null ? undefined : one.write(value)
    if (written !== undefined) length += claimHead + written.length
    values.push(written)
  }
  const bytes = new Uint8Array(length + macLength)
  bytes[0] = version
  for (let i = 0; i < keyIdLength; i++) bytes[at.key + i] = key.idBytes[i] ?? 0
  bytes[at.kind] = byte
  writeId(token.grant, bytes, at.grant)
  writeNumber(bytes, at.number, 4, numberOf(token))
  writeNumber(bytes, at.expiry, instantLength, token.expiresAt)
  let next = headLength
  for (let i = 0; i < claims.length; i++) {
    const value = values[i]
    if (value === undefined) continue
    bytes[next] = claims[i]?.tag ?? 0
    writeNumber(bytes, next + 1, 2, value.length)
    bytes.set(value, next + claimHead)
    next += claimHead + value.length
  }
  return bytes
}

/** The token's text: a pure function of the token, the key and the place. */
export const seal = (sealer: Sealer, place: Place, token: Token, key: SealKey = sealer.first): string =>
  sealAs(kindOfToken(token), sealer, place, token, key)

const sealAs = (kind: Kind<Token>, sealer: Sealer, place: Place, token: Token, key: SealKey): string => {
  const bytes = write(token, kind, key)
  sealer.under(key, place, "token").seal(bytes)
  return checkedText(kind.prefix, bytes)
}

export const sealReference = (sealer: Sealer, place: Place, token: AccessToken): string =>
  // A row for access tokens, which is given one.
  sealAs(reference as Kind<Token>, sealer, place, token, sealer.first)

/** Reads the claims into a token; `false` where they are not a set that `write` writes. */
const readClaims = (token: Token, claims: ReadonlyArray<NamedClaim>, bytes: Uint8Array, end: number): boolean => {
  let next = headLength
  for (const one of claims) {
    if (next >= end || bytes[next] !== one.tag) {
      if (one.required) return false
      continue
    }
    const start = next + claimHead
    // Beyond the end, none follows, and the last line says no.
    next = start + readNumber(bytes, start - 2, 2)
    const value = one.read(bytes, start, next)
    if (value === undefined)
      return false
      // The token is new, and only read once this is done.
    ;(token as unknown as Record<string, unknown>)[one.name] = value
  }
  return next === end
}

/**
 * The grant's id is base64url too, and begins where a group of the payload begins: its first 21 characters stand in the
 * payload as they are, and two bits are left for the last.
 */
const grantIn = (text: string, payloadAt: number, bytes: Uint8Array): GrantId =>
  // The characters of 16 bytes.
  (text.slice(payloadAt + 8, payloadAt + 29) + "AQgw".charAt((bytes[at.number - 1] ?? 0) & 3)) as GrantId

const read = ({ byte, claims, made }: Kind<Token>, grant: GrantId, bytes: Uint8Array, end: number) => {
  // The text's prefix and the bytes under the MAC have to agree on what it is.
  if (bytes[at.kind] !== byte) return undefined
  const token = made(grant, readInstant(bytes, at.expiry), readNumber(bytes, at.number, 4))
  return token !== undefined && readClaims(token, claims, bytes, end) ? token : undefined
}

/** Everything but expiry: that the text is one of ours, whole, and sealed in this place by a key we hold. */
const unseal = (sealer: Sealer, place: Place, kind: Kind<Token>, text: string): Result.Result<Token, TokenFault> => {
  if (text.length > maxTextLength || !hasValidChecksum(text)) return Result.fail("malformed")
  const payloadAt = kind.prefix.length
  const bytes = readBase64Url(text, payloadAt, text.length - checksumLength)
  if (bytes === undefined || bytes.length < headLength + macLength) return Result.fail("malformed")
  if (bytes[0] !== version) return Result.fail("malformed")
  const key = sealer.findByNumber(readNumber(bytes, at.key, keyIdLength))
  if (key === undefined) return Result.fail("unknown_key")
  if (!holdsAt(sealer, key, place, "token", bytes)) return Result.fail("forged")
  const token = read(kind, grantIn(text, payloadAt, bytes), bytes, bytes.length - macLength)
  return token === undefined ? Result.fail("malformed") : Result.succeed(token)
}

const kindNames: ReadonlyArray<Token["kind"]> = ["access", "refresh", "code"]

const kindOf = (text: string): Token["kind"] | undefined => {
  for (const name of kindNames) if (text.startsWith(tokens[name].prefix)) return name
  return undefined
}

const openUntil = (
  sealer: Sealer,
  place: Place,
  text: string,
  now: Instant,
  endOf: (token: Token) => Instant
): Result.Result<Token, TokenFault> => {
  const kind = kindOf(text)
  if (kind === undefined) return Result.fail("malformed")
  // The row of the kind that the prefix says; its token is checked to be of that kind.
  const opened = unseal(sealer, place, tokens[kind] as Kind<Token>, text)
  if (Result.isFailure(opened)) return opened
  return hasPassed(endOf(opened.success), now) ? Result.fail("expired") : opened
}

/** Opens a token of any kind. Storage is not asked: what fails here never reaches it. */
export const openAny = (sealer: Sealer, place: Place, text: string, now: Instant): Result.Result<Token, TokenFault> =>
  openUntil(sealer, place, text, now, (token) => token.expiresAt)

/** The same for revoking: a refresh token that refreshes no more still ends the access tokens that came of it last. */
export const openToRevoke = (
  sealer: Sealer,
  place: Place,
  text: string,
  now: Instant,
  accessTtl: Millis
): Result.Result<Token, TokenFault> =>
  openUntil(sealer, place, text, now, ({ expiresAt, kind }) =>
    kind === "refresh" ? later(expiresAt, accessTtl) : expiresAt
  )

/** Opens what `sealReference` sealed. */
export const openReference = (
  sealer: Sealer,
  place: Place,
  text: string,
  now: Instant
): Result.Result<AccessToken, TokenFault> => {
  // The row makes access tokens.
  const opened = unseal(sealer, place, reference as Kind<Token>, text)
  if (Result.isFailure(opened)) return Result.fail(opened.failure)
  const token = opened.success
  if (token.kind !== "access") return Result.fail("wrong_kind")
  return hasPassed(token.expiresAt, now) ? Result.fail("expired") : Result.succeed(token)
}

/** Opens a token of the kind that is wanted, and no other. */
export const open = <K extends Token["kind"]>(
  sealer: Sealer,
  place: Place,
  kind: K,
  text: string,
  now: Instant
): Result.Result<Extract<Token, { readonly kind: K }>, TokenFault> => {
  const written = kindOf(text)
  if (written !== undefined && written !== kind) return Result.fail("wrong_kind")
  // What opens is of the kind that its prefix says.
  return openAny(sealer, place, text, now) as Result.Result<Extract<Token, { readonly kind: K }>, TokenFault>
}
