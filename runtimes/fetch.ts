import type { HttpRequest, HttpResponse } from "../core/http/Http.ts"
import { bodyLimit, tooLarge, unreadable } from "./bodyLimit.ts"
import type { Serve } from "./Serve.ts"

export { type FetchMount, fetchMount, type HonoMount, honoMount } from "./fetch/mount.ts"
export { type Serve, serveWith } from "./Serve.ts"

/** A request's peer is asked for seldom and costs something, so it is a question here, not an answer. */
export type PeerOf = () => string | undefined

/** `peer`: the caller's address, from a source that the caller can't write. */
export type FetchHandler = (request: Request, peer?: PeerOf) => Response | Promise<Response>

class WebRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Headers
  readonly body: string
  readonly #peer: PeerOf | undefined

  constructor(request: Request, headers: Headers, body: string, peer: PeerOf | undefined) {
    const { url } = request
    // `scheme://host` has at least eight characters. Without a host (HTTP/1.0) the path stands alone.
    const start = url.charCodeAt(0) === 47 ? 0 : url.indexOf("/", 8)
    const fragment = url.indexOf("#")
    const end = fragment === -1 ? url.length : fragment
    const question = url.indexOf("?")
    const hasQuery = question !== -1 && question < end
    this.method = request.method
    this.path = start === -1 ? "/" : url.slice(start, hasQuery ? question : end)
    this.query = hasQuery ? url.slice(question + 1, end) : ""
    this.headers = headers
    this.body = body
    this.#peer = peer
  }

  get peer(): string | undefined {
    return this.#peer?.()
  }
}

/** `Request` in, `Response` out: for Bun, Deno, Workers, and every framework that speaks them. */
export const fetchHandler =
  (serve: Serve): FetchHandler =>
  (request, peer) => {
    const { headers, method } = request
    const bare = method === "GET" || method === "HEAD"
    const answer = (body: string) => {
      const response = serve(new WebRequest(request, headers, bare ? "" : body, peer))
      return response instanceof Promise ? response.then(toResponse) : toResponse(response)
    }
    const answerRead = (read: Read) => (typeof read === "string" ? answer(read) : toResponse(read))
    const length = headers.get("content-length")
    if (length !== null) {
      if (Number(length) > bodyLimit) return toResponse(tooLarge())
      return length === "0" ? answer("") : readShort(request).then(answerRead)
    }
    if (bare && !headers.has("transfer-encoding")) return answer("")
    return request.body === null ? answer("") : readLong(request.body).then(answerRead)
  }

/** A body, or the answer to a request whose body is not to be had. */
type Read = string | HttpResponse

const readShort = (request: Request): Promise<Read> =>
  request.text().then(
    // What a caller in this process says about the length need not be true.
    (text) => (text.length > bodyLimit ? tooLarge() : text),
    () => unreadable()
  )

const readLong = async (body: ReadableStream<Uint8Array>): Promise<Read> => {
  const reader = body.getReader()
  const chunks: Array<Uint8Array> = []
  let size = 0
  try {
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

export const toResponse = ({ status, headers, body }: HttpResponse): Response =>
  new Response(body === "" ? null : body, {
    status,
    // Nobody changes the pairs: the type of the platform only fails to say so.
    headers: headers as Array<[string, string]>
  })
