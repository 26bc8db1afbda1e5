import { watchArrivals } from "../adapters/watchArrivals.ts"
import type { HttpRequest, HttpResponse } from "../core/http/Http.ts"
import type { Serve } from "./Serve.ts"

export type Answered = HttpResponse | Promise<HttpResponse>

/** As `Serve`, and hands the answer over when its turn has come. Whoever throws at it costs nobody else an answer. */
export type Ask = (request: HttpRequest, take: (answered: Answered) => void) => void

/** A request of a host's own `Serve` that throws is that request's fault alone. */
export const attempt = (serve: Serve, request: HttpRequest): Answered => {
  try {
    return serve(request)
  } catch (defect) {
    return Promise.reject(defect)
  }
}

/**
 * Answers what came in one turn of the event loop together, at its end. Between two requests a processor runs the
 * kernel's code and the runtime's, and has forgotten ours by the next: one after the other they take half the time. As
 * long as they come one by one, nobody waits for the end of a turn; the first of a crowd does not either.
 */
export const gather = (serve: Serve): Ask => {
  const comesAlone = watchArrivals()
  let requests: Array<HttpRequest> = []
  let takers: Array<(answered: Answered) => void> = []
  const endTurn = () => {
    const asked = requests
    const taking = takers.values()
    requests = []
    takers = []
    const answers = asked.map((request) => attempt(serve, request))
    let thrown: { readonly defect: unknown } | undefined
    for (const answered of answers) {
      try {
        taking.next().value?.(answered)
      } catch (defect) {
        thrown ??= { defect }
      }
    }
    if (thrown !== undefined) throw thrown.defect
  }
  return (request, take) => {
    if (comesAlone()) return take(attempt(serve, request))
    if (requests.length === 0) setImmediate(endTurn)
    requests.push(request)
    takers.push(take)
  }
}
