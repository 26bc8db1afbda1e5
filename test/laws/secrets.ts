import { Result } from "effect"
import { Base64, Base64Url, Hex } from "effect/encoding"
import type { HttpRequest, HttpResponse } from "../../core/http/Http.ts"
import { headerOf, jsonOf, locationOf, textField } from "../../core/testing/play/reading.ts"

/** Where an answer of ours may hand something over. */
const fields = ["access_token", "refresh_token", "client_secret", "registration_access_token"] as const

const hiddenFields = ["csrf", "ticket"] as const

const hidden = (html: string, name: string): string | undefined =>
  new RegExp(`name="${name}"[^>]*value="([^"]*)"|value="([^"]*)"[^>]*name="${name}"`).exec(html)?.slice(1).find(Boolean)

const isHtml = (response: HttpResponse): boolean => headerOf(response, "content-type")?.startsWith("text/html") === true

/** Every secret that an exchange shows: what the core handed over, and what only the caller knows. */
export function* secretsHandedOver(request: HttpRequest, response: HttpResponse): Generator<string> {
  const body = jsonOf(response)
  for (const name of fields) {
    const secret = textField(body, name)
    if (secret !== null) yield secret
  }
  const code = locationOf(response)?.parameters.get("code")
  if (code) yield code
  if (isHtml(response)) {
    for (const name of hiddenFields) {
      const secret = hidden(response.body, name)
      if (secret !== undefined) yield secret
    }
  }
  const verifier = new URLSearchParams(request.body).get("code_verifier")
  // A wrong one may be the challenge, which is no secret.
  if (verifier !== null && response.status === 200) yield verifier
}

/** The answer as text, without what it is meant to hand over. */
export const withoutHandedOver = (request: HttpRequest, response: HttpResponse): string => {
  const headers = response.headers.map(([name, value]) =>
    name.toLowerCase() === "location" ? `${name}: ${value.replace(/([?&]code=)[^&]*/, "$1")}` : `${name}: ${value}`
  )
  const body = jsonOf(response)
  if (body !== null) {
    const rest = Object.fromEntries(Object.entries(body).filter(([name]) => !fields.some((field) => field === name)))
    return [response.status, ...headers, JSON.stringify(rest)].join("\n")
  }
  // A form carries its own fields; a second click on Approve is shown the way on, which holds the code again.
  const shown = response.body.replace(/<style>[\s\S]*?<\/style>/g, "").replace(/<input type="hidden"[^>]*>/g, "")
  const rest = request.method === "POST" ? shown.replace(/([?&]|&amp;)code=[^&"]*/g, "$1code=") : shown
  return [response.status, ...headers, rest].join("\n")
}

export interface Needle {
  readonly what: string
  readonly text: string
  readonly mayBeStored: boolean
}

const utf8 = new TextEncoder()

const ofBytes = (what: string, bytes: Uint8Array, mayBeStored = false): ReadonlyArray<Needle> => [
  { what: `${what}, in base64`, text: Base64.encode(bytes).replace(/=+$/, ""), mayBeStored },
  { what: `${what}, in base64url`, text: Base64Url.encode(bytes), mayBeStored },
  { what: `${what}, in hex`, text: Hex.encode(bytes), mayBeStored }
]

const tokenPattern = /^tsr_(ac|at|rt)_/

/** How a token's bytes could be told without its text: its seal, and the grant's id, which is half of every token. */
const ofToken = (text: string): ReadonlyArray<Needle> => {
  const kind = tokenPattern.exec(text)?.[1]
  const bytes = kind === undefined ? undefined : Result.getOrUndefined(Base64Url.decode(text.slice(7, -6)))
  if (bytes === undefined) return []
  return [
    { what: `the payload of ${kind}`, text: text.slice(7, -6), mayBeStored: false },
    ...ofBytes(`the bytes of ${kind}`, bytes),
    ...ofBytes(`the seal of ${kind}`, bytes.slice(-32)),
    ...ofBytes(`the grant of ${kind}`, bytes.slice(6, 22), true)
  ]
}

/** Every way to write down what must not be written down. */
export function* spellings(secrets: ReadonlySet<string>, keys: ReadonlyArray<Uint8Array>): Generator<Needle> {
  for (const key of keys) yield* ofBytes("a sealing key", key)
  for (const secret of secrets) {
    yield { what: "a secret", text: secret, mayBeStored: false }
    yield* ofBytes("a secret's text", utf8.encode(secret))
    yield* ofToken(secret)
  }
}

/** The runs of characters that could hold a secret, each once: all that has to be searched. */
export const runsIn = (texts: ReadonlyArray<string>): string =>
  [...new Set(texts.flatMap((text) => text.match(/[A-Za-z0-9_.+/=-]{20,}/g) ?? []))].join("\n")
