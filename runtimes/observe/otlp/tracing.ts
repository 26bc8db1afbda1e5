import { Clock, Context, Effect, Exit, type Layer, type ManagedRuntime, Option, Tracer } from "effect"
import type { HttpRequest, HttpResponse } from "../../../core/http/Http.ts"
import type { Storage } from "../../../core/ports/Storage.ts"
import { goingAway, type Serve } from "../../../core/serve.ts"
import { Tessera } from "../../../core/Tessera.ts"
import type { OtlpSettings } from "../ObserveSettings.ts"
import { methodOf, patternOf, type RouteOf } from "../routePattern.ts"
import { otlpLayer } from "./otlpLayer.ts"

const form = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** W3C Trace Context §3.2: the caller's span, if the header is one. What is not is taken for none at all. */
export const readTraceparent = (header: string | null | undefined): Option.Option<Tracer.ExternalSpan> => {
  const [, version, traceId = "", spanId = "", flags = "", more] = form.exec(header ?? "") ?? []
  if (version === undefined || version === "ff" || (version === "00" && more !== undefined)) return Option.none()
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return Option.none()
  return Option.some(Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }))
}

interface TracedServe {
  readonly serve: Serve
  /** The span that led to an answer, for what is said of it afterwards. */
  readonly spanOf: (answer: HttpResponse) => Tracer.Span | undefined
}

/** `serveWith`, with a span for each request: named by its route, below the caller's where a `traceparent` says so. */
const tracedServe = <E>(
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
    // The caller may be a stranger, so its sampled flag (W3C Trace Context §3.2.2.5) has the server do no work.
    if (!isSampled()) return plain(request)
    const span = begin(request, readTraceparent(request.headers.get("traceparent")))
    const fiber = runtime.runFork(
      Effect.flatMap(Tessera, (tessera) => tessera.handle(request)).pipe(
        Effect.withParentSpan(span),
        Effect.withTracerEnabled(true)
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

/**
 * A span for a call to the store, below the span of a traced request. The call is inside of the span, since
 * SQLite has done a single write when it returns. Housekeeping is not traced.
 */
const traced = <A, E>(
  verb: keyof Storage["Service"],
  kind: string,
  call: () => Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.withFiber((fiber) =>
    fiber.cache.span?.sampled !== true
      ? call()
      : Effect.withSpan(Effect.suspend(call), `storage ${verb} ${kind}`, {
          kind: "client",
          attributes: { "db.operation.name": verb, "db.collection.name": kind },
          captureStackTrace: false
        })
  )

/** The store below, with a span for each call that a traced request makes. */
export const tracedStorage = ({ insertAndReplace, ...below }: Storage["Service"]): Storage["Service"] => ({
  get: (key) => traced("get", key.kind, () => below.get(key)),
  insert: (record) => traced("insert", record.kind, () => below.insert(record)),
  replace: (expected, record) => traced("replace", record.kind, () => below.replace(expected, record)),
  insertAndReplace:
    insertAndReplace &&
    ((added, expected, record) =>
      traced("insertAndReplace", record.kind, () => insertAndReplace(added, expected, record))),
  remove: (key) => traced("remove", key.kind, () => below.remove(key)),
  list: (listing) => traced("list", listing.kind, () => below.list(listing)),
  sweep: below.sweep
})

/** A server's traces, and its log, on their way to a collector. */
export interface Tracing {
  /** Stands on the loggers that are there, and adds one. */
  readonly layer: Layer.Layer<never>
  readonly storage: (below: Storage["Service"]) => Storage["Service"]
  readonly serve: <E>(
    runtime: ManagedRuntime.ManagedRuntime<Tessera, E>,
    services: Context.Context<never>,
    routeOf: RouteOf,
    plain: Serve
  ) => TracedServe
}

export const tracing = (settings: OtlpSettings): Tracing => ({
  layer: otlpLayer(settings),
  storage: tracedStorage,
  serve: (runtime, services, routeOf, plain) =>
    tracedServe(runtime, services, routeOf, plain, () => Math.random() < settings.share)
})
