import { Effect } from "effect"
import { SharedAnswer } from "../../core/http/answer.ts"
import type { HeaderPairs, HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import type { Serve } from "../../core/serve.ts"
import { type Answered, attempt, batchRequests, type InItsContext } from "../serve/batchRequests.ts"
import { answerThrown, harmless, insteadOf, type Log } from "../serve/defect.ts"
import type { OnEarlyAnswer } from "../serve/limitConcurrency.ts"
import { bodyLimit, targetOf, tooLarge, unreadable, webHeaders } from "../serve/request.ts"

/** A request's peer is asked for seldom and costs something, so it is a question here, not an answer. */
export type PeerOf = () => string | null | undefined

/** `peer`: the caller's address, from a source that the caller can't write. */
export type Handler = (request: Request, peer?: PeerOf) => Response | Promise<Response>

class WebRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: HttpRequest["headers"]
  readonly body: string
  readonly #peer: PeerOf | undefined

  constructor(request: Request, body: string, peer: PeerOf | undefined) {
    const { path, query } = targetOf(request.url)
    this.method = request.method
    this.path = path
    this.query = query
    this.headers = webHeaders(request)
    this.body = body
    this.#peer = peer
  }

  get peer(): string | undefined {
    // Bun, Deno, Next and Hono hand their handlers something of their own beside the request.
    return typeof this.#peer === "function" ? (this.#peer() ?? undefined) : undefined
  }
}

/** What becomes of a request once its body is there. */
type Answer = (request: WebRequest) => Response | Promise<Response>

const isReading = ({ method }: { readonly method: string }): boolean => method === "GET" || method === "HEAD"

const handlerOf = (answer: Answer, onEarlyAnswer?: OnEarlyAnswer): Handler => {
  const refuse = (request: Request, peer: PeerOf | undefined, refusal: HttpResponse): Response => {
    onEarlyAnswer?.(new WebRequest(request, "", peer), refusal)
    return toResponse(refusal)
  }
  const answerShort = (request: Request, peer: PeerOf | undefined) =>
    request.text().then(
      // What a caller in this process says about the length need not be true.
      (text) =>
        text.length > bodyLimit ? refuse(request, peer, tooLarge()) : answer(new WebRequest(request, text, peer)),
      () => refuse(request, peer, unreadable())
    )
  const answerLong = (request: Request, body: ReadableStream<Uint8Array>, peer: PeerOf | undefined) =>
    readLong(body).then((read) =>
      typeof read === "string" ? answer(new WebRequest(request, read, peer)) : refuse(request, peer, read)
    )

  return (request, peer) => {
    // Nothing here asks what stands behind a GET (RFC 9110 §9.3.1), so it is not read.
    if (isReading(request)) return answer(new WebRequest(request, "", peer))
    const length = request.headers.get("content-length")
    if (length !== null) {
      if (Number(length) > bodyLimit) return refuse(request, peer, tooLarge())
      return length === "0" ? answer(new WebRequest(request, "", peer)) : answerShort(request, peer)
    }
    return request.body === null ? answer(new WebRequest(request, "", peer)) : answerLong(request, request.body, peer)
  }
}

/** What a host's own `Serve` answers need be nothing that a `Response` can be made of: a status, or a header. */
const respondingTo = (log: Log) => ({
  respond: (answer: HttpResponse): Response => {
    try {
      return toResponse(answer)
    } catch (defect) {
      return toResponse(insteadOf(answer, defect, log))
    }
  },
  fail: (defect: unknown): Response => toResponse(answerThrown(defect, log))
})

type Responding = ReturnType<typeof respondingTo>

const translated = ({ fail, respond }: Responding, answered: Answered): Response | Promise<Response> =>
  answered instanceof Promise ? answered.then(respond, fail) : respond(answered)

/**
 * `Request` in, `Response` out: for Bun, Deno, Workers, and every framework that speaks them. It never throws: what can't
 * be answered is a 500, and in the log: by `log`, or else on effect's default loggers.
 */
export const handler = (serve: Serve, log: Log = Effect.runFork): Handler => {
  const responding = respondingTo(log)
  return handlerOf((request) => translated(responding, attempt(serve, request)))
}

/**
 * The same for a process that answers many at once. Bun ends a connection whose next request comes before the answer to
 * a request that waits, so a plain GET, of which there is little to gain, does not.
 */
export const batchingHandler = (
  serve: Serve,
  contextOf: () => InItsContext,
  log: Log,
  onEarlyAnswer?: OnEarlyAnswer
): Handler => {
  const ask = batchRequests(serve, contextOf)
  const responding = respondingTo(log)
  const { fail, respond } = responding
  return handlerOf(
    (request) =>
      isReading(request) && request.headers.get("authorization") == null
        ? translated(responding, attempt(serve, request))
        : new Promise((resolve) =>
            ask(request, (answered) => {
              if (answered instanceof Promise) {
                void answered.then(
                  (answer) => resolve(respond(answer)),
                  (defect) => resolve(fail(defect))
                )
              } else resolve(respond(answered))
            })
          ),
    harmless(onEarlyAnswer, log)
  )
}

/** A body, or the answer to a request whose body is not to be had. */
type Read = string | HttpResponse

const readLong = async (body: ReadableStream<Uint8Array>): Promise<Read> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  try {
    // The host may have read it already, and still have it.
    const reader = body.getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      size += value.length
      if (size > bodyLimit) {
        void reader.cancel().catch(() => undefined)
        return tooLarge()
      }
      chunks.push(value)
    }
  } catch {
    return unreadable()
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return new TextDecoder().decode(bytes)
}

/** Making a `Headers` of pairs costs more than copying one, and most answers share theirs. */
const prepared = new WeakMap<HeaderPairs, Headers>()

/** Most callers ask for the same again. */
let last: { readonly pairs: HeaderPairs; readonly headers: Headers } | undefined

const prepare = (pairs: HeaderPairs): Headers => {
  if (last?.pairs === pairs) return last.headers
  const headers = prepared.get(pairs) ?? new Headers(asInit(pairs))
  prepared.set(pairs, headers)
  last = { pairs, headers }
  return headers
}

/** The platform does not change the pairs: its type only fails to say so. */
const asInit = (pairs: HeaderPairs) => pairs as Array<[string, string]>

export const toResponse = (answer: HttpResponse): Response => {
  const { body, status } = answer
  if (!(answer instanceof SharedAnswer)) {
    return new Response(body === "" ? null : body, { status, headers: asInit(answer.headers) })
  }
  // A response copies what it is given. To set the id there, in headers of its own, would take as long as a hash.
  const headers = prepare(answer.common)
  headers.set("x-request-id", answer.requestId)
  return new Response(body, { status, headers })
}
