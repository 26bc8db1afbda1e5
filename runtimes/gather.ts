import type { HttpRequest, HttpResponse } from "../core/http/Http.ts"
import type { Serve } from "./Serve.ts"

type Answered = HttpResponse | Promise<HttpResponse>

/** As `Serve`, and hands the answer over when its turn has come. */
export type Ask = (request: HttpRequest, take: (answered: Answered) => void) => void

/** A request of a host's own `Serve` that throws is that request's fault alone. */
const attempt = (serve: Serve, request: HttpRequest): Answered => {
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
  let requests: Array<HttpRequest> = []
  let takers: Array<(answered: Answered) => void> = []
  let isTurn = false
  /** How many of the turn did not wait for its end. */
  let ahead = 0
  let wasCrowd = false
  const endTurn = () => {
    wasCrowd = ahead + requests.length > 1
    isTurn = false
    ahead = 0
    const taking = takers.values()
    const answers = requests.map((request) => attempt(serve, request))
    requests = []
    takers = []
    for (const answered of answers) taking.next().value?.(answered)
  }
  return (request, take) => {
    const isFirst = !isTurn
    if (isFirst) {
      isTurn = true
      setImmediate(endTurn)
    }
    if (isFirst && !wasCrowd) {
      ahead = 1
      take(attempt(serve, request))
    } else {
      takers.push(take)
      requests.push(request)
    }
  }
}
