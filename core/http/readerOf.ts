import { Option, Result, Schema, SchemaAST } from "effect"
import { refusalOf } from "../openapi/contract/refusedAs.ts"
import { InvalidRequest } from "../rules/Refusal.ts"
import type { Parameters } from "./form.ts"

let open: (sent: Sent) => Parameters

/** The parameters of a request as they came. An endpoint gets at them through the Schemas of its contract only. */
export class Sent {
  readonly #parameters: Parameters
  constructor(parameters: Parameters) {
    this.#parameters = parameters
  }
  static {
    open = (sent) => sent.#parameters
  }
}

/** A parameter's own text, to be told back or held against another; what is acted on comes from a reader. */
export const asItCame = (sent: Sent, name: string): string | undefined => open(sent).get(name)

export type Fields = Readonly<Record<string, Schema.Decoder<unknown>>>

export type Read<F extends Fields> = Schema.Struct<F>["Type"]

export type Reader<F extends Fields> = (sent: Sent) => Result.Result<Read<F>, InvalidRequest>

/** Reads one parameter into what has been read; comes back with what is wrong, if something is. */
type FieldReader = (parameters: Parameters, into: Record<string, unknown>) => InvalidRequest | undefined

/** What a Schema makes of a text: the plainest of them, without its machinery, what that would. */
const decoderOf = (schema: Schema.Decoder<unknown>): ((text: string) => Option.Option<unknown>) => {
  const { ast } = schema
  if (ast.checks !== undefined) return Schema.decodeUnknownOption(schema)
  if (SchemaAST.isString(ast)) return Option.some
  return SchemaAST.isLiteral(ast)
    ? (text) => (text === ast.literal ? Option.some(text) : Option.none())
    : Schema.decodeUnknownOption(schema)
}

const fieldReaderOf = (name: string, schema: Schema.Decoder<unknown>): FieldReader => {
  const { ast } = schema
  const message = `The parameter ${name} is missing.`
  const missing = new InvalidRequest({ reason: "missing_parameter", message })
  const malformed =
    refusalOf(ast) ??
    new InvalidRequest({ reason: "malformed_parameter", message: `The parameter ${name} is not well-formed.` })
  if (ast.encoding !== undefined) {
    // It may have a say about being left out, which only the struct around it asks for.
    const alone = Schema.decodeUnknownOption(Schema.Struct({ [name]: schema }))
    return (parameters, into) => {
      const text = parameters.get(name)
      const decoded = alone(text === undefined ? {} : { [name]: text })
      if (Option.isNone(decoded)) return text === undefined ? missing : malformed
      Object.assign(into, decoded.value)
      return undefined
    }
  }
  const decode = decoderOf(schema)
  const absent = SchemaAST.isOptional(ast) ? undefined : missing
  return (parameters, into) => {
    const text = parameters.get(name)
    if (text === undefined) return absent
    const decoded = decode(text)
    if (Option.isNone(decoded)) return malformed
    into[name] = decoded.value
    return undefined
  }
}

/**
 * What a struct of these fields decodes, compiled once: the same values, in the order of the fields, and of what is
 * wrong the first. Parameters that it does not name are ignored.
 */
export const readerOf = <const F extends Fields>(fields: F): Reader<F> => {
  const readers = Object.entries(fields).map(([name, schema]) => fieldReaderOf(name, schema))
  return (sent) => {
    const parameters = open(sent)
    const read: Record<string, unknown> = {}
    for (const reader of readers) {
      const fault = reader(parameters, read)
      if (fault !== undefined) return Result.fail(fault)
    }
    // Each was decoded by its own Schema, and a struct's type is what its fields decode to.
    return Result.succeed(read as Read<F>)
  }
}
