import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createTlsServer, type Server as TlsServer } from "node:https"
import { Server as NetServer, type Socket } from "node:net"
import type { SecureContextOptions } from "node:tls"
import { Effect } from "effect"
import { SharedAnswer, secretJson } from "../../core/http/answer.ts"
import type { HeaderPairs, HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import type { Serve } from "../../core/serve.ts"
import { type Ask, atOnce, batchRequests, type InItsContext } from "../serve/batchRequests.ts"
import { answerThrown, harmless, insteadOf, type Log, pairsIn } from "../serve/defect.ts"
import { earlyAnswer, type OnEarlyAnswer } from "../serve/limitConcurrency.ts"
import {
  bodyLimit,
  nodeHeaders,
  readBefore,
  readTarget,
  type Target,
  tooLarge,
  unreadable,
  unreadTarget
} from "../serve/request.ts"
import { lastAnswersFor } from "../serve/shutdown.ts"

/** Who reads from here on waits for what has been already. */
export const isUnderWay = (request: IncomingMessage): boolean => request.readableDidRead || request.readableEnded

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

export interface HandlerOptions {
  /** The caller's address, from a source that the caller can't write. Without this: the socket's. */
  readonly peer?: (request: IncomingMessage) => string | null | undefined
  /** What was asked for, where a router has taken something off it. Without this: the request's own `url`. */
  readonly url?: (request: IncomingMessage) => string | undefined
  /** A body that the host has read already, or why it can't be had. Without this, and for `undefined`: unread. */
  readonly body?: (request: IncomingMessage) => string | HttpResponse | undefined
  /** Asked for each answer: whether the connection may be used again. */
  readonly keepAlive?: () => boolean
  /**
   * Runs what there is to log: answers that Node would not send, and what `serve` throws. Without this: on effect's
   * default loggers.
   */
  readonly log?: Log | undefined
  /**
   * Told of each answer that `serve` was not asked for: a body that is too large or never came whole, an address that is
   * none. Default: no listener.
   */
  readonly onEarlyAnswer?: OnEarlyAnswer
}

const noTarget: HttpResponse = secretJson(
  400,
  { error: "invalid_request", error_description: "The request's target is no address." },
  [["connection", "close"]]
)

const socketPeer = (request: IncomingMessage) => request.socket.remoteAddress

/**
 * Node's `headers` drops the second of two, where the other platforms join them; and it makes an object of them all, of
 * which a request asks for three or four.
 */
const headerOf = (raw: ReadonlyArray<string>, name: string): string | undefined => {
  let value: string | undefined
  for (let i = 0; i < raw.length; i += 2) {
    const candidate = raw[i]
    if (candidate?.length !== name.length || candidate.toLowerCase() !== name) continue
    // HTTP/2 brings each cookie on its own (RFC 9113 §8.2.3).
    value = value === undefined ? raw[i + 1] : `${value}${name === "cookie" ? "; " : ", "}${raw[i + 1]}`
  }
  return value
}

const lengthOf = (request: IncomingMessage): number => Number(headerOf(request.rawHeaders, "content-length") ?? 0)

class NodeRequest implements HttpRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: HttpRequest["headers"]
  readonly body: string
  readonly #request: IncomingMessage
  readonly #peer: NonNullable<HandlerOptions["peer"]>

  constructor(request: IncomingMessage, target: Target, body: string, peer: NonNullable<HandlerOptions["peer"]>) {
    this.method = request.method ?? "GET"
    this.path = target.path
    this.query = target.query
    const { rawHeaders } = request
    this.headers = nodeHeaders((name) => headerOf(rawHeaders, name))
    this.body = body
    this.#request = request
    this.#peer = peer
  }

  get peer(): string | undefined {
    return this.#peer(this.#request) ?? undefined
  }
}

/** Over HTTP/2 nothing has to say that there is one. */
const hasBody = (request: IncomingMessage): boolean =>
  lengthOf(request) > 0 ||
  headerOf(request.rawHeaders, "transfer-encoding") !== undefined ||
  request.httpVersionMajor > 1

const utf8 = new TextDecoder()

/** A body that is over emits no event again: a late reader is told here, or waits for ever. */
const refusalOf = (request: IncomingMessage): HttpResponse | undefined => {
  if (lengthOf(request) > bodyLimit) return tooLarge()
  if (isUnderWay(request)) return readBefore
  return request.destroyed ? unreadable() : undefined
}

