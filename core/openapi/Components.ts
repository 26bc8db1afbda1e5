import { JsonSchema, Result, Schema } from "effect"
import type { DocumentedHeader } from "./Header.ts"

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

/** What is said of more than one place, each once, while a document is written. */
export interface Components {
  readonly schemas: Record<string, JsonSchema.JsonSchema>
  /** What a schema looks like where it is used. */
  readonly use: (schema: Schema.Top) => JsonSchema.JsonSchema
  readonly headers: Record<string, DocumentedHeader["said"]>
  readonly useHeader: (header: DocumentedHeader) => JsonSchema.JsonSchema
  /** The members of a schema without a name. */
  readonly membersOf: (schema: Schema.Top) => ReadonlyArray<Member>
}

export const makeComponents = (given: Readonly<Record<string, JsonSchema.JsonSchema>>): Components => {
  const schemas: Record<string, JsonSchema.JsonSchema> = { ...given }
  const use = (schema: Schema.Top) => {
    const {
      definitions,
      schemas: [used]
    } = converted(schema)
    Object.assign(schemas, definitions)
    return used
  }
  const headers: Record<string, DocumentedHeader["said"]> = {}
  return {
    schemas,
    headers,
    useHeader: ({ key, said }) => {
      headers[key] = said
      return { $ref: `#/components/headers/${key}` }
    },
    use,
    membersOf: (schema) => {
      const { properties, required = [] } = Result.getOrThrow(readObject(use(schema)))
      return Object.entries(properties).map(([name, schema]) => ({ name, required: required.includes(name), schema }))
    }
  }
}
