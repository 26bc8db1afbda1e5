import { corsHeaders } from "../core/http/commonHeaders.ts"
import type { HttpRequest, HttpResponse } from "../core/http/Http.ts"
import { hexOf } from "../core/rules/Hex.ts"

/** Is told what was answered without `serve`, and to whom: a request without its body, and perhaps without a real path. */
export type OnTurnedAway = (request: HttpRequest, answer: HttpResponse) => void

const requestIdLength = 8

/**
 * What every answer carries, for one that a runtime gives before the core has seen the request. It says the same to
 * everybody at every path, so a script of any origin may read that it has to come back later, or with less.
 */
export const turnedAway = (answer: HttpResponse): HttpResponse => ({
  ...answer,
  headers: [
    ...answer.headers,
    ["x-request-id", hexOf(crypto.getRandomValues(new Uint8Array(requestIdLength)))],
    ...corsHeaders
  ]
})
