import { Option, Schema } from "effect"
import { base64Url, hexOf, readBase64Url } from "../codec/Base64Url.ts"
import { macLength } from "../codec/Sha256.ts"
import { upcast } from "../engine/Records.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import { holdsAt, keyIdLength, type Place, type Sealer } from "../token/KeyRing.ts"
import { AuthorizationRequest, requestKind, ShownClient } from "./AuthorizationRequest.ts"

/** What a consent page brings back: the request as it was read and checked, and what the page said of its client. */
export const Ticket = Schema.Struct({
  /** Of the person and the session that the page was drawn for. */
  reader: Digest,
  request: AuthorizationRequest.cases.Waiting,
  shown: ShownClient,
  /** Whether the page asked where. */
  chooses: Schema.optionalKey(Schema.Boolean)
})
export type Ticket = typeof Ticket.Type

export const readerOf = ({ session, user }: Pick<SignedIn, "session" | "user">): Digest =>
  digestOf(JSON.stringify([session, user]))

const version = 5
/** Of pages that stood open while the server was brought up to date, and the version of the request in each. */
const versionsBefore: ReadonlyMap<number, number> = new Map([
  [3, 1],
  [4, 2]
])
const headLength = 1 + keyIdLength
const utf8 = new TextEncoder()
const utf8Reader = new TextDecoder()
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Ticket))

const Older = Schema.fromJsonString(
  Schema.Struct({ reader: Schema.Json, request: Schema.Record(Schema.String, Schema.Json), shown: Schema.Json })
)
const decodeOlder = Schema.decodeUnknownOption(Older)
const readTicket = Schema.decodeUnknownOption(Ticket)

const ticketOf = (written: number, text: string): Option.Option<Ticket> => {
  const before = versionsBefore.get(written)
  return before === undefined
    ? decode(text)
    : Option.flatMap(decodeOlder(text), (older) =>
        readTicket({ ...older, request: upcast(requestKind, older.request, before) })
      )
}

/**
 * Version, key id, the ticket as JSON, and a MAC over these: a consent page is answered by what this server read, and
 * nothing else that comes with the answer is believed.
 */
export const sealTicket = (sealer: Sealer, place: Place, ticket: Ticket): string => {
  const body = utf8.encode(JSON.stringify(ticket))
  const bytes = new Uint8Array(headLength + body.length + macLength)
  bytes[0] = version
  bytes.set(sealer.first.idBytes, 1)
  bytes.set(body, headLength)
  sealer.under(sealer.first, place, "ticket").seal(bytes)
  return base64Url(bytes)
}

/** Nothing where this server did not seal it, in this form and for this place. */
export const openTicket = (sealer: Sealer, place: Place, text: string): Ticket | undefined => {
  const bytes = readBase64Url(text)
  if (bytes === undefined || bytes.length < headLength + macLength) return undefined
  const [written = 0] = bytes
  if (written !== version && !versionsBefore.has(written)) return undefined
  const key = sealer.find(hexOf(bytes, 1, headLength))
  if (key === undefined || !holdsAt(sealer, key, place, "ticket", bytes)) return undefined
  const json = utf8Reader.decode(bytes.subarray(headLength, bytes.length - macLength))
  return Option.getOrUndefined(ticketOf(written, json))
}
