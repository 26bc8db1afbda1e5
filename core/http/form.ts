import { Option, Result, Schema, SchemaAST } from "effect"
import { InvalidRequest } from "../rules/Refusal.ts"
import type { HttpRequest } from "./Http.ts"

const key = "tessera/refusedAs"

/** An annotation: what is told of a parameter whose value is not as the annotated Schema has it. */
export const refusedAs = (refusal: InvalidRequest) => ({ [key]: refusal })

const refusalOf: (ast: SchemaAST.AST) => InvalidRequest | undefined = SchemaAST.resolveAt(key)

let open: (sent: Sent) => Parameters
let listed: (sent: Sent) => Lists

/** The parameters of a request as they came. An endpoint gets at them through the Schemas of its contract only. */
export class Sent {
  readonly #parameters: Parameters
  readonly #lists: Lists
  constructor(parameters: Parameters, lists: Lists = noLists) {
    this.#parameters = parameters
    this.#lists = lists
  }
  static {
    open = (sent) => sent.#parameters
    listed = (sent) => sent.#lists
  }
}

/** Of parameters that came more than once, all values. */
type Lists = ReadonlyMap<string, ReadonlyArray<string>>

const noLists: Lists = new Map()

/** A parameter's own text, to be told back or held against another; what is acted on comes from a reader. */
export const asItCame = (sent: Sent, name: string): string | undefined => open(sent).get(name)

export type Fields = Readonly<Record<string, Schema.Decoder<unknown>>>

export type Read<F extends Fields> = Schema.Struct<F>["Type"]

type Reader<F extends Fields> = (sent: Sent) => Result.Result<Read<F>, InvalidRequest>

type Decode = (text: string) => Option.Option<unknown>

interface Column {
  readonly name: string
  readonly optional: boolean
  readonly missing: InvalidRequest
  readonly malformed: InvalidRequest
  /** It may come more than once, and is a list of texts. */
  readonly several: boolean
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
    several: SchemaAST.isArrays(ast),
    decode: transforms ? undefined : decoderOf(schema),
    alone: transforms ? Schema.decodeUnknownOption(Schema.Struct({ [name]: schema })) : undefined
  }
}

/** Comes back with what is wrong, if something is. */
const readInto = (
  read: Record<string, unknown>,
  { alone, decode, malformed, missing, name, optional, several }: Column,
  text: string | undefined,
  all: ReadonlyArray<string> | undefined
): InvalidRequest | undefined => {
  if (several) {
    if (text === undefined) return optional ? undefined : missing
    read[name] = all ?? [text]
    return undefined
  }
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
    const lists = listed(sent)
    const read: Record<string, unknown> = {}
    for (const column of columns) {
      const fault = readInto(read, column, parameters.get(column.name), lists.get(column.name))
      if (fault !== undefined) return Result.fail(fault)
    }
    // Each was decoded by its own Schema, and a struct's type is what its fields decode to.
    return Result.succeed(read as Read<F>)
  }
}

/** Parameters of one request: each at most once, none without a value. */
export type Parameters = ReadonlyMap<string, string>

interface ReadParameters {
  readonly parameters: Parameters
  /** Names that came more than once; their first value stands in `parameters`. */
  readonly repeated: ReadonlySet<string>
  readonly lists: Lists
}

class Reading {
  readonly parameters = new Map<string, string>()
  repeated: Set<string> | undefined
  lists: Map<string, Array<string>> | undefined

  add(name: string, value: string): void {
    const first = this.parameters.get(name)
    if (first !== undefined) this.repeat(name, first, value)
    // RFC 6749 §3.1: one without a value was not sent.
    else if (value !== "") this.parameters.set(name, value)
  }

  private repeat(name: string, first: string, value: string): void {
    this.repeated = (this.repeated ?? new Set()).add(name)
    this.lists ??= new Map()
    const list = this.lists.get(name) ?? [first]
    if (value !== "") list.push(value)
    this.lists.set(name, list)
  }
}

/**
 * `+` is a space, and `%` begins a byte. Most names and values have neither, even where others of the form do. Throws
 * where the bytes are no UTF-8.
 */
export const formDecoded = (text: string): string => {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text
  return spaced.includes("%") ? decodeURIComponent(spaced) : spaced
}

const asItIs = (text: string): string => text

