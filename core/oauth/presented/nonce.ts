import { Result } from "effect"
import { base64Url, readBase64Url, textLength } from "../../codec/Base64Url.ts"
import { macLength } from "../../codec/Sha256.ts"
import { dpopNonceHeader } from "../../http/answer.ts"
import { type Instant, type Millis, minute } from "../../rules/Instant.ts"
import type { Policy } from "../../rules/Policy.ts"
import { UseDpopNonce } from "../../rules/Refusal.ts"
import { readNumber, writeNumber } from "../../token/bytes.ts"
import { holdsAt, type Keys, keyIdLength, type Place, type Sealer } from "../../token/KeyRing.ts"
import type { Nonces } from "./Presentation.ts"

// A nonce says in which period it was made, under a MAC: no process keeps any, and each that has the ring knows them all.

/** The one before is taken too, so that a nonce is good for one to two of these. */
const period: Millis = minute

const numberLength = 4
const length = keyIdLength + numberLength + macLength

const periodAt = (now: Instant): number => Math.floor(now / period)

const write = (sealer: Sealer, place: Place, at: number): string => {
  const bytes = new Uint8Array(length)
  bytes.set(sealer.first.idBytes)
  writeNumber(bytes, keyIdLength, numberLength, at)
  sealer.under(sealer.first, place, "nonce").seal(bytes)
  return base64Url(bytes)
}

/** The period of a nonce that this server made in this place; `undefined` for any other text. */
const periodIn = (sealer: Sealer, place: Place, text: string): number | undefined => {
  if (text.length !== textLength(length)) return undefined
  const bytes = readBase64Url(text)
  if (bytes === undefined) return undefined
  const key = sealer.findByNumber(readNumber(bytes, 0, keyIdLength))
  return key !== undefined && holdsAt(sealer, key, place, "nonce", bytes)
    ? readNumber(bytes, keyIdLength, numberLength)
    : undefined
}

/** Where the policy asks for a nonce: at the endpoints of the server, or at resources too. */
export const asksNonce = ({ dpopNonce }: Policy, at: Parameters<Nonces["judge"]>[0]): boolean =>
  dpopNonce === "all" || (dpopNonce === "auth" && at === "auth")

const nothing = Result.succeed([])

/** RFC 9449 §8. */
export const makeNonces = (keys: Keys["Service"], policy: Policy): Nonces => ({
  judge: (at, place, shown, now) => {
    if (!asksNonce(policy, at)) return nothing
    const sealer = keys.current()
    const current = periodAt(now)
    const nonce = () => write(sealer, place, current)
    if (typeof shown !== "string") return Result.fail(new UseDpopNonce({ reason: "nonce_missing", nonce: nonce() }))
    const made = periodIn(sealer, place, shown)
    // Another process may be a little ahead.
    if (made === undefined || made < current - 1 || made > current + 1) {
      return Result.fail(new UseDpopNonce({ reason: "nonce_stale", nonce: nonce() }))
    }
    // RFC 9449 §8.2: the next one comes with an answer, so that a busy client is never turned away.
    return made < current ? Result.succeed([[dpopNonceHeader, nonce()]]) : nothing
  }
})
