import type { HttpResponse } from "../../http/Http.ts"

export const headerOf = (response: HttpResponse, name: string): string | null =>
  response.headers.find(([key]) => key.toLowerCase() === name)?.[1] ?? null

export type JsonObject = { readonly [key: string]: unknown }

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The body as a JSON object; `null` where it is none. */
export const jsonOf = (response: HttpResponse): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(response.body)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

export const textField = (object: JsonObject | null, name: string): string | null => {
  const value = object?.[name]
  return typeof value === "string" ? value : null
}

export interface Location {
  readonly text: string
  readonly parameters: URLSearchParams
}

export const locationOf = (response: HttpResponse): Location | null => {
  const text = headerOf(response, "location")
  if (text === null) return null
  const at = text.indexOf("?")
  return { text, parameters: new URLSearchParams(at < 0 ? "" : text.slice(at + 1)) }
}
