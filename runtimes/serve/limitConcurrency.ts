import { hexOf } from "../../core/codec/Base64Url.ts"
import { corsHeaders } from "../../core/http/answer.ts"
import { oauthError } from "../../core/http/faults.ts"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { Overloaded } from "../../core/rules/Refusal.ts"
import type { Serve } from "../../core/serve.ts"

/** Is told what was answered without `serve`, and to whom: a request without its body, and perhaps without a real path. */
export type OnEarlyAnswer = (request: HttpRequest, answer: HttpResponse) => void

const requestIdLength = 8

/**
 * What every answer carries, for one that a runtime gives before the core has seen the request. It says the same to
 * every caller at every path, so a script of any origin may read that it has to come back later, or with less.
 */
export const earlyAnswer = (answer: HttpResponse): HttpResponse => ({
  ...answer,
  headers: [
    ...answer.headers,
    ["x-request-id", hexOf(crypto.getRandomValues(new Uint8Array(requestIdLength)))],
    ...corsHeaders
  ]
})

const overloaded: HttpResponse = oauthError(new Overloaded())

/** A request behind a thousand others is better told to come back than kept in a queue. */
export const requestsAtOnce = 1000

/** Turns away what is more than so many requests at once: a queue without an end helps no request in it. */
export const limitConcurrency = (serve: Serve, most: number): Serve => {
  let underWay = 0
  return (request) => {
    if (underWay >= most) return earlyAnswer(overloaded)
    const answer = serve(request)
    if (!(answer instanceof Promise)) return answer
    underWay++
    // `finally` makes three promises more, for every request that waits.
    return answer.then(
      (answered) => {
        underWay--
        return answered
      },
      (defect) => {
        underWay--
        throw defect
      }
    )
  }
}
