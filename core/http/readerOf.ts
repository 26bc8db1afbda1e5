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

type Decode = (text: string) => Option.Option<unknown>

interface Column {
  readonly name: string
  readonly optional: boolean
  readonly missing: InvalidRequest
  readonly malformed: InvalidRequest
  /** `undefined` where the text is taken as it is. */
  readonly decode: Decode | undefined
  /** By a struct of this field alone, for a Schema that may have a say about what was not sent. */
  readonly alone: ((sent: Readonly<Record<string, string>>) => Option.Option<object>) | undefined
}

/** The plainest Schemas do without their machinery. */
const decoderOf = (schema: Schema.Decoder<unknown>): Decode | undefined => {
  const { ast } = schema
  if (ast.checks !== undefined) return Schema.decodeUnknownOption(schema)
  if (SchemaAST.isString(ast)) return undefined
  return SchemaAST.isLiteral(ast)
    ? (text) => (text === ast.literal ? Option.some(text) : Option.none())
    : Schema.decodeUnknownOption(schema)
}

const columnOf = ([name, schema]: readonly [string, Schema.Decoder<unknown>]): Column => {
  const refusal = (reason: InvalidRequest["reason"], what: string) =>
    new InvalidRequest({ reason, message: `The parameter ${name} is ${what}.` })
  const { ast } = schema
  const transforms = ast.encoding !== undefined
  return {
    name,
    optional: SchemaAST.isOptional(ast),
    missing: refusal("missing_parameter", "missing"),
    malformed: refusalOf(ast) ?? refusal("malformed_parameter", "not well-formed"),
    decode: transforms ? undefined : decoderOf(schema),
    alone: transforms ? Schema.decodeUnknownOption(Schema.Struct({ [name]: schema })) : undefined
  }
}

/** Comes back with what is wrong, if something is. */
const readInto = (
  read: Record<string, unknown>,
  { alone, decode, malformed, missing, name, optional }: Column,
  text: string | undefined
): InvalidRequest | undefined => {
  if (alone !== undefined) {
    const decoded = alone(text === undefined ? {} : { [name]: text })
    if (Option.isNone(decoded)) return text === undefined ? missing : malformed
    Object.assign(read, decoded.value)
    return undefined
  }
  if (text === undefined) return optional ? undefined : missing
  if (decode === undefined) {
    read[name] = text
    return undefined
  }
  const decoded = decode(text)
  if (Option.isNone(decoded)) return malformed
  read[name] = decoded.value
  return undefined
}

/**
 * What a struct of these fields decodes, compiled once: the same values, in the order of the fields, and of what is
 * wrong the first. Parameters that it does not name are ignored.
 */
export const readerOf = <const F extends Fields>(fields: F): Reader<F> => {
  const columns = Object.entries(fields).map(columnOf)
  return (sent) => {
    const parameters = open(sent)
    const read: Record<string, unknown> = {}
    for (const column of columns) {
      const fault = readInto(read, column, parameters.get(column.name))
      if (fault !== undefined) return Result.fail(fault)
    }
    // Each was decoded by its own Schema, and a struct's type is what its fields decode to.
    return Result.succeed(read as Read<F>)
  }
}
