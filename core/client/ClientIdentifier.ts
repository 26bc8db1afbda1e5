import { Option, Schema } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import { ClientId, clientIdOf, idLength } from "../rules/Id.ts"
import { hashOf } from "../rules/Secret.ts"

/** What is known of an identifier that a client brought, from its text alone. */
interface Known {
  readonly key: ClientId
}

/** Requests of one client come one after the other: 1 MiB of texts at most. */
const kept = new LruMap<string, Known>(1024)

const knownOf = (text: string): Known => {
  const before = kept.get(text)
  if (before !== undefined) return before
  const known = { key: clientIdOf(hashOf(text).subarray(0, idLength)) }
  kept.set(text, known)
  return known
}

/** Far longer than any that is in use, and within what every log and address line takes. */
const longestAddress = 1024
const longestQuery = 512

/**
 * The rules are checked on the text, which has to be what a parser of addresses writes: another writing of one address (a
 * default port, an upper-case host, `%2e%2e`) would be another client where texts are compared.
 */
const isDocumentAddress = (text: string): boolean => {
  if (text.length > longestAddress || text.includes("#") || !URL.canParse(text)) return false
  const url = new URL(text)
  return (
    url.href === text &&
    url.username === "" &&
    url.password === "" &&
    url.pathname !== "/" &&
    url.search.length <= longestQuery + 1 &&
    !url.hostname.endsWith(".")
  )
}

/** draft-ietf-oauth-client-id-metadata-document §3: where a client's metadata document is, which is also its `client_id`. */
export const DocumentAddress = Schema.String.check(
  Schema.isPattern(/^https:\/\/[\x21-\x7e]+$/),
  Schema.isMaxLength(longestAddress),
  Schema.makeFilter(isDocumentAddress, { expected: "the address of a client's metadata document" })
).pipe(Schema.brand("DocumentAddress"))
export type DocumentAddress = typeof DocumentAddress.Type

export const sealedPrefix = "tsr_c_"
/** A registration that takes more has a record. */
export const longestSealed = 700

/** What a client registered, under seal (`SealedClient.ts`). A drawn id is shorter than any. */
export const SealedIdentifier = Schema.String.check(
  Schema.isPattern(/^tsr_c_[A-Za-z0-9_-]{64,694}$/, { expected: "a registration under seal" })
).pipe(Schema.brand("SealedIdentifier"))
export type SealedIdentifier = typeof SealedIdentifier.Type

export const readSealedIdentifier = Schema.decodeUnknownOption(SealedIdentifier)

/** An identifier that says by itself whose it is, or where that is said: its client may have no record. */
export const BroughtIdentifier = Schema.Union([DocumentAddress, SealedIdentifier])
export type BroughtIdentifier = typeof BroughtIdentifier.Type

export const isSealed = (identifier: BroughtIdentifier): identifier is SealedIdentifier => !identifier.includes(":")

/** RFC 6749 §2.2: what a client goes by on the wire: the id that it was given, or the one that it brings. */
export type ClientIdentifier = ClientId | BroughtIdentifier

/** What a registration gives out. */
export const RegisteredIdentifier = Schema.Union([ClientId, SealedIdentifier])
export type RegisteredIdentifier = typeof RegisteredIdentifier.Type

export const readRegisteredIdentifier = Schema.decodeUnknownOption(RegisteredIdentifier)

const drawnLength = 22

const isClientId = Schema.is(ClientId)
/** To find a text wrong costs a Schema more than to find it right, so that its length is asked first. */
const isDrawn = (text: string): text is ClientId => text.length === drawnLength && isClientId(text)
const isOfBrought = Schema.is(BroughtIdentifier)
/** What has a key passed before. */
const isBroughtIdentifier = (text: string): text is BroughtIdentifier =>
  kept.get(text) !== undefined || isOfBrought(text)

export const ClientIdentifier = Schema.String.pipe(
  Schema.refine((text): text is ClientIdentifier => isDrawn(text) || isBroughtIdentifier(text), {
    expected: "a client's identifier"
  })
)

export const readClientIdentifier = Schema.decodeUnknownOption(ClientIdentifier)

/** What was drawn has one length, and no colon in it. */
export const isBrought = (identifier: ClientIdentifier): identifier is BroughtIdentifier =>
  identifier.length !== drawnLength || identifier.includes(":")

/**
 * The id of a client's record. Of an identifier that is brought it is 128 bits of a hash: keys of one length and alphabet,
 * in every store, address and list, however long the identifier is. The record holds the identifier, and is compared.
 */
export const clientKey = (identifier: ClientIdentifier): ClientId =>
  isBrought(identifier) ? knownOf(identifier).key : identifier

/** Of whatever stands for a client in a form or a command: its identifier, or the key itself. */
export const readClientKey = (text: unknown): Option.Option<ClientId> =>
  Option.map(readClientIdentifier(text), clientKey)

/** As people know who is behind a document: `claude.ai`, with a port where it has one. */
export const hostOf = (address: DocumentAddress): string => new URL(address).host
