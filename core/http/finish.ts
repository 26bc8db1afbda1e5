import { corsHeaders, noSniffing, wholeOf } from "./commonHeaders.ts"
import type { HeaderPairs, HttpRequest, HttpResponse } from "./Http.ts"
import type { Route } from "./Route.ts"

/** An answer whose headers are one list for many answers, and its request's id: a runtime may prepare that list once. */
export class SharedAnswer implements HttpResponse {
  readonly status: number
  readonly body: string
  readonly common: HeaderPairs
  readonly requestId: string

  constructor(status: number, body: string, common: HeaderPairs, requestId: string) {
    this.status = status
    this.body = body
    this.common = common
    this.requestId = requestId
  }

  get headers(): HeaderPairs {
    return [...this.common, requestIdHeader(this.requestId)]
  }
}

/** The same with its headers as a property like any other, for hosts, who may copy it. */
export const wholeAnswer = (answer: HttpResponse): HttpResponse =>
  answer instanceof SharedAnswer ? { status: answer.status, headers: answer.headers, body: answer.body } : answer

const requestIdHeader = (requestId: string) => ["x-request-id", requestId] as const

const isNoSniffing = ([name]: HeaderPairs[number]): boolean => name === noSniffing[0]

export const withRequestId = (requestId: string, response: HttpResponse): HttpResponse => ({
  ...response,
  headers: [...response.headers, requestIdHeader(requestId)]
})

/** What every answer carries. */
export const finish = (
  requestId: string,
  request: HttpRequest,
  route: Route | undefined,
  response: HttpResponse
): HttpResponse => {
  const cors = route?.cors === true
  const isHead = request.method === "HEAD"
  const common = wholeOf(response.headers, cors)
  if (common !== undefined && !isHead) return new SharedAnswer(response.status, response.body, common, requestId)
  const headers = [...response.headers, requestIdHeader(requestId)]
  if (!response.headers.some(isNoSniffing)) headers.push(noSniffing)
  if (cors) headers.push(...corsHeaders)
  if (!isHead) return { status: response.status, headers, body: response.body }
  headers.push(lengthOf(response.body))
  return { status: response.status, headers, body: "" }
}

/** RFC 9110 §8.6: a HEAD's length is that of the body which a GET would have. No runtime can know it any more. */
const lengthOf = (body: string) => ["content-length", String(utf8.encode(body).length)] as const

const utf8 = new TextEncoder()