/** Throws where a text has bytes that are no UTF-8. */
const readPairs = (text: string, read: (text: string) => string): Reading => {
  const reading = new Reading()
  let equals = text.indexOf("=")
  for (let start = 0; start < text.length; ) {
    const ampersand = text.indexOf("&", start)
    const end = ampersand === -1 ? text.length : ampersand
    // Looked for once and not for each pair: a body of nothing but ampersands would be read to its end for each of them.
    if (equals !== -1 && equals < start) equals = text.indexOf("=", start)
    if (equals !== -1 && equals < end) reading.add(read(text.slice(start, equals)), read(text.slice(equals + 1, end)))
    else if (end > start) reading.add(read(text.slice(start, end)), "")
    start = end + 1
  }
  return reading
}

const readByPlatform = (text: string): Reading => {
  const reading = new Reading()
  for (const [name, value] of new URLSearchParams(text)) reading.add(name, value)
  return reading
}

const ascii = /^[\0-\x7f]*$/

/** As the URL standard reads a form: by its own reader where a text is out of the ordinary. */
const readAny = (text: string): Reading => {
  // What is not ASCII may hold halves of characters, which only the platform puts right.
  if (!ascii.test(text)) return readByPlatform(text)
  if (!text.includes("%") && !text.includes("+")) return readPairs(text, asItIs)
  try {
    return readPairs(text, formDecoded)
  } catch {
    return readByPlatform(text)
  }
}

export const readParameters = (text: string): ReadParameters => {
  const { lists = noLists, parameters, repeated = none } = readAny(text)
  return { parameters, repeated, lists }
}

const none: ReadonlySet<string> = new Set()

export const formType = "application/x-www-form-urlencoded"

const isType = (contentType: string | null | undefined, wanted: string): boolean =>
  contentType === wanted || contentType?.split(";", 1)[0]?.trim().toLowerCase() === wanted

export const isJson = (request: HttpRequest): boolean => isType(request.headers.get("content-type"), "application/json")

export const isForm = (request: HttpRequest): boolean => isType(request.headers.get("content-type"), formType)

export const repeatedParameter = (repeated: ReadonlySet<string>): InvalidRequest =>
  // A name is the client's own text: only what may stand in an error_description is said.
  new InvalidRequest({
    reason: "repeated_parameter",
    message: `A parameter came more than once: ${[...repeated].map((name) => name.replace(/[^\w.-]/g, "?").slice(0, 64)).join(", ")}.`
  })

/** RFC 6749 §3.2: the form of a request to an endpoint that takes one. */
export const readForm = (request: HttpRequest): Result.Result<Parameters, InvalidRequest> =>
  Result.map(readOnce(request, none), ({ parameters }) => parameters)

/** `several`: the parameters that may come more than once. */
const readOnce = (
  request: HttpRequest,
  several: ReadonlySet<string>
): Result.Result<ReadParameters, InvalidRequest> => {
  if (!isForm(request)) {
    const message = `The body has to be ${formType}.`
    return Result.fail(new InvalidRequest({ reason: "wrong_content_type", message }))
  }
  const read = readParameters(request.body)
  const repeated = onceOnly(read.repeated, several)
  return repeated.size > 0 ? Result.fail(repeatedParameter(repeated)) : Result.succeed(read)
}

const onceOnly = (repeated: ReadonlySet<string>, several: ReadonlySet<string>): ReadonlySet<string> =>
  repeated.size === 0 || several.size === 0 ? repeated : new Set([...repeated].filter((name) => !several.has(name)))

/** Of a struct's fields, those that may come more than once (RFC 8707 §2). */
export const severalOf = (fields: Fields): ReadonlySet<string> =>
  new Set(Object.keys(fields).filter((name) => SchemaAST.isArrays(fields[name]?.ast ?? Schema.Never.ast)))

/** The form of a request to an endpoint with a contract. */
export const sentForm = (
  request: HttpRequest,
  several: ReadonlySet<string> = none
): Result.Result<Sent, InvalidRequest> => {
  const form = readOnce(request, several)
  return Result.isFailure(form)
    ? Result.fail(form.failure)
    : Result.succeed(new Sent(form.success.parameters, form.success.lists))
}

/** The query of a request to an endpoint with a contract, and the names in it that came more than once. */
export const sentQuery = (
  query: string,
  several: ReadonlySet<string> = none
): { readonly sent: Sent; readonly repeated: ReadonlySet<string> } => {
  const { lists, parameters, repeated } = readParameters(query)
  return { sent: new Sent(parameters, lists), repeated: onceOnly(repeated, several) }
}
