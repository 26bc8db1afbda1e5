import { detectBursts } from "../../adapters/batching/detectBursts.ts"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import type { Serve } from "../../core/serve.ts"

export type Answered = HttpResponse | Promise<HttpResponse>

/**
 * As `Serve`, and hands the answer over when its turn has come. A handler that throws costs no other request its
 * answer.
 */
export type Ask = (request: HttpRequest, take: (answered: Answered) => void) => void

interface Waiting {
  readonly request: HttpRequest
  readonly take: (answered: Answered) => void
  readonly inItsContext: InItsContext
}

/** A request of a host's own `Serve` that throws is that request's fault alone. */
export const attempt = (serve: Serve, request: HttpRequest): Answered => {
  try {
    return serve(request)
  } catch (defect) {
    return Promise.reject(defect)
  }
}

/** Runs what waited as if it had not: with what the host kept beside the request that came. */
export type InItsContext = <A>(work: () => A) => A

/** Each as it comes. */
export const atOnce =
  (serve: Serve): Ask =>
  (request, take) =>
    take(attempt(serve, request))

/**
 * Answers what came in one turn of the event loop together, at its end. Between two requests a processor runs the
 * kernel's code and the runtime's, and has forgotten ours by the next: one after the other they take half the time. As
 * long as they come one by one, no request waits for the end of a turn; the first of a crowd does not either.
 */
export const batchRequests = (serve: Serve, contextOf: () => InItsContext): Ask => {
  const comesAlone = detectBursts(setImmediate)
  let waiting: Array<Waiting> = []
  const endTurn = () => {
    const asked = waiting
    waiting = []
    const handings = asked.map(({ inItsContext, request, take }) => {
      const answered = inItsContext(() => attempt(serve, request))
      return () => inItsContext(() => take(answered))
    })
    let thrown: { readonly defect: unknown } | undefined
    for (const handOver of handings) {
      try {
        handOver()
      } catch (defect) {
        thrown ??= { defect }
      }
    }
    if (thrown !== undefined) throw thrown.defect
  }
  return (request, take) => {
    if (comesAlone()) return take(attempt(serve, request))
    if (waiting.length === 0) setImmediate(endTurn)
    waiting.push({ request, take, inItsContext: contextOf() })
  }
}
