import { Clock, Effect, Fiber, Result, type Scope } from "effect"
import { LruMap, SizedLruMap } from "../../core/cache/LruMap.ts"
import type { Document, DocumentFault, DocumentLimits, Documents } from "../../core/ports/Documents.ts"
import { hasPassed, type Instant, instantOf } from "../../core/rules/Instant.ts"
import { type Answer, fault, freshUntil, jsonText } from "./Answer.ts"
import type { AllowList } from "./FetchOptions.ts"
import { readTarget, type Target } from "./Target.ts"

/** One request, and its answer if the head was taken. It may be interrupted, and leaves nothing open then. */
export type Get = (target: Target, limits: DocumentLimits) => Effect.Effect<Answer, DocumentFault>

/** The same with a form, of whose answer the status is told alone. */
type Post = (target: Target, form: string) => Effect.Effect<number, DocumentFault>

/** Both ways of asking. */
export interface Exchanges {
  readonly get: Get
  readonly post: Post
}

/** 16 MiB of strangers' and of others' each, keys of the map included: 8 that fill their limit for a megabyte, or 16,000 small ones. */
const mostKept = 16 * 1024 * 1024
const sizeOf = ({ body }: Document) => 1024 + 2 * body.length

export const mostAtHost = 4

/** Of strangers' places, so many for those who ask from one network. */
export const mostForAsker = 8

/** How many may be under way at once of each kind, 64 of all. What hangs of one kind takes no place of another's. */
export const mostOf = { stranger: 32, person: 8, owner: 8, form: 16 }

/** Of one host, in so short a time. A host of many clients needs some; so many flood none through us. */
export const burstAtHost = 100
const refill = 100

/** How far a host has used its share: the moment at which all of it is there again (GCRA). */
interface Share {
  readonly restored: number
}

const mostShares = 10_000

const busy = fault("busy")
const notJson = fault("not_json")
const unreachable = fault("unreachable")
const timedOut = fault("timed_out")
const redirected = fault("redirected")

const counted = (counts: ReadonlyMap<string, number>, of: string): number => counts.get(of) ?? 0

const count = (counts: Map<string, number>, of: string, more: number): void => {
  const now = counted(counts, of) + more
  if (now === 0) counts.delete(of)
  else counts.set(of, now)
}

/** The places of one kind, of which each host has a few, and a share for a while. */
const makePlaces = (most: number) => {
  const underWay = new Map<string, number>()
  const askers = new Map<string, number>()
  const shares = new LruMap<string, Share>(mostShares)
  let taken = 0

  const takesShare = (host: string, now: Instant): boolean => {
    const full = now + burstAtHost * refill
    // A clock that was set back shuts no caller out for longer than a burst lasts.
    const used = Math.min(full, Math.max(now, shares.get(host)?.restored ?? 0))
    const takes = used + refill <= full
    shares.set(host, { restored: takes ? used + refill : used })
    return takes
  }

  return {
    enters: (host: string, now: Instant, asker?: string): boolean => {
      if (taken >= most || counted(underWay, host) >= mostAtHost) return false
      if (asker !== undefined && counted(askers, asker) >= mostForAsker) return false
      if (!takesShare(host, now)) return false
      count(underWay, host, 1)
      if (asker !== undefined) count(askers, asker, 1)
      taken += 1
      return true
    },
    leave: (host: string, asker?: string): void => {
      count(underWay, host, -1)
      if (asker !== undefined) count(askers, asker, -1)
      taken -= 1
    }
  }
}

