import { DocumentFault, type DocumentLimits } from "../../core/ports/Documents.ts"
import { type Instant, later, second } from "../../core/rules/Instant.ts"

/** The head of an answer: a header that came several times is joined by commas, and none is `undefined`. */
export interface Head {
  readonly status: number
  readonly header: (name: string) => string | undefined
}

/** An answer whose head was taken, with its body as it came. */
export interface Answer extends Head {
  readonly body: Uint8Array
}

/** The headers that every request has. None of them can be a credential, the server's or a person's. */
export const requestHeaders = {
  accept: "application/json",
  // Nothing is unpacked, so nothing small becomes large.
  "accept-encoding": "identity",
  "user-agent": "Tessera"
} as const

/** What a request with a form has besides. */
export const headersOfForm = (form: string) => ({
  "content-type": "application/x-www-form-urlencoded",
  "content-length": `${new TextEncoder().encode(form).length}`
})

const json = /^application\/(?:[\w!#$&^.+-]+\+)?json[ \t]*(?:;|$)/i

export const fault = (reason: DocumentFault["reason"]) => new DocumentFault({ reason })

/** Why an answer is turned down before its body is read. */
export const faultOfHead = ({ header, status }: Head, { longest }: DocumentLimits): DocumentFault | undefined => {
  if (status >= 300 && status < 400) return fault("redirected")
  if (status !== 200) return fault("status")
  const type = header("content-type")
  if (type === undefined || type.includes(",") || !json.test(type)) return fault("not_json")
  if ((header("content-encoding") ?? "identity").trim().toLowerCase() !== "identity") return fault("not_json")
  if ((header("transfer-encoding") ?? "chunked").trim().toLowerCase() !== "chunked") return fault("not_json")
  return Number(header("content-length") ?? 0) > longest ? fault("too_long") : undefined
}

/** Collects a body, and no more of it than may be. */
export class Body {
  private readonly parts: Array<Uint8Array> = []
  private length = 0
  private readonly longest: number

  constructor(longest: number) {
    this.longest = longest
  }

  /** False: it has become too long. */
  add(part: Uint8Array): boolean {
    this.length += part.length
    this.parts.push(part)
    return this.length <= this.longest
  }

  whole(): Uint8Array {
    const bytes = new Uint8Array(this.length)
    let at = 0
    for (const part of this.parts) {
      bytes.set(part, at)
      at += part.length
    }
    return bytes
  }
}

/** The text of a body that is JSON in UTF-8, which it has to be; `undefined` for any other. */
export const jsonText = (body: Uint8Array): string | undefined => {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body)
    JSON.parse(text)
    return text
  } catch {
    return undefined
  }
}

/** RFC 9111 §1.2.2: delta-seconds, of which too many digits are simply many. */
const secondsIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined

/** RFC 9111 §5.2.2: for how long an answer says that it may be kept. Without a word, not at all. */
const lifetimeOf = (cacheControl: string): number => {
  const directives = cacheControl.split(",").map((directive) => directive.trim().toLowerCase())
  if (directives.some((directive) => /^no-(?:store|cache)(?:=|$)/.test(directive))) return 0
  const ages = directives.flatMap((directive) => {
    const age = secondsIn(/^max-age="?(\d+)"?$/.exec(directive)?.[1])
    return age === undefined ? [] : [age]
  })
  return ages.length === 0 ? 0 : Math.min(...ages)
}

/** Until when a document counts that was asked for at `fetchedAt`, within the limits. */
export const freshUntil = (
  { header }: Head,
  fetchedAt: Instant,
  { freshFor: { least, most } }: DocumentLimits
): Instant => {
  const age = secondsIn(header("age")?.trim()) ?? 0
  const left = (lifetimeOf(header("cache-control") ?? "") - age) * second
  // Two infinities have no difference.
  return later(fetchedAt, Math.max(least, Math.min(most, Number.isNaN(left) ? 0 : left)))
}
