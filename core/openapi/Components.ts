import { JsonSchema, Result, Schema } from "effect"

/** What the document says of a header wherever it stands. */
interface KnownHeader {
  readonly written: string
  readonly description: string
  /** Left out where the header always has the value that the answers made for the document have. */
  readonly schema?: JsonSchema.JsonSchema
}

const text = { type: "string" }

const known: Readonly<Record<string, KnownHeader>> = {
  "x-request-id": {
    written: "X-Request-Id",
    description: "Finds this request in the server's log.",
    schema: { type: "string", pattern: "^[0-9a-f]{16}$" }
  },
  "cache-control": { written: "Cache-Control", description: "How long an answer may be kept." },
  pragma: { written: "Pragma", description: "RFC 6749 §5.1." },
  "x-content-type-options": { written: "X-Content-Type-Options", description: "The content is what its type says." },
  "access-control-allow-origin": { written: "Access-Control-Allow-Origin", description: "Any origin may call." },
  "access-control-expose-headers": {
    written: "Access-Control-Expose-Headers",
    description: "What a script in a browser may read."
  },
  "www-authenticate": {
    written: "WWW-Authenticate",
    description: "How to authenticate here (RFC 6750 §3, RFC 9728 §5.1).",
    schema: text
  },
  "retry-after": {
    written: "Retry-After",
    description: "Seconds until it is worth another try.",
    schema: { type: "integer", minimum: 0 }
  },
  location: {
    written: "Location",
    description: "Where the browser goes next.",
    schema: { type: "string", format: "uri-reference" }
  },
  "set-cookie": { written: "Set-Cookie", description: "The browser's session is over.", schema: text },
  connection: { written: "Connection", description: "The rest of the request is not read." },
  "referrer-policy": { written: "Referrer-Policy", description: "No other site learns the address." }
}

interface DocumentedHeader {
  /** The same for headers of which the same is said. */
  readonly key: string
  /** As people write it. */
  readonly written: string
  readonly said: {
    readonly description?: string
    readonly required: boolean
    readonly schema: JsonSchema.JsonSchema
  }
}

const slug = (value: string): string => value.replace(/[^A-Za-z0-9]+/g, "-")

/** A value that tells one header from another of its name; long ones are alone under theirs. */
const telling = (value: string): boolean => value.length <= 24 && /[a-z]/i.test(value)

/** `values`: what the header has in all the answers that were made. One that is not in `known` may hold anything. */
export const documentedHeader = (name: string, values: ReadonlyArray<string>, required: boolean): DocumentedHeader => {
  const { description, schema = undefined, written = name } = known[name] ?? { schema: text }
  const only = schema === undefined ? [...new Set(values)] : []
  return {
    key: [written, ...only.filter(telling).map(slug), ...(required ? [] : ["sometimes"])].join("."),
    written,
    said: {
      ...(description === undefined ? {} : { description }),
      required,
      schema: schema ?? { type: "string", enum: only }
    }
  }
}

interface Member {
  readonly name: string
  readonly required: boolean
  readonly schema: JsonSchema.JsonSchema
}

/** What a struct becomes. */
const ObjectSchema = Schema.Struct({
  properties: Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Unknown)),
  required: Schema.optionalKey(Schema.Array(Schema.String))
})

const readObject = Schema.decodeUnknownResult(ObjectSchema)

const conversions = new WeakMap<Schema.Top, JsonSchema.MultiDocument<"openapi-3.1">>()

/** Schemas are there for good, and each is converted once, however many workspaces have a document. */
const converted = (schema: Schema.Top): JsonSchema.MultiDocument<"openapi-3.1"> => {
  const known = conversions.get(schema)
  if (known !== undefined) return known
  const { definitions, dialect, schema: used } = Schema.toJsonSchemaDocument(schema)
  const made = JsonSchema.toMultiDocumentOpenApi3_1({ dialect, definitions, schemas: [used] })
  conversions.set(schema, made)
  return made
}

/** RFC 6749 §3.1: a parameter without a value counts as one that was not sent. So one that has to come has a value. */
const withValue = ({ name, required, schema }: Member): Member =>
  required && schema.type === "string" && schema.enum === undefined
    ? { name, required, schema: { minLength: 1, ...schema } }
    : { name, required, schema }

const membersIn = (schema: JsonSchema.JsonSchema): ReadonlyArray<Member> => {
  const { properties, required = [] } = Result.getOrThrow(readObject(schema))
  return Object.entries(properties).map(([name, schema]) =>
    withValue({ name, required: required.includes(name), schema })
  )
}

/** RFC 6749 §3.2: unknown parameters are ignored, but none comes twice, which would be an array. */
const formOf = (schema: JsonSchema.JsonSchema): JsonSchema.JsonSchema =>
  Result.isFailure(readObject(schema))
    ? schema
    : {
        ...schema,
        properties: Object.fromEntries(membersIn(schema).map(({ name, schema }) => [name, schema])),
        additionalProperties: { type: "string" }
      }

/** What is said of more than one place, each once, while a document is written. */
export interface Components {
  readonly schemas: Record<string, JsonSchema.JsonSchema>
  /** What a schema looks like where it is used. */
  readonly use: (schema: Schema.Top) => JsonSchema.JsonSchema
  /** The same, of a form. */
  readonly useForm: (schema: Schema.Top) => JsonSchema.JsonSchema
  readonly headers: Record<string, DocumentedHeader["said"]>
  readonly useHeader: (header: DocumentedHeader) => JsonSchema.JsonSchema
  /** The parameters of a query, whose schema has no name. */
  readonly membersOf: (schema: Schema.Top) => ReadonlyArray<Member>
}

export const makeComponents = (given: Readonly<Record<string, JsonSchema.JsonSchema>>): Components => {
  const schemas: Record<string, JsonSchema.JsonSchema> = { ...given }
  const useAs =
    (as: (schema: JsonSchema.JsonSchema) => JsonSchema.JsonSchema) =>
    (schema: Schema.Top): JsonSchema.JsonSchema => {
      const {
        definitions,
        schemas: [used]
      } = converted(schema)
      for (const [name, definition] of Object.entries(definitions)) schemas[name] = as(definition)
      return as(used)
    }
  const use = useAs((schema) => schema)
  const headers: Record<string, DocumentedHeader["said"]> = {}
  return {
    schemas,
    headers,
    useHeader: ({ key, said }) => {
      headers[key] = said
      return { $ref: `#/components/headers/${key}` }
    },
    use,
    useForm: useAs(formOf),
    membersOf: (schema) => membersIn(use(schema))
  }
}