/** Who waits, what is kept, and how much may be under way, whatever the requests go by. */
export const makeDocuments = (
  { get, post: send }: Exchanges,
  allow: AllowList
): Effect.Effect<Documents["Service"], never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const clock = yield* Clock.Clock
    const fork = Effect.runForkWith(context)
    const ofStrangers = new SizedLruMap<string, Document>(mostKept, sizeOf)
    const vouchedFor = new SizedLruMap<string, Document>(mostKept, sizeOf)
    const flights = new Map<string, Fiber.Fiber<Document, DocumentFault>>()
    const places = {
      stranger: makePlaces(mostOf.stranger),
      person: makePlaces(mostOf.person),
      owner: makePlaces(mostOf.owner),
      form: makePlaces(mostOf.form)
    }
    yield* Effect.addFinalizer(() => Effect.suspend(() => Fiber.interruptAll(flights.values())))

    const read = (answer: Answer, fetchedAt: Instant, limits: DocumentLimits) => {
      const body = jsonText(answer.body)
      if (body === undefined) return Effect.fail(notJson)
      return Effect.succeed({ body, fetchedAt, freshUntil: freshUntil(answer, fetchedAt, limits) })
    }

    /** Its own fiber: a waiter that goes away takes nothing with it that others wait for. */
    const begin = (key: string, target: Target, limits: DocumentLimits, now: Instant) => {
      const { host } = target
      const { enters, leave } = places[limits.vouchedBy ?? "stranger"]
      const kept = limits.vouchedBy === undefined ? ofStrangers : vouchedFor
      const asker = limits.vouchedBy === undefined ? limits.askedBy?.() : undefined
      if (!enters(host, now, asker)) return undefined
      const fiber = fork(
        get(target, limits).pipe(
          Effect.flatMap((answer) => read(answer, now, limits)),
          Effect.timeoutOrElse({ duration: limits.within, orElse: () => Effect.fail(timedOut) }),
          // What the platform throws at an odd name is told like a name that does not exist.
          Effect.catchDefect(() => Effect.fail(unreachable)),
          Effect.tap((document) => Effect.sync(() => kept.set(key, document))),
          // The host alone: what stands behind it may be a secret.
          Effect.tapError(({ reason }) => Effect.logWarning("a document could not be fetched", { host, reason }))
        )
      )
      flights.set(key, fiber)
      fiber.addObserver(() => {
        flights.delete(key)
        leave(host, asker)
      })
      return fiber
    }

    const isFresh = ({ fetchedAt, freshUntil }: Document, now: Instant, asOf: Instant) =>
      asOf <= fetchedAt && fetchedAt <= now && !hasPassed(freshUntil, now)

    /** Where others left a fresh one, it is the asker's too: what strangers have kept goes when more of theirs comes. */
    const freshAt = (key: string, { vouchedBy }: DocumentLimits, now: Instant, asOf?: Instant) => {
      const [own, others] = vouchedBy === undefined ? [ofStrangers, vouchedFor] : [vouchedFor, ofStrangers]
      const found = [own.get(key), others.get(key)].find(
        (known) => known !== undefined && isFresh(known, now, asOf ?? known.fetchedAt)
      )
      if (found !== undefined && vouchedBy !== undefined && own.get(key) !== found) own.set(key, found)
      return found
    }

    const fetch = (address: string, limits: DocumentLimits, asOf?: Instant) =>
      Effect.suspend((): Effect.Effect<Document, DocumentFault> => {
        const now = instantOf(clock)
        const { freshFor, longest, within } = limits
        const key = `${longest} ${within} ${freshFor.least} ${freshFor.most} ${address}`
        const known = freshAt(key, limits, now, asOf)
        if (known !== undefined) return Effect.succeed(known)
        const flight = flights.get(key)
        if (flight !== undefined) return Fiber.join(flight)
        const target = readTarget(address, allow)
        if (Result.isFailure(target)) return Effect.fail(target.failure)
        const begun = begin(key, target.success, limits, now)
        return begun === undefined ? Effect.fail(busy) : Fiber.join(begun)
      })

    const post: Documents["Service"]["post"] = (address, form, { within }) =>
      Effect.suspend((): Effect.Effect<number, DocumentFault> => {
        const target = readTarget(address, allow)
        if (Result.isFailure(target)) return Effect.fail(target.failure)
        const { host } = target.success
        if (!places.form.enters(host, instantOf(clock))) return Effect.fail(busy)
        return send(target.success, form).pipe(
          Effect.flatMap((status) =>
            status >= 300 && status < 400 ? Effect.fail(redirected) : Effect.succeed(status)
          ),
          Effect.timeoutOrElse({ duration: within, orElse: () => Effect.fail(timedOut) }),
          Effect.catchDefect(() => Effect.fail(unreachable)),
          Effect.tapError(({ reason }) => Effect.logWarning("a form could not be sent", { host, reason })),
          Effect.ensuring(Effect.sync(() => places.form.leave(host)))
        )
      })
    return { fetch, post }
  })