/** Calls `done` once: with the body, or with the answer to a request whose body is not to be had. */
const readBody = (request: IncomingMessage, done: (read: string | HttpResponse) => void): void => {
  const refusal = refusalOf(request)
  if (refusal !== undefined) return void done(refusal)
  const chunks: Array<Uint8Array> = []
  let size = 0
  let settled = false
  const settle = (read: () => string | HttpResponse) => {
    if (settled) return
    settled = true
    done(read())
  }
  request.on("data", (chunk: Uint8Array) => {
    size += chunk.length
    if (size <= bodyLimit) chunks.push(chunk)
    else settle(tooLarge)
  })
  request.on("end", () => settle(() => utf8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))))
  // Cut off in the middle: there is no caller to answer, and nothing may be done.
  request.on("close", () => settle(unreadable))
  request.on("error", () => settle(unreadable))
}

/** How long what a refused caller still sends is read and dropped, so that it gets to read its answer. */
const lingering = 1000

/** Lets the answer out, and then the caller. */
const hangUp = (request: IncomingMessage): void => {
  const { socket } = request
  request.resume()
  const timer = setTimeout(() => socket.destroy(), lingering)
  request.once("close", () => clearTimeout(timer))
  timer.unref()
}

/** Whether an app has set headers of its own already, or stands in for `writeHead` to do so. */
const isShared = (response: ServerResponse): boolean =>
  response.getHeaderNames().length > 0 || Object.hasOwn(response, "writeHead")

/** As `writeHead` with pairs does, which loses all but one of a name once there are headers: ours instead of the app's. */
const setEach = (response: ServerResponse, pairs: ReadonlyArray<string>): void => {
  const seen = new Set(["set-cookie"])
  for (let i = 0; i + 1 < pairs.length; i += 2) {
    const [name = "", value = ""] = pairs.slice(i, i + 2)
    if (seen.has(name)) response.appendHeader(name, value)
    else response.setHeader(name, value)
    seen.add(name)
  }
}

/** Many answers share one list of headers, which is written out once. */
const written = new WeakMap<HeaderPairs, ReadonlyArray<string>>()

const writtenOnce = (pairs: HeaderPairs): ReadonlyArray<string> => {
  const known = written.get(pairs)
  if (known !== undefined) return known
  const flat = pairs.flat()
  written.set(pairs, flat)
  return flat
}

const headersOf = (answer: HttpResponse): Array<string> =>
  answer instanceof SharedAnswer
    ? [...writtenOnce(answer.common), "x-request-id", answer.requestId]
    : answer.headers.flat()

const has = (headers: HeaderPairs, wanted: string): boolean => headers.some(([name]) => name === wanted)

const write = (request: IncomingMessage, response: ServerResponse, answer: HttpResponse, keepAlive: boolean): void => {
  if (response.destroyed || response.headersSent) return
  const headers = headersOf(answer)
  // What is shared says nothing of one answer's length, or of its connection.
  const shared = answer instanceof SharedAnswer
  const length = !shared && has(answer.headers, "content-length")
  const close = !shared && has(answer.headers, "connection")
  if (!length && answer.status !== 204 && answer.status !== 304) {
    headers.push("content-length", String(Buffer.byteLength(answer.body)))
  }
  if (!keepAlive && !close) headers.push("connection", "close")
  if (isShared(response)) {
    setEach(response, headers)
    response.writeHead(answer.status)
  } else response.writeHead(answer.status, headers)
  response.end(answer.body)
  if (close) hangUp(request)
}

/** Writes the answer in place of another, with nothing of that left; if even this one can't be written, the end. */
const writeInstead = (
  request: IncomingMessage,
  response: ServerResponse,
  unsent: unknown,
  answer: HttpResponse,
  keepAlive: boolean
): void => {
  if (response.headersSent) return void response.destroy()
  try {
    for (const [name] of pairsIn(unsent)) response.removeHeader(name)
    // What Node keeps of an answer that it began to read. HTTP/2 has neither, and warns where they are set.
    if (request.httpVersionMajor === 1) {
      response.statusMessage = ""
      response.chunkedEncoding = false
    }
    write(request, response, answer, keepAlive)
  } catch {
    // The first fault is in the log, and this one is the same or comes of it.
    response.destroy()
  }
}

/** For `http.createServer`, or for whatever framework hands out Node's own request before it has read the body. */
export const handler = (serve: Serve, options: HandlerOptions = {}): Handler => listenerOf(atOnce(serve), options)

