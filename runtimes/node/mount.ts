import type { IncomingMessage } from "node:http"
import type { HttpResponse } from "../../core/http/Http.ts"
import type { Mount } from "../../core/serve.ts"
import { bodyLimit, isWinding, readBefore, readTarget, tooLarge } from "../serve/request.ts"
import { isUnderWay } from "./listener.ts"

export interface MountOptions {
  /** The caller's address, from a source that the caller can't write. Default: the socket's. */
  readonly peer?: (request: IncomingMessage) => string | null | undefined
}

/** A path that may be two places stays with the app: what it has put before ours, it has put before one of them. */
export const isOurs = (mount: Mount, url: string, { headers }: IncomingMessage): boolean => {
  if (isWinding(url)) return false
  const target = readTarget(url)
  if (target === undefined) return false
  const host = headers.host ?? headers[":authority"]
  return mount.owns(target.path, typeof host === "string" ? host : undefined)
}

const inForm = (name: string, value: unknown): ReadonlyArray<readonly [string, string]> | undefined => {
  if (typeof value === "string") return [[name, value]]
  // A parameter that came twice: it stays two, and is refused for that.
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value.map((one) => [name, one])
  return undefined
}

/** The form again that a parser made this of; `undefined` where what was sent is lost. */
const formOf = (parsed: object): string | undefined => {
  const pairs: Array<[string, string]> = []
  for (const [name, value] of Object.entries(parsed)) {
    const pair = inForm(name, value)
    if (pair === undefined) return undefined
    pairs.push(...pair.map(([name, text]): [string, string] => [name, text]))
  }
  return new URLSearchParams(pairs).toString()
}

const textOf = (type: string, parsed: unknown): string | undefined => {
  if (typeof parsed === "string") return parsed
  if (parsed instanceof Uint8Array) return new TextDecoder().decode(parsed)
  if (typeof parsed !== "object" || parsed === null) return undefined
  if (/^application\/json\b/i.test(type)) return JSON.stringify(parsed)
  return /^application\/x-www-form-urlencoded\b/i.test(type) ? formOf(parsed) : undefined
}

/**
 * The body of a request, where a parser of the app's has had it before: as it was sent, where that was kept, or else as
 * it can be written again. `undefined`: still unread.
 */
export const bodyRead = (
  request: IncomingMessage,
  raw: unknown,
  parsed: unknown
): string | HttpResponse | undefined => {
  if (!isUnderWay(request)) return undefined
  const type = request.headers["content-type"] ?? ""
  const text = textOf(type, raw) ?? textOf(type, parsed)
  if (text === undefined) return readBefore
  return Buffer.byteLength(text) > bodyLimit ? tooLarge() : text
}
