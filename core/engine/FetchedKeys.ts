import { Clock, Effect, Layer, Result } from "effect"
import { SizedLruMap } from "../cache/LruMap.ts"
import { parseJson } from "../codec/Json.ts"
import { ClientKeys, KeysFault } from "../ports/ClientKeys.ts"
import { type Asker, type Document, type DocumentFault, type DocumentLimits, Documents } from "../ports/Documents.ts"
import { day, hasPassed, type Instant, instantOf, later, minute, second } from "../rules/Instant.ts"
import { type JwkSetFault, type PublicKey, readJwkSet } from "../rules/Jwk.ts"

/** What a client's keys may take at its `jwks_uri`. */
export const keySetLimits: DocumentLimits = {
  longest: 64 * 1024,
  within: 5 * second,
  freshFor: { least: minute, most: day }
}

const limitsFor = ({ askedBy, vouchedBy }: Asker): DocumentLimits => ({ ...keySetLimits, askedBy, vouchedBy })

/** How long after a `kid` that is not known the address is not asked anew for another. */
const heldOffFor = 30 * second

/** An address that was asked again for the sake of a `kid`. */
interface Again {
  readonly since: Instant
  /** The keys of before, for as long as they are fresh: what came instead may be no key set. */
  readonly before: Document | undefined
  failed: boolean
}

/** 4 MiB of keys, and the last fifteen addresses at least. */
const mostAgain = 4 * 1024 * 1024
const sizeOf = ({ before }: Again) => 1024 + 2 * (before?.body.length ?? 0)

type KeySet = Result.Result<ReadonlyArray<PublicKey>, JwkSetFault>

/** Documents are immutable and kept by their adapter, so each is parsed once. */
const parsed = new WeakMap<Document, KeySet>()

const parse = (body: string): KeySet => readJwkSet(parseJson(body))

const keySetOf = (document: Document): KeySet => {
  const known = parsed.get(document)
  if (known !== undefined) return known
  const made = parse(document.body)
  parsed.set(document, made)
  return made
}

const select = (keys: ReadonlyArray<PublicKey>, kid: string | undefined) =>
  kid === undefined ? keys : keys.filter((key) => key.kid === kid)

const unreachable = new KeysFault({ reason: "unreachable" })
const malformed = new KeysFault({ reason: "malformed" })

/**
 * What a failed fetch says about the client. An address that was refused is told like one that is not there, so that
 * a client learns of no name in the private network.
 */
const faultOf = ({ reason }: DocumentFault): KeysFault => {
  switch (reason) {
    case "no_adapter":
      return new KeysFault({ reason })
    case "bad_address":
    case "redirected":
    case "not_json":
    case "too_long":
      return malformed
    default:
      return unreachable
  }
}

/** Keys from where they were registered to be. */
export const makeFetchedKeys = (documents: Documents["Service"], clock: Clock.Clock): ClientKeys["Service"] => {
  const again = new SizedLruMap<string, Again>(mostAgain, sizeOf)

  const isHeldOff = ({ since }: Again, now: Instant) => since <= now && !hasPassed(later(since, heldOffFor), now)

  /** For a `kid` that is not among the keys at hand: once at the address itself, and then held off. */
  const askAgain = (address: string, limits: DocumentLimits, kid: string | undefined, had: Document, now: Instant) => {
    const known = again.get(address)
    const heldOff = known !== undefined && isHeldOff(known, now) ? known : undefined
    if (heldOff?.failed === true) return Effect.fail(unreachable)
    const asked = heldOff ?? { since: now, before: Result.isSuccess(keySetOf(had)) ? had : undefined, failed: false }
    if (heldOff === undefined) again.set(address, asked)
    // Who is held off waits for the fetch that is under way, or finds what it brought.
    return Effect.matchEffect(documents.fetch(address, limits, asked.since), {
      onFailure: (fault) => {
        // No host was asked where all were busy.
        if (fault.reason !== "busy") asked.failed = true
        return Effect.fail(unreachable)
      },
      onSuccess: (document) => {
        const found = keySetOf(document)
        if (Result.isSuccess(found)) return Effect.succeed(select(found.success, kid))
        const { before } = asked
        const stillGood = before !== undefined && !hasPassed(before.freshUntil, now) ? keySetOf(before) : found
        return Result.isSuccess(stillGood) ? Effect.succeed(select(stillGood.success, kid)) : Effect.fail(malformed)
      }
    })
  }

  const find = (address: string, limits: DocumentLimits, kid: string | undefined) =>
    Effect.suspend(() => {
      const now = instantOf(clock)
      return Effect.matchEffect(documents.fetch(address, limits), {
        onFailure: (fault) => Effect.fail(faultOf(fault)),
        onSuccess: (document) => {
          const set = keySetOf(document)
          const found = Result.isSuccess(set) ? select(set.success, kid) : []
          return found.length > 0 || (kid === undefined && Result.isSuccess(set))
            ? Effect.succeed(found)
            : askAgain(address, limits, kid, document, now)
        }
      })
    })

  return {
    find: (_of, source, kid) => find(source.jwksUri, limitsFor(source), kid)
  }
}

export const layer: Layer.Layer<ClientKeys, never, Documents> = Layer.effect(
  ClientKeys,
  Effect.gen(function* () {
    return makeFetchedKeys(yield* Documents, yield* Clock.Clock)
  })
)
