import { Result, Schema, SchemaIssue } from "effect"
import { InvalidClientMetadata } from "../rules/Refusal.ts"
import { AuthMethod, authMethods } from "./Client.ts"

/** Whole Unicode without control characters: every store can keep it and every log can hold it. */
const plain = Schema.isPattern(/^[^\p{Cc}\p{Cs}]*$/u)
const Text = Schema.String.check(Schema.isMaxLength(512), plain)
const WebUri = Schema.String.check(
  Schema.isMaxLength(2048),
  // Without a flag, which no JSON Schema could say.
  Schema.isPattern(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^\s]+$/),
  plain,
  Schema.makeFilter((text: string) => URL.canParse(text), { expected: "an address" })
)
const names = (most: number) =>
  Schema.Array(Schema.String.check(Schema.isMaxLength(2048), plain)).check(Schema.isMaxLength(most))

/** RFC 7591 §2: what a client sends to register. Members that are not named here are ignored. */
export const RegistrationRequest = Schema.Struct({
  redirect_uris: Schema.optionalKey(names(50)),
  token_endpoint_auth_method: Schema.optionalKey(AuthMethod),
  grant_types: Schema.optionalKey(names(20)),
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

const decode = Schema.decodeUnknownResult(RegistrationRequest)
const format = SchemaIssue.makeFormatterStandardSchemaV1()

/** JSON's null and the empty text say nothing, as an absent member does. */
const saysSomething = ([, value]: readonly [string, unknown]): boolean =>
  value !== undefined && value !== null && value !== ""

/** A registration's body. */
export const readRegistration = (body: string): Result.Result<RegistrationRequest, InvalidClientMetadata> =>
  checkRegistration(parseJson(body))

/** What is wrong is told by the member's name, never by its value. */
export const checkRegistration = (parsed: unknown): Result.Result<RegistrationRequest, InvalidClientMetadata> => {
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) {
    return Result.fail(new InvalidClientMetadata({ message: "The body has to be a JSON object." }))
  }
  const decoded = decode(Object.fromEntries(Object.entries(parsed).filter(saysSomething)))
  if (Result.isSuccess(decoded)) return Result.succeed(decoded.success)
  const member = String(format(decoded.failure.issue).issues[0]?.path?.[0] ?? "")
  return Result.fail(new InvalidClientMetadata({ message: faultIn(member) }))
}

/** RFC 7591 lets a server take less than it names, so a value may be good elsewhere: what there is here is said. */
const faultIn = (member: string): string =>
  member === "token_endpoint_auth_method"
    ? `The ${member} has to be one of these: ${authMethods.join(", ")}.`
    : `The member ${member} has a value that is not taken here.`

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
