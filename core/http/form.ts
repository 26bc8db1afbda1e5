import { Result } from "effect"
import type { Named } from "../openapi/contract/Contract.ts"
import { InvalidRequest } from "../rules/Refusal.ts"
import type { HttpRequest } from "./Http.ts"

/** Parameters of one request: each at most once, none without a value. */
export type Parameters = ReadonlyMap<string, string>

export interface ReadParameters {
  readonly parameters: Parameters
  /** Names that came more than once; their first value stands in `parameters`. */
  readonly repeated: ReadonlySet<string>
}

/** What a name or value says: `+` is a space, and `%` begins a byte. Most say just what they are. */
const plain = (text: string): string | undefined => {
  if (!text.includes("%")) return text.includes("+") ? text.replaceAll("+", " ") : text
  try {
    return decodeURIComponent(text.replaceAll("+", " "))
  } catch {
    return undefined
  }
}

/** The pairs of a form as the URL standard reads them, by its own reader where a text is out of the ordinary. */
const pairsOf = (text: string): Iterable<readonly [name: string, value: string]> => {
  // What is not ASCII may hold halves of characters, which only the platform puts right.
  if (!ascii.test(text)) return new URLSearchParams(text)
  const pairs: Array<readonly [string, string]> = []
  for (let start = 0; start <= text.length; ) {
    const ampersand = text.indexOf("&", start)
    const end = ampersand === -1 ? text.length : ampersand
    if (end > start) {
      const equals = text.indexOf("=", start)
      const hasValue = equals !== -1 && equals < end
      const name = plain(text.slice(start, hasValue ? equals : end))
      const value = hasValue ? plain(text.slice(equals + 1, end)) : ""
      if (name === undefined || value === undefined) return new URLSearchParams(text)
      pairs.push([name, value])
    }
    start = end + 1
  }
  return pairs
}

const ascii = /^[\0-\x7f]*$/

/** RFC 6749 §3.1: one without a value was not sent. */
export const readParameters = (text: string): ReadParameters => {
  const parameters = new Map<string, string>()
  let repeated: Set<string> | undefined
  for (const [name, value] of pairsOf(text)) {
    if (parameters.has(name)) repeated = (repeated ?? new Set()).add(name)
    else if (value !== "") parameters.set(name, value)
  }
  return { parameters, repeated: repeated ?? none }
}

const none: ReadonlySet<string> = new Set()

const formType = "application/x-www-form-urlencoded"

const isType = (contentType: string | null | undefined, wanted: string): boolean =>
  contentType === wanted || contentType?.split(";", 1)[0]?.trim().toLowerCase() === wanted

export const isJson = (request: HttpRequest): boolean => isType(request.headers.get("content-type"), "application/json")

export const repeatedParameter = (repeated: ReadonlySet<string>): InvalidRequest =>
  // A name is the client's own text: only what may stand in an error_description is said.
  new InvalidRequest({
    reason: "repeated_parameter",
    message: `A parameter came more than once: ${[...repeated].map((name) => name.replace(/[^\w.-]/g, "?").slice(0, 64)).join(", ")}.`
  })

/** RFC 6749 §3.2: the form of a request to an endpoint that takes one. */
export const readForm = (request: HttpRequest): Result.Result<Parameters, InvalidRequest> => {
  if (!isType(request.headers.get("content-type"), formType)) {
    const message = `The body has to be ${formType}.`
    return Result.fail(new InvalidRequest({ reason: "wrong_content_type", message }))
  }
  const { parameters, repeated } = readParameters(request.body)
  return repeated.size > 0 ? Result.fail(repeatedParameter(repeated)) : Result.succeed(parameters)
}

export const need = <Name extends string>(
  parameters: Named<Name>,
  name: Name
): Result.Result<string, InvalidRequest> => {
  const value = parameters.get(name)
  return value === undefined
    ? Result.fail(new InvalidRequest({ reason: "missing_parameter", message: `The parameter ${name} is missing.` }))
    : Result.succeed(value)
}
