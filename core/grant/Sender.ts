import { Schema } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import type { GrantId } from "../rules/Id.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { Place, Sealer } from "../token/KeyRing.ts"

const markLength = 8

/** 64 bits of a MAC as base64url. The last of its characters has two bits that say nothing, and are 0. */
const Mark = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{10}[AEIMQUYcgkosw048]$/))

/** By these a sender is known again, and the reader of a record learns no address or browser from them. */
export const SenderMarks = Schema.Struct({
  /** `null`: the host did not say where the request came from. */
  network: Schema.NullOr(Mark),
  userAgent: Mark
})
export type SenderMarks = typeof SenderMarks.Type

/** Where a request came from, in the clear: never kept. */
export interface Sender {
  readonly network: string | undefined
  /** Empty where it named none. */
  readonly userAgent: string
}

/** The marks of this request's sender under a key of the ring, by its id; `null` where the ring has lost the key. */
export type MarkSender = (keyId: string) => SenderMarks | null

const utf8 = new TextEncoder()

/** The grant is in each mark, so that two grants of one sender have no mark in common. */
export const markSender =
  (sealer: Sealer, place: Place, grant: GrantId, senderOf: () => Sender): MarkSender =>
  (keyId) => {
    const key = sealer.find(keyId)
    if (key === undefined) return null
    const { network, userAgent } = senderOf()
    const mark = (what: "network" | "agent", text: string): string =>
      base64Url(sealer.mac(key, place, "sender", utf8.encode(`${grant} ${what} ${text}`)), markLength)
    return {
      network: network === undefined ? null : mark("network", network),
      userAgent: mark("agent", userAgent)
    }
  }

export type Likeness = "same" | "other" | "unknown"

/** How the sender of a retry compares with that of the request that it repeats. */
export interface Retry {
  readonly network: Likeness
  readonly userAgent: Likeness
}

const likeness = (firstMac: string | null | undefined, nextMac: string | null | undefined): Likeness => {
  if (typeof firstMac !== "string" || typeof nextMac !== "string") return "unknown"
  return sameDigest(firstMac, nextMac) ? "same" : "other"
}

export const compareSenders = (first: SenderMarks | null, again: SenderMarks | null): Retry => ({
  network: likeness(first?.network, again?.network),
  userAgent: likeness(first?.userAgent, again?.userAgent)
})
