import type { HttpRequest, HttpResponse } from "../../../core/http/Http.ts"
import type { Route } from "../../../core/http/Route.ts"
import type { Serve } from "../../../core/serve.ts"
import { limitConcurrency, type OnEarlyAnswer } from "../../serve/limitConcurrency.ts"
import { methodOf, patternOf, type RouteOf } from "../routePattern.ts"
import type { Count, Meters, Spread } from "./Meters.ts"

interface Method {
  readonly took: Spread
  /** By the first digit of the status, made when it is first needed. */
  readonly answers: Array<Count | undefined>
}

interface Endpoint {
  readonly pattern: string
  readonly bearer: boolean
  readonly methods: Map<string, Method>
}

/** How often callers showed a token at the routes that want one, and what it was worth. */
const bearerMeters = (meters: Meters) => {
  const outcome = (word: string) =>
    meters.count("tessera_bearer_checks_total", "Bearer tokens and keys that were checked, by outcome.", {
      outcome: word
    })
  const accepted = outcome("accepted")
  const none = outcome("none")
  const invalid = outcome("invalid")
  const insufficient = outcome("insufficient_scope")
  return (request: HttpRequest, { status }: HttpResponse): void => {
    if (status <= 400) accepted.value++
    else if (status === 403) insufficient.value++
    else if (status === 401) (request.headers.get("authorization") ? invalid : none).value++
  }
}

/** What became of requests that came with a proof of DPoP (RFC 9449), at whichever endpoint. */
const proofMeters = (meters: Meters) => {
  const outcome = (word: string) =>
    meters.count("tessera_dpop_total", "Requests with a proof of DPoP, by outcome.", { outcome: word })
  const accepted = outcome("accepted")
  const refused = outcome("refused")
  // The errors of RFC 9449, in a challenge or in the body.
  const errors = [
    ["use_dpop_nonce", outcome("nonce_asked")],
    ["invalid_dpop_proof", outcome("invalid")]
  ] as const
  return ({ body, headers, status }: HttpResponse): void => {
    const told = status < 400 ? "" : [body, ...headers.map(([, value]) => value)].join(" ")
    const count = status < 400 ? accepted : (errors.find(([error]) => told.includes(`"${error}"`))?.[1] ?? refused)
    count.value++
  }
}

export interface MeteredServe {
  readonly serve: Serve
  /** Counts what was answered without `serve`. */
  readonly onEarlyAnswer: OnEarlyAnswer
}

/** `serve` as `limitConcurrency` limits it, with every request counted and timed. */
export const meteredServe = (meters: Meters, routeOf: RouteOf, serve: Serve, most: number): MeteredServe => {
  const endpoints = new Map<Route | undefined, Endpoint>()
  const byPattern = new Map<string, Endpoint>()
  const shedRequests = meters.count(
    "tessera_requests_shed_total",
    "Requests turned away because there were too many at once."
  )
  const checked = bearerMeters(meters)
  const proven = proofMeters(meters)
  let underWay = 0
  meters.gauge("tessera_requests_in_flight", "Requests that wait for their answer.", () => underWay)

  const endpointOf = (route: Route | undefined): Endpoint => {
    const pattern = patternOf(route)
    const known = byPattern.get(pattern)
    const endpoint = known ?? { pattern, bearer: route?.errors === "bearer", methods: new Map() }
    byPattern.set(pattern, endpoint)
    endpoints.set(route, endpoint)
    return endpoint
  }

  const methodAt = (endpoint: Endpoint, method: string): Method => {
    const named = methodOf(method)
    const known = endpoint.methods.get(named)
    if (known !== undefined) return known
    const made: Method = {
      took: meters.spread("tessera_request_seconds", "How long requests took, from the whole request to the answer.", {
        endpoint: endpoint.pattern,
        method: named
      }),
      answers: []
    }
    endpoint.methods.set(named, made)
    return made
  }

  const answersAt = (endpoint: Endpoint, method: string, { answers }: Method, digit: number): Count => {
    const made = meters.count("tessera_requests_total", "Requests that were answered.", {
      endpoint: endpoint.pattern,
      method: methodOf(method),
      status: `${digit}xx`
    })
    answers[digit] = made
    return made
  }

  const count = (request: HttpRequest, endpoint: Endpoint, answer: HttpResponse): Method => {
    const method = endpoint.methods.get(request.method) ?? methodAt(endpoint, request.method)
    const digit = Math.floor(answer.status / 100)
    const answers = method.answers[digit] ?? answersAt(endpoint, request.method, method, digit)
    answers.value++
    return method
  }

  const endpointFor = (request: HttpRequest): Endpoint => {
    const route = routeOf(request)
    return endpoints.get(route) ?? endpointOf(route)
  }

  const note = (request: HttpRequest, start: number, answer: HttpResponse): HttpResponse => {
    const took = (performance.now() - start) / 1000
    const endpoint = endpointFor(request)
    count(request, endpoint, answer).took.add(took)
    if (request.headers.get("dpop")) proven(answer)
    if (endpoint.bearer && request.method !== "OPTIONS") checked(request, answer)
    return answer
  }

  let reached = false
  const limited = limitConcurrency((request) => {
    reached = true
    return serve(request)
  }, most)

  return {
    serve: (request) => {
      const start = performance.now()
      reached = false
      const answer = limited(request)
      if (!reached) shedRequests.value++
      if (!(answer instanceof Promise)) return note(request, start, answer)
      underWay++
      return answer.then((answered) => {
        underWay--
        return note(request, start, answered)
      })
    },
    // Never whole, it took no time that would say anything of the others, and no token was looked at.
    onEarlyAnswer: (request, answer) => void count(request, endpointFor(request), answer)
  }
}
