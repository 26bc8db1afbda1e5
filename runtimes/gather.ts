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
 * kernel's code and the runtime's, and has forgotten ours by the next: one after the other they take half the time. One
 * that comes alone waits for nobody.
 */
export const gather = (serve: Serve): Ask => {
  let requests: Array<HttpRequest> = []
  let takers: Array<(answered: Answered) => void> = []
  const answerAll = () => {
    const taking = takers.values()
    const answers = requests.map((request) => attempt(serve, request))
    requests = []
    takers = []
    for (const answered of answers) taking.next().value?.(answered)
  }
  return (request, take) => {
    takers.push(take)
    if (requests.push(request) === 1) setImmediate(answerAll)
  }
}