const listenerOf = (ask: Ask, options: HandlerOptions): Handler => {
  const { log = Effect.runFork, peer = socketPeer } = options
  const onEarlyAnswer = harmless(options.onEarlyAnswer, log)
  return (request, response) => {
    const respond = (answer: HttpResponse) => {
      const keepAlive = options.keepAlive?.() ?? true
      try {
        write(request, response, answer, keepAlive)
      } catch (defect) {
        // A status or a header of a host's own. A throw here ends the process, and with it all requests.
        writeInstead(request, response, answer, insteadOf(answer, defect, log), keepAlive)
      }
    }
    const fail = (defect: unknown) => respond(answerThrown(defect, log))
    const refuse = (target: Target, answer: HttpResponse) => {
      onEarlyAnswer?.(new NodeRequest(request, target, "", peer), answer)
      respond(answer)
    }
    const url = options.url?.(request) ?? request.url ?? ""
    const target = readTarget(url)
    if (target === undefined) return refuse(unreadTarget(url), earlyAnswer(noTarget))
    const answer = (body: string) => {
      ask(new NodeRequest(request, target, body, peer), (answered) => {
        if (answered instanceof Promise) void answered.then(respond, fail)
        else respond(answered)
      })
    }
    // Nothing here asks what stands behind a GET (RFC 9110 §9.3.1), so it is not read.
    if (request.method === "GET" || request.method === "HEAD" || !hasBody(request)) return answer("")
    const answerRead = (read: string | HttpResponse) => (typeof read === "string" ? answer(read) : refuse(target, read))
    const given = options.body?.(request)
    if (given === undefined) readBody(request, answerRead)
    else answerRead(given)
  }
}

export interface ServerOptions extends Omit<HandlerOptions, "keepAlive"> {
  /** Milliseconds until a request has to be there as a whole. */
  readonly requestTimeout: number
  /**
   * Answers what comes in one turn of the event loop together, in half the time, for a process that does nothing else:
   * what is in `AsyncLocalStorage` is then another request's, and to keep it costs Node more than is gained. Default:
   * false.
   */
  readonly together?: boolean
  /** Ends TLS here. Default: plain HTTP. */
  readonly tls?: SecureContextOptions
}

export interface NodeServer {
  readonly server: Server | TlsServer
  /** Takes no more requests, and resolves once those under way are answered, or cut off after so many milliseconds. */
  readonly close: (patience: number) => Promise<void>
}

/**
 * How long a first request, in milliseconds, may still be on its way over a connection that came just before the end.
 */
const arrival = 100

const gone = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once("close", resolve))

const nothingKept: InItsContext = (work) => work()

/** A server of one's own, with the limits that a server on a network needs. Not listening yet. */
export const server = (serve: Serve, options: ServerOptions): NodeServer => {
  let closing = false
  const ask = options.together === true ? batchRequests(serve, () => nothingKept) : atOnce(serve)
  const listener = listenerOf(ask, { ...options, keepAlive: () => !closing })
  const limits = {
    headersTimeout: options.requestTimeout,
    requestTimeout: options.requestTimeout,
    connectionsCheckingInterval: Math.max(100, Math.min(1000, options.requestTimeout / 4)),
    keepAliveTimeout: 5000
  }
  const { tls } = options
  const server: Server | TlsServer =
    tls === undefined ? createServer(limits, listener) : createTlsServer({ ...limits, ...tls }, listener)
  // A caller that asks first whether its body is welcome is told by the same rules.
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    if (lengthOf(request) <= bodyLimit) response.writeContinue()
    listener(request, response)
  })
  const connections = new Set<Socket>()
  server.on("connection", (socket: Socket) => {
    connections.add(socket)
    socket.once("close", () => connections.delete(socket))
  })
  // To Node a connection that never asked for anything is no idle one.
  const closeSilent = () => {
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy()
  }
  return {
    server,
    close: async (patience) => {
      closing = true
      const closed = new Promise((resolve) => server.once("close", resolve))
      // The port alone: `Server.close` of HTTP ends the connections as well that no request is under way over. On Bun it is
      // another class.
      if (server instanceof NetServer) NetServer.prototype.close.call(server)
      await new Promise((told) => setTimeout(told, Math.min(lastAnswersFor, patience)))
      const timer = setTimeout(() => {
        server.closeAllConnections()
        // To Node a connection is none before its handshake is over.
        for (const socket of connections) socket.destroy()
      }, patience)
      // What has come while the process was busy is read first, or it would pass for silence.
      const silence = setTimeout(() => setImmediate(closeSilent), Math.min(arrival, patience))
      server.close()
      await closed
      clearTimeout(timer)
      clearTimeout(silence)
      // Node says so before those that it cut off are told, and what they asked for is noted with that.
      await Promise.all([...connections].map(gone))
    }
  }
}
