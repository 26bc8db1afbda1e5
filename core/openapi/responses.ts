import { Array as Arrays, type JsonSchema } from "effect"
import type { HttpResponse } from "../http/Http.ts"
import type { Components } from "./Components.ts"
import { documentedHeader } from "./Header.ts"

/** An answer that was made for the document, and what is to be said of it. */
export interface Sampled {
  readonly response: HttpResponse
  readonly description: string
  /** Of a body in JSON; an error's says itself which it is. */
  readonly schema?: JsonSchema.JsonSchema
}

const reasons: Readonly<Record<number, string>> = {
  400: "The request is not right, or cannot be granted.",
  401: "Whoever calls has not shown to be who they say.",
  403: "Whoever calls may not do this.",
  404: "It is not there.",
  413: "The body is too large.",
  429: "Too many requests.",
  500: "A fault of the server's own.",
  503: "The server or its storage cannot answer now."
}

export const errorDescription = (status: number): string => reasons[status] ?? "It was refused."

export const errorSchema: JsonSchema.JsonSchema = {
  type: "object",
  description: "RFC 6749 §5.2.",
  properties: {
    error: { type: "string" },
    error_description: {
      type: "string",
      description: "For the client's developer.",
      pattern: "^[\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]*$"
    }
  },
  required: ["error", "error_description"]
}

const header = (response: HttpResponse, name: string): string | undefined =>
  response.headers.find(([written]) => written === name)?.[1]

const mediaType = (response: HttpResponse): string => header(response, "content-type")?.split(";", 1)[0] ?? ""

const errorCode = ({ response }: Sampled): ReadonlyArray<string> => {
  // Our own answer, made a moment ago: it is the JSON of an object.
  const { error } = JSON.parse(response.body) as { readonly error?: unknown }
  return typeof error === "string" ? [error] : []
}

const contentOf = (type: string, samples: ReadonlyArray<Sampled>) => {
  if (type !== "application/json") return { schema: { type: "string" } }
  const own = samples.flatMap(({ schema }) => (schema === undefined ? [] : [schema]))[0]
  if (own !== undefined) return { schema: own }
  const codes = [...new Set(samples.flatMap(errorCode))].sort()
  return { schema: { $ref: "#/components/schemas/Error", properties: { error: { enum: codes } } } }
}

const responseOf = (components: Components, samples: ReadonlyArray<Sampled>) => {
  const names = [...new Set(samples.flatMap(({ response }) => response.headers.map(([name]) => name)))]
  const headers = names
    .filter((name) => name !== "content-type")
    .map((name) => {
      const values = samples.flatMap(({ response }) => header(response, name) ?? [])
      const documented = documentedHeader(name, values, values.length === samples.length)
      return [documented.written, components.useHeader(documented)] as const
    })
  const full = samples.filter(({ response }) => header(response, "content-type") !== undefined)
  const content = Object.entries(Arrays.groupBy(full, ({ response }) => mediaType(response))).map(
    ([type, of]) => [type, contentOf(type, of)] as const
  )
  return {
    description: [...new Set(samples.map(({ description }) => description))].join(" "),
    headers: Object.fromEntries(headers),
    ...(content.length === 0 ? {} : { content: Object.fromEntries(content) }),
    // OpenAPI has no word for a body that is there or not: an extension says it to machines, and this to people.
    ...(content.length > 0 && full.length < samples.length ? { "x-may-be-empty": true } : {})
  }
}

/** The answers by their status, each said once. */
export const responsesOf = (components: Components, samples: ReadonlyArray<Sampled>) =>
  Object.fromEntries(
    Object.entries(Arrays.groupBy(samples, ({ response }) => String(response.status))).map(([status, of]) => [
      status,
      responseOf(components, of)
    ])
  )
