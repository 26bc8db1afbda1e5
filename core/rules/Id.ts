import { Schema } from "effect"
import { base64Url, readBase64UrlInto } from "../codec/Base64Url.ts"

/** 128 random bits as 22 characters of base64url. */
const Random128 = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{22}$/))

export const idLength = 16

/** A grant's id never leaves the server but inside a sealed token or an API key: knowing it is part of holding one. */
export const GrantId = Random128.pipe(Schema.brand("GrantId"))
export type GrantId = typeof GrantId.Type

/** Public: it stands in URLs and pages. */
export const ClientId = Random128.pipe(Schema.brand("ClientId"))
export type ClientId = typeof ClientId.Type

/** An authorization request's, drawn when it is read. It is in the page that asks a person, and opens nothing. */
export const AuthorizationRequestId = Random128.pipe(Schema.brand("AuthorizationRequestId"))
export type AuthorizationRequestId = typeof AuthorizationRequestId.Type

/** Who a person is within a workspace: the `sub` that clients see. It never names another person later. */
export const UserId = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,128}$/)).pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

/** One of the places that a person has in the host's own world, such as an organisation: the host's name for it. */
export const PlaceId = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,128}$/)).pipe(Schema.brand("PlaceId"))
export type PlaceId = typeof PlaceId.Type

// Sixteen bytes are 22 characters of base64url: both brands say no more than that.
export const grantIdOf = (bytes: Uint8Array): GrantId => base64Url(bytes) as GrantId
export const clientIdOf = (bytes: Uint8Array): ClientId => base64Url(bytes) as ClientId
// And so does this one.
export const authorizationRequestIdOf = (bytes: Uint8Array) => base64Url(bytes) as AuthorizationRequestId

export const markLength = 8

/** A grant as logs and audit events tell it: its id is half of a token, so only the start of it is told. */
export const grantMark = (id: GrantId): string => id.slice(0, markLength)

export const readClientId = Schema.decodeUnknownOption(ClientId)
export const readUserId = Schema.decodeUnknownOption(UserId)

/** Writes the bytes of an id; one that came through its brand always has them. */
export const writeId = (id: GrantId | AuthorizationRequestId, bytes: Uint8Array, at: number): void => {
  readBase64UrlInto(id, 0, id.length, bytes, at)
}

export const idBytes = (id: GrantId | AuthorizationRequestId): Uint8Array => {
  const bytes = new Uint8Array(idLength)
  writeId(id, bytes, 0)
  return bytes
}
