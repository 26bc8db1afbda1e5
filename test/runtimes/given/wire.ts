import { connect, type Socket } from "node:net"

export interface Sent {
  readonly method: string
  readonly target: string
  readonly headers?: ReadonlyArray<readonly [string, string]>
  readonly body?: string | Uint8Array
}

export interface Answer {
  readonly status: number
  /** Names in lower case, in the order of their names; what only concerns the connection is left out. */
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly body: string
}

/** Written by the server for the connection's sake, or from the clock on the wall. */
const transport = new Set(["date", "connection", "keep-alive", "transfer-encoding"])

export const normal = (
  status: number,
  headers: Iterable<readonly [string, string]>,
  body: string,
  bodiless: boolean
): Answer => ({
  status,
  headers: [...headers]
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    // The length of a body that is there is told by the body. Of one that is not (HEAD), it is part of the answer.
    .filter(([name]) => !transport.has(name) && (bodiless || name !== "content-length"))
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)),
  body
})

const utf8 = new TextDecoder()

const dechunk = (body: Buffer): Buffer => {
  const parts: Array<Buffer> = []
  let at = 0
  for (;;) {
    const line = body.indexOf("\r\n", at)
    const size = Number.parseInt(body.toString("latin1", at, line), 16)
    if (line === -1 || !(size > 0)) return Buffer.concat(parts)
    parts.push(body.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}

/** Reads one answer off the front of what came; `undefined` where there is none. */
export const parseAnswer = (raw: Buffer, method: string): Answer | undefined => {
  const end = raw.indexOf("\r\n\r\n")
  if (end === -1) return undefined
  const [statusLine = "", ...lines] = raw.toString("latin1", 0, end).split("\r\n")
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1])
  const headers = lines.map((line) => {
    const colon = line.indexOf(":")
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const
  })
  const find = (name: string) => headers.find(([written]) => written.toLowerCase() === name)?.[1]
  const rest = raw.subarray(end + 4)
  if (status === 100) return parseAnswer(rest, method)
  const body = find("transfer-encoding") === "chunked" ? dechunk(rest) : rest
  const length = find("content-length")
  // A length that is not the body's would shift every answer behind it on the same connection.
  if (method !== "HEAD" && length !== undefined && Number(length) !== body.length) {
    throw new Error(`content-length is ${length}, and ${body.length} bytes came`)
  }
  return normal(status, headers, utf8.decode(body), method === "HEAD")
}

export const open = (port: number): Socket => connect(port, "127.0.0.1").on("error", () => undefined)

/** Everything that comes until the other side closes. */
export const untilClosed = (socket: Socket): Promise<Buffer> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("close", () => resolve(Buffer.concat(chunks)))
  })

export const head = ({ method, target, headers = [] }: Sent, more: ReadonlyArray<string> = []): string =>
  [
    `${method} ${target} HTTP/1.1`,
    "host: localhost:3000",
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...more,
    "",
    ""
  ].join("\r\n")

/** Sends the very bytes that it was given, which no HTTP client would. */
export const sendTo =
  (port: number) =>
  async (sent: Sent): Promise<Answer> => {
    const socket = open(port)
    const body = Buffer.from(sent.body ?? "")
    const framed = sent.headers?.some(([name]) => name === "transfer-encoding" || name === "content-length")
    const length = framed || sent.body === undefined ? [] : [`content-length: ${body.length}`]
    socket.write(head(sent, [...length, "connection: close"]))
    socket.write(body)
    const raw = await untilClosed(socket)
    const answer = parseAnswer(raw, sent.method)
    if (answer === undefined) throw new Error(`no answer to ${sent.method} ${sent.target}: ${raw.toString("latin1")}`)
    return answer
  }

export type Send = (sent: Sent) => Promise<Answer>
