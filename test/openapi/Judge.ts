import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import type { HttpResponse } from "../../core/http/Http.ts"
import { type Document, headerOf, type JsonSchema, type Operation } from "./Document.ts"

/** Where the document leaves objects open for what later releases may add, today's answers have nothing to add. */
const closed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      name === "additionalProperties" && member === true ? [name, false] : [name, closed(member)]
    )
  )
}

/** With references to what is said at an address, in place of to what is said in the document itself. */
const within = (address: string, value: unknown): unknown => {
  if (Array.isArray(value)) return value.map((member) => within(address, member))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      name === "$ref" && typeof member === "string" ? [name, `${address}${member}`] : [name, within(address, member)]
    )
  )
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Holds answers against a document, and remembers what of it has been seen. */
export interface Judge {
  /** What is wrong with an answer, by the document. */
  readonly complaints: (operation: Operation, response: HttpResponse) => ReadonlyArray<string>
  /** Whether a value is as a schema of the document wants it. */
  readonly allows: (schema: JsonSchema, value: unknown) => boolean
  /** `operation status`, and for errors `operation status code`. */
  readonly seen: ReadonlySet<string>
}

export const makeJudge = (document: Document): Judge => {
  const ajv = addFormats.default(new Ajv2020({ strict: false, allErrors: true }))
  const seen = new Set<string>()
  const compiled = new Map<JsonSchema, { readonly open: ValidateFunction; readonly closed: ValidateFunction }>()
  // What schemas refer to is read once, and not with each of them.
  const { components } = document
  ajv.addSchema({ $id: "https://open.example/", components: within("https://open.example/", components) })
  ajv.addSchema({ $id: "https://closed.example/", components: within("https://closed.example/", closed(components)) })
  const validators = (schema: JsonSchema) => {
    const known = compiled.get(schema)
    if (known !== undefined) return known
    // What they write is an object too: it has the same members.
    const made = {
      open: ajv.compile(within("https://open.example/", schema) as JsonSchema),
      closed: ajv.compile(within("https://closed.example/", closed(schema)) as JsonSchema)
    }
    compiled.set(schema, made)
    return made
  }
  const faults = (schema: JsonSchema, value: unknown): ReadonlyArray<string> => {
    const { closed } = validators(schema)
    return closed(value) ? [] : [ajv.errorsText(closed.errors)]
  }

  const complaints = (operation: Operation, { body, headers, status }: HttpResponse): ReadonlyArray<string> => {
    const declared = operation.responses[status]
    if (declared === undefined) return [`the status ${status} is not declared`]
    seen.add(`${operation.operationId} ${status}`)

    const answered = new Map(headers)
    const type = answered.get("content-type")
    const known = new Map(
      Object.entries(declared.headers ?? {}).map(([name, header]) => [name.toLowerCase(), headerOf(document, header)])
    )
    const wrongHeaders = [...answered].flatMap(([name, value]) => {
      if (name === "content-type") return []
      const header = known.get(name)
      if (header === undefined) return [`the header ${name} is not declared`]
      const read = header.schema.type === "integer" ? Number(value) : value
      return faults(header.schema, read).map((fault) => `the header ${name}: ${fault}`)
    })
    const missing = [...known]
      .filter(([name, { required }]) => required && !answered.has(name))
      .map(([name]) => `the header ${name} is missing`)

    const content = (declared.content ?? declared["x-content-if-any"])?.[type?.split(";", 1)[0] ?? ""]
    const bodyFaults = (): ReadonlyArray<string> => {
      if (type === undefined) {
        if (body !== "") return ["a body without a type"]
        return declared.content === undefined ? [] : ["a body is missing"]
      }
      if (content === undefined) return [`the type ${type} is not declared`]
      if (!type.startsWith("application/json")) return faults(content.schema, body)
      const value = parsed(body)
      if (value === undefined) return ["the body is not JSON"]
      if (status >= 400 && typeof value === "object" && value !== null && "error" in value) {
        seen.add(`${operation.operationId} ${status} ${String(value.error)}`)
      }
      return faults(content.schema, value)
    }
    return [...wrongHeaders, ...missing, ...bodyFaults()]
  }

  return { complaints, seen, allows: (schema, value) => validators(schema).open(value) === true }
}

/** Everything that a document declares and a run should have seen: statuses, and the codes of errors. */
export const declaredBy = (document: Document): ReadonlyArray<string> =>
  document.operations.flatMap(({ operationId, responses }) =>
    Object.entries(responses).flatMap(([status, declared]) => {
      const content = declared.content ?? declared["x-content-if-any"] ?? {}
      const codes = codesOf(content["application/json"]?.schema)
      return [`${operationId} ${status}`, ...codes.map((code) => `${operationId} ${status} ${code}`)]
    })
  )

/** An error's schema names its codes beside the reference. */
const codesOf = (schema: JsonSchema = {}): ReadonlyArray<string> => {
  const { properties } = schema as {
    readonly properties?: { readonly error?: { readonly enum?: ReadonlyArray<string> } }
  }
  return schema.$ref === undefined ? [] : (properties?.error?.enum ?? [])
}
