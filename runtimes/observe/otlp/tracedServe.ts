import { Clock, Context, Effect, Exit, type ManagedRuntime, Option, Tracer } from "effect"
import type { HttpRequest, HttpResponse } from "../../../core/http/Http.ts"
import { Tessera } from "../../../core/http/Tessera.ts"
import { goingAway, type Serve } from "../../Serve.ts"
import { methodOf, patternOf, type RouteOf } from "../routePattern.ts"
import { readTraceparent } from "./traceparent.ts"

export interface TracedServe {
  readonly serve: Serve
  /** The span that led to an answer, for what is said of it afterwards. */
  readonly spanOf: (answer: HttpResponse) => Tracer.Span | undefined
}

/** `serveWith`, with a span for each request: named by its route, below the caller's where a `traceparent` says so. */
export const tracedServe = <E>(
  runtime: ManagedRuntime.ManagedRuntime<Tessera, E>,
  services: Context.Context<never>,
  routeOf: RouteOf,
  plain: Serve,
  isSampled: () => boolean
): TracedServe => {
  const tracer = Context.get(services, Tracer.Tracer)
  const clock = Context.get(services, Clock.Clock)
  const spans = new WeakMap<HttpResponse, Tracer.Span>()

  const begin = (request: HttpRequest, parent: Option.Option<Tracer.ExternalSpan>): Tracer.Span => {
    const method = methodOf(request.method)
    const route = patternOf(routeOf(request))
    const span = tracer.span({
      name: `${method} ${route}`,
      parent,
      annotations: Context.empty(),
      links: [],
      startTime: clock.currentTimeNanosUnsafe(),
      kind: "server",
      root: Option.isNone(parent),
      sampled: true
    })
    span.attribute("http.request.method", method)
    span.attribute("http.route", route)
    return span
  }

  const end = (span: Tracer.Span, exit: Exit.Exit<HttpResponse, E>): HttpResponse => {
    const answer = Exit.isSuccess(exit) ? exit.value : goingAway
    const requestId = answer.headers.find(([name]) => name === "x-request-id")?.[1]
    span.attribute("http.response.status_code", answer.status)
    if (requestId !== undefined) {
      span.attribute("tessera.request_id", requestId)
      spans.set(answer, span)
    }
    span.end(clock.currentTimeNanosUnsafe(), answer.status >= 500 ? Exit.fail(`status ${answer.status}`) : Exit.void)
    return answer
  }

  const serve: Serve = (request) => {
    // Whoever calls may be a stranger, so its sampled flag (W3C Trace Context §3.2.2.5) has the server do no work.
    if (!isSampled()) return plain(request)
    const span = begin(request, readTraceparent(request.headers.get("traceparent")))
    const fiber = runtime.runFork(
      Effect.withParentSpan(
        Effect.flatMap(Tessera, (tessera) => tessera.handle(request)),
        span
      )
    )
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return end(span, exit)
    return new Promise((resolve) => {
      fiber.addObserver((exit) => resolve(end(span, exit)))
    })
  }

  return { serve, spanOf: (answer) => spans.get(answer) }
}
