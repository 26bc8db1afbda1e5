export type JsonSchema = Readonly<Record<string, unknown>>

export interface Parameter {
  readonly name: string
  readonly in: "query" | "path"
  readonly required: boolean
  readonly schema: JsonSchema
}

export interface Response {
  readonly headers?: Readonly<Record<string, { readonly $ref: string }>>
  readonly content?: Content
  /** Where the body may be empty: what it is where it is not. */
  readonly "x-content-if-any"?: Content
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>

interface Described {
  readonly operationId: string
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
  readonly security: ReadonlyArray<Readonly<Record<string, ReadonlyArray<string>>>>
  readonly responses: Readonly<Record<string, Response>>
}

export interface Operation extends Described {
  readonly method: string
  readonly path: string
}

/** The document as these tests read it: a client's view, which knows nothing but what it says. */
export interface Document {
  readonly operations: ReadonlyArray<Operation>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly headers: Readonly<Record<string, { readonly required: boolean; readonly schema: JsonSchema }>>
  }
}

const methods = ["get", "put", "post", "delete"]

export const readDocument = (text: string): Document => {
  // Another test holds the document against the schema of OpenAPI, which says that it has this shape.
  const document = JSON.parse(text) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
    readonly components: Document["components"]
  }
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item)
      .filter(([name]) => methods.includes(name))
      .map(([name, operation]) => ({ ...operation, method: name.toUpperCase(), path }))
  )
  return { operations, components: document.components }
}

const named = (reference: unknown): string => String(reference).split("/").at(-1) ?? ""

/** The schema itself, where there is only its name. */
export const resolved = (document: Document, schema: JsonSchema): JsonSchema =>
  schema.$ref === undefined ? schema : (document.components.schemas[named(schema.$ref)] ?? {})

export const headerOf = (document: Document, { $ref }: { readonly $ref: string }) => {
  const header = document.components.headers[named($ref)]
  if (header === undefined) throw new Error(`the document has no ${$ref}`)
  return header
}

/** The ways to fill in a body: one, or one for each kind of grant. */
export const variantsOf = (document: Document, schema: JsonSchema): ReadonlyArray<JsonSchema> => {
  const { anyOf } = schema
  return Array.isArray(anyOf) ? anyOf.map((one: JsonSchema) => resolved(document, one)) : [resolved(document, schema)]
}
