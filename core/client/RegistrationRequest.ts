import { Result, Schema, SchemaIssue } from "effect"
import { parseJson } from "../codec/Json.ts"
import { privateKeyIn } from "../rules/Jwk.ts"
import { InvalidClientMetadata } from "../rules/Refusal.ts"
import type { ClientMember } from "./ClientMember.ts"

/** Without a property of Unicode or a surrogate, since tools that know neither read the pattern in the document. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it refuses
const uncontrolled = Schema.isPattern(/^[^\u0000-\u001f\u007f-\u009f]*$/u)
const whole = Schema.makeFilter((text: string) => !/\p{Cs}/u.test(text), { expected: "whole Unicode" })
/** Whole Unicode without control characters: every store can keep it and every log can hold it. */
const plain = [uncontrolled, whole] as const
const Text = Schema.String.check(Schema.isMaxLength(512), ...plain)
const WebUri = Schema.String.check(
  Schema.isMaxLength(2048),
  // Without a flag, which no JSON Schema could say.
  Schema.isPattern(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s]+$/),
  ...plain,
  Schema.makeFilter((text: string) => URL.canParse(text), { expected: "an address" })
)
const names = (most: number) =>
  Schema.Array(Schema.String.check(Schema.isMaxLength(2048), ...plain)).check(Schema.isMaxLength(most))

export const GrantTypes = names(20)

/** RFC 7591 §2: what a client sends to register. Members that are not named here are ignored. */
export const RegistrationRequest = Schema.Struct({
  redirect_uris: Schema.optionalKey(names(50)),
  token_endpoint_auth_method: Schema.optionalKey(Schema.String),
  grant_types: Schema.optionalKey(GrantTypes),
  response_types: Schema.optionalKey(names(20)),
  scope: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(2048))),
  client_name: Schema.optionalKey(Text),
  client_uri: Schema.optionalKey(WebUri),
  logo_uri: Schema.optionalKey(WebUri),
  tos_uri: Schema.optionalKey(WebUri),
  policy_uri: Schema.optionalKey(WebUri),
  contacts: Schema.optionalKey(names(20)),
  software_id: Schema.optionalKey(Text),
  software_version: Schema.optionalKey(Text),
  application_type: Schema.optionalKey(Text)
})
export type RegistrationRequest = typeof RegistrationRequest.Type

/** What of a server's tables decides which registrations it reads. */
interface RegistrationRows {
  readonly clientAuths: ReadonlyMap<string, { readonly members?: Schema.Struct.Fields }>
  readonly clientMembers: ReadonlyArray<Pick<ClientMember, "name" | "schema">>
}

/** The members that rows read beside those of every client. */
export const rowMembers = ({ clientAuths, clientMembers }: RegistrationRows): Schema.Struct.Fields =>
  Object.assign(
    {},
    ...[...clientAuths.values()].map(({ members }) => members),
    ...clientMembers.map(({ name, schema }) => ({ [name]: Schema.optionalKey(schema) }))
  )

/** The members of a registration in a server with these rows. */
export const registrationFields = (rows: RegistrationRows) => ({
  ...rowMembers(rows),
  ...RegistrationRequest.fields,
  token_endpoint_auth_method: Schema.optionalKey(Schema.Literals([...rows.clientAuths.keys()]))
})

const decoderOf = (rows: RegistrationRows) =>
  // A request with the members of the rows, which name no type here, and with a method that is one of the rows'.
  Schema.decodeUnknownResult(Schema.Struct(registrationFields(rows)) as Schema.Decoder<RegistrationRequest>)

interface Compiled {
  readonly clientMembers: RegistrationRows["clientMembers"]
  readonly decode: ReturnType<typeof decoderOf>
}

const decoders = new WeakMap<RegistrationRows["clientAuths"], Compiled>()

/** Tables are there for good, and each is compiled once. */
const decodeBy = (rows: RegistrationRows): ReturnType<typeof decoderOf> => {
  const { clientAuths, clientMembers } = rows
  const known = decoders.get(clientAuths)
  if (known?.clientMembers === clientMembers) return known.decode
  const decode = decoderOf(rows)
  decoders.set(clientAuths, { clientMembers, decode })
  return decode
}

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** JSON's null and the empty text say nothing, as an absent member does. */
const saysSomething = ([, value]: readonly [string, unknown]): boolean =>
  value !== undefined && value !== null && value !== ""

/** A registration's body. */
export const readRegistration = (
  rows: RegistrationRows,
  body: string
): Result.Result<RegistrationRequest, InvalidClientMetadata> => checkRegistration(rows, parseJson(body))

/** What is wrong is told by the member's name, never by its value. */
export const checkRegistration = (
  rows: RegistrationRows,
  parsed: unknown
): Result.Result<RegistrationRequest, InvalidClientMetadata> => {
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return Result.fail(new InvalidClientMetadata({ message: "The body has to be a JSON object." }))
  }
  const said = Object.fromEntries(Object.entries(parsed).filter(saysSomething))
  const keys = keysFault(said)
  if (keys !== undefined) return Result.fail(new InvalidClientMetadata({ message: keys }))
  const decoded = decodeBy(rows)(said)
  if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
  const member = String(format(decoded.failure.issue).issues[0]?.path?.[0] ?? "")
  return Result.fail(new InvalidClientMetadata({ message: faultIn(rows, member) }))
}

/**
 * RFC 7591 §2: keys or their address, never both. A key that tells a secret is named, so that it can be replaced, whatever
 * the method: it was sent, also to a server that reads no keys.
 */
const keysFault = ({ jwks, jwks_uri }: Readonly<Record<string, unknown>>): string | undefined => {
  const secret = privateKeyIn(jwks)
  if (secret !== undefined) {
    return `Key number ${secret.index + 1} of the jwks has the private member ${secret.member}, so it is a secret no more: register the public part of another.`
  }
  return jwks !== undefined && jwks_uri !== undefined ? "A client registers jwks or jwks_uri, not both." : undefined
}

/** RFC 7591 lets a server take less than it names, so a value may be good elsewhere: what there is here is said. */
const faultIn = (rows: RegistrationRows, member: string): string =>
  member === "token_endpoint_auth_method"
    ? `The ${member} has to be one of these: ${[...rows.clientAuths.keys()].join(", ")}.`
    : `The member ${member} has a value that is not taken here.`
