import { Array as Arrays, type JsonSchema, Result, Schema, SchemaAST } from "effect"
import { corsHeaders, noSniffing, secretJson } from "../http/answer.ts"
import type { Fault, FaultClass } from "../http/Fault.ts"
import { answerFault, broken, oauthError } from "../http/faults.ts"
import type { HeaderPairs, HttpResponse } from "../http/Http.ts"
import { type Contract, type Endpoint, type Services, scopesNeeded } from "../http/Route.ts"
import { Instant } from "../rules/Instant.ts"
import { Overloaded } from "../rules/Refusal.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import { type Components, documentedHeader } from "./Components.ts"

/** Enough values of a field to see everything that a fault's answer may depend on: each word, both truths. */
const valuesOf = (ast: SchemaAST.AST): ReadonlyArray<unknown> => {
  if (SchemaAST.isLiteral(ast)) return [ast.literal]
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(valuesOf)
  if (SchemaAST.isBoolean(ast)) return [true, false]
  if (SchemaAST.isNumber(ast)) return [1]
  if (SchemaAST.isArrays(ast)) return [[]]
  return [""]
}

/** The faults that a class has: one for each of its reasons. */
const enumerateFaults = (faults: FaultClass): ReadonlyArray<Fault> => {
  const read = Schema.decodeUnknownResult(faults)
  const all = Object.entries(faults.fields).reduce<ReadonlyArray<Readonly<Record<string, unknown>>>>(
    (made, [name, field]) => made.flatMap((fault) => valuesOf(field.ast).map((value) => ({ ...fault, [name]: value }))),
    [{}]
  )
  return all.map((fault) => Result.getOrThrow(read(fault)))
}

/** An answer that was made for the document, and what is to be said of it. */
interface Sampled {
  readonly response: HttpResponse
  readonly description: string
  /** Of a body in JSON; an error's says itself which it is. */
  readonly schema?: JsonSchema.JsonSchema
}

const reasons: Readonly<Record<number, string>> = {
  400: "The request is not right, or cannot be granted.",
  401: "The caller is not authenticated.",
  403: "The caller may not do this.",
  404: "It is not there.",
  413: "The body is too large.",
  429: "Too many requests.",
  500: "A fault of the server's own.",
  503: "The server or its storage cannot answer now."
}

const errorDescription = (status: number): string => reasons[status] ?? "It was refused."

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

/** RFC 6750 §3.1: a caller that shows no token at all is told no error. */
const emptyOrError = "The body is empty where nothing was shown, and else an Error in JSON."

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
  const mayBeEmpty = content.length > 0 && full.length < samples.length
  const descriptions = [...samples.map(({ description }) => description), ...(mayBeEmpty ? [emptyOrError] : [])]
  return {
    description: [...new Set(descriptions)].join(" "),
    headers: Object.fromEntries(headers),
    // OpenAPI has no word for a body that is there or not: `content` would promise one to every tool that reads it.
    ...(content.length === 0 ? {} : { [mayBeEmpty ? "x-content-if-any" : "content"]: Object.fromEntries(content) })
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

/** What a route's answers are made from. */
export interface Surroundings {
  readonly services: Pick<Services, "pages" | "clientAuths" | "presentations">
  readonly workspace: Workspace
  readonly components: Components
}

const error = (response: HttpResponse): Sampled => ({ response, description: errorDescription(response.status) })

/** What every answer carries. */
const headersOf = (cors: boolean): HeaderPairs => [["x-request-id", ""], ...(cors ? corsHeaders : [])]

/** What a runtime answers, at every path alike, before the core has seen the request. */
const earlyAnswer = (response: HttpResponse): Sampled =>
  error({ ...response, headers: [...response.headers, ...headersOf(true)] })

const overloaded = earlyAnswer(oauthError(new Overloaded()))
const tooLarge = earlyAnswer(
  secretJson(413, { error: "invalid_request", error_description: "" }, [noSniffing, ["connection", "close"]])
)

/** What the core answers. */
const finished = (endpoint: Endpoint, sampled: Sampled): Sampled => {
  const { headers, ...response } = sampled.response
  const others = headers.filter(([name]) => name !== noSniffing[0])
  return { ...sampled, response: { ...response, headers: [...others, noSniffing, ...headersOf(endpoint.cors)] } }
}

/** Every answer that an operation may give, made as the server makes it. */
export const samplesOf = (
  { components, services, workspace }: Surroundings,
  endpoint: Endpoint,
  contract: Contract
): ReadonlyArray<Sampled> => {
  const { path } = endpoint
  const request = { method: "GET", path, query: "", headers: { get: () => undefined }, body: "" }
  const call = { request, workspace, path, endpoint: path, now: Instant.make(0), requestId: "" }
  const faults: ReadonlyArray<Fault> = contract.faults
    .flatMap(enumerateFaults)
    .filter((fault) => contract.spares?.(fault) !== true)
  const refusing = { errors: endpoint.errors, scopes: scopesNeeded(contract) }
  const own = contract.answers.map(({ body, description, like }) => ({
    response: like({ pages: services.pages, workspace }),
    description,
    ...(body === undefined ? {} : { schema: components.use(body) })
  }))
  return [
    ...own.map((sampled) => finished(endpoint, sampled)),
    ...faults.map((fault) => finished(endpoint, error(answerFault(services, call, refusing, fault)))),
    // What touches nothing that can fail does not break.
    ...(contract.faults.length === 0 ? [] : [finished(endpoint, error(broken))]),
    overloaded,
    ...(contract.form === undefined && contract.json === undefined ? [] : [tooLarge])
  ]
}
