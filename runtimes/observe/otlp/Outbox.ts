import { type Cause, Deferred, Effect, Fiber, Option, Queue, Redacted } from "effect"
import * as HttpClient from "effect/http/HttpClient"
import { fromWeb } from "effect/http/HttpClientResponse"
import { systemCode } from "../../serve/defect.ts"

/** A batch on its way to the collector. */
interface Parcel {
  readonly url: string
  readonly body: string
}

interface OutboxOptions {
  /** Sent with every batch; they are secrets. */
  readonly headers: Redacted.Redacted<ReadonlyArray<readonly [name: string, value: string]>>
  /** Batches that wait at most; what comes on top is dropped and counted. */
  readonly room: number
  /** Milliseconds that a collector may take. */
  readonly timeout: number
  /** Milliseconds between the first and the second try; twice as long each time, up to 30 seconds. */
  readonly pause: number
  /** Milliseconds that the end of the scope waits for what is still here. */
  readonly patience: number
}

type Sent = { readonly _tag: "Taken" } | { readonly _tag: "Refused" | "Away"; readonly why: string }

const longestPause = 30_000
/** What a collector answers that may take the same batch later. */
const later = [408, 429, 502, 503, 504]

/** Never what it says itself: that may hold the address. */
const whyOf = (thrown: unknown): string =>
  systemCode(thrown) ?? (thrown instanceof Error ? thrown.name : "unknown failure")

const send = async (parcel: Parcel, { headers, timeout }: OutboxOptions): Promise<Sent> => {
  try {
    const answer = await fetch(parcel.url, {
      method: "POST",
      headers: [["content-type", "application/json"], ...Redacted.value(headers)].map(([name = "", value = ""]) => [
        name,
        value
      ]),
      body: parcel.body,
      // The headers are for this collector, not for wherever it may point to.
      redirect: "manual",
      signal: AbortSignal.timeout(timeout)
    })
    await answer.arrayBuffer()
    if (answer.ok) return { _tag: "Taken" }
    return { _tag: later.includes(answer.status) ? "Away" : "Refused", why: `status ${answer.status}` }
  } catch (thrown) {
    return { _tag: "Away", why: whyOf(thrown) }
  }
}

/**
 * A client for effect's exporters that takes every batch at once and sends them one after another, in the background.
 * A collector that is away or slow costs this much memory and no request any time; the log says when it begins, when it
 * is over, and what was lost.
 */
export const makeOutbox = Effect.fnUntraced(function* (options: OutboxOptions) {
  const parcels = yield* Queue.dropping<Parcel, Cause.Done>(options.room)
  const context = yield* Effect.context<never>()
  const ended = yield* Deferred.make<void>()
  let ending = false
  /** Batches that are neither taken nor lost yet. */
  let here = 0
  let lost = 0
  let away = false
  let overfull = false
  /** Whether one found no room since the batch that is on its way was first sent. */
  let droppedMeanwhile = false

  const dropped = Effect.suspend(() => {
    lost++
    droppedMeanwhile = true
    if (away || overfull) return Effect.void
    overfull = true
    return Effect.logWarning("the telemetry collector is too slow for what it is sent, and batches are lost").pipe(
      Effect.provideContext(context)
    )
  })

  const noted = Effect.fnUntraced(function* (sent: Sent) {
    if (sent._tag !== "Taken") {
      if (!away) yield* Effect.logWarning("the telemetry collector does not take what it is sent", { why: sent.why })
      away = true
      return
    }
    if (!away && (!overfull || droppedMeanwhile)) return
    yield* Effect.logInfo("the telemetry collector takes again what it is sent", { batchesLost: lost })
    away = false
    overfull = false
    lost = 0
  })

  /** Pauses, no longer than until the end comes, and says how long the next pause is. */
  const rest = Effect.fnUntraced(function* (pause: number) {
    if (ending) yield* Effect.sleep(pause)
    else if (Option.isSome(yield* Effect.timeoutOption(Deferred.await(ended), pause))) return options.pause
    return Math.min(pause * 2, longestPause)
  })

  const deliver = Effect.fnUntraced(function* (parcel: Parcel) {
    droppedMeanwhile = false
    for (let pause = options.pause; ; pause = yield* rest(pause)) {
      const sent = yield* Effect.promise(() => send(parcel, options))
      if (sent._tag === "Refused") lost++
      if (sent._tag !== "Away") here--
      yield* noted(sent)
      if (sent._tag !== "Away") return
    }
  })

  const sending = yield* Effect.forkScoped(Effect.ignore(Effect.forever(Effect.flatMap(Queue.take(parcels), deliver))))
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      ending = true
      yield* Queue.end(parcels)
      // A collector that is back by now gets the rest at once.
      yield* Deferred.succeed(ended, undefined)
      yield* Effect.timeoutOption(Fiber.await(sending), options.patience)
      const batchesLost = lost + here
      if (batchesLost === 0) return
      yield* Effect.logWarning("the telemetry collector did not take all before the end", { batchesLost })
    })
  )

  return HttpClient.make((request) =>
    Effect.suspend(() => {
      const { body } = request
      const text = body._tag === "Uint8Array" ? body.text : undefined
      const isTaken = text !== undefined && Queue.offerUnsafe(parcels, { url: request.url, body: text })
      if (isTaken) here++
      return Effect.as(isTaken ? Effect.void : dropped, fromWeb(request, new Response(null, { status: 200 })))
    })
  )
})
