import { Option, Result, Schema } from "effect"
import { base64Url, readBase64Url } from "../codec/Base64Url.ts"
import { upcast } from "../engine/Records.ts"
import type { SignedIn } from "../ports/ResourceOwner.ts"
import { Digest, digestOf } from "../rules/Secret.ts"
import { openEnvelope, sealEnvelope } from "../token/Envelope.ts"
import type { Place, Sealer } from "../token/KeyRing.ts"
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

/** A consent page is answered by what this server read, and nothing else that comes with the answer is believed. */
export const sealTicket = (sealer: Sealer, place: Place, ticket: Ticket): string =>
  base64Url(sealEnvelope(sealer, place, "ticket", version, utf8.encode(JSON.stringify(ticket))))

/** Nothing where this server did not seal it, in this form and for this place. */
export const openTicket = (sealer: Sealer, place: Place, text: string): Ticket | undefined => {
  const opened = openEnvelope(sealer, place, "ticket", [version, ...versionsBefore.keys()], readBase64Url(text))
  if (Result.isFailure(opened)) return undefined
  return Option.getOrUndefined(ticketOf(opened.success.version, utf8Reader.decode(opened.success.body)))
}
