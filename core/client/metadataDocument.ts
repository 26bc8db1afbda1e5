import { Option, Result, Schema } from "effect"
import { isMembers, type Members, parseJson } from "../codec/Json.ts"
import type { ClientAuth } from "../oauth/clients/ClientAuth.ts"
import type { Instant } from "../rules/Instant.ts"
import { privateKeyIn } from "../rules/Jwk.ts"
import type { Policy } from "../rules/Policy.ts"
import { checkRedirectUri } from "../rules/RedirectUri.ts"
import type { DocumentFaultName } from "../rules/Refusal.ts"
import { digestOf } from "../rules/Secret.ts"
import type { Brought } from "./Brought.ts"
import { About } from "./Client.ts"
import { type DocumentAddress, hostOf } from "./ClientIdentifier.ts"
import { checkRegistration, RegistrationRequest } from "./RegistrationRequest.ts"
import { describeClient, type Tables } from "./register.ts"
import { actsForWorkspace } from "./workspaceAccess.ts"

/** A document as it came. */
export interface Fetched {
  readonly body: string
  readonly fetchedAt: Instant
  readonly freshUntil: Instant
}

const textsIn = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((one) => typeof one === "string") : []

/** §4.1: a public document has no secret, a private key among them, and asks for no method that takes one. */
const isSecretive = (said: Members): boolean =>
  privateKeyIn(said.jwks) !== undefined ||
  Object.entries(said).some(([name, value]) => name.startsWith("client_secret") && value !== null) ||
  (typeof said.token_endpoint_auth_method === "string" && said.token_endpoint_auth_method.startsWith("client_secret"))

/** The methods that need nothing which only two know. */
const isWithoutSecret = ({ proves, signs }: ClientAuth): boolean => !proves || signs === true

/**
 * OpenID Connect RP Metadata Choices: the method that it names, where that is one of ours, else the first of ours among
 * several, else none.
 */
const methodOf = ({ clientAuths }: Tables, said: Members): string => {
  const { token_endpoint_auth_method: named } = said
  const one = typeof named === "string" && named !== "" ? named : undefined
  if (one !== undefined && clientAuths.has(one)) return one
  const ours = textsIn(said.token_endpoint_auth_methods_supported).find((name) => clientAuths.has(name))
  return ours ?? one ?? "none"
}

const readers = Object.entries(RegistrationRequest.fields)
  .filter(([name]) => Object.hasOwn(About.fields, name))
  .map(([name, schema]) => [name, Schema.decodeUnknownOption(Schema.Struct({ [name]: schema }))] as const)

/** What it says to people is no reason to turn it down: what is odd of it is not told to them. */
const aboutIn = (said: Members): Members =>
  Object.assign({}, ...readers.map(([name, read]) => Option.getOrElse(read({ [name]: said[name] }), () => ({}))))

const aboutNames = Object.keys(About.fields)

/**
 * A registration that says the same. Written for servers of every kind, a document names grant types, response types and
 * redirect URIs that are none here: they are left out beside ones that are. An unregistered client acts for people only,
 * and no document gives it what an owner gives.
 */
const registrationOf = (tables: Tables, said: Members): Members => {
  const rest = Object.entries(said).filter(([name]) => !aboutNames.includes(name))
  const open = [...tables.grantTypes.values()].filter(
    (row) => !actsForWorkspace(row) && row.registers.givenByOwner !== true
  )
  const grantTypes = textsIn(said.grant_types).filter((name) => open.some((row) => row.name === name))
  const responseTypes = textsIn(said.response_types).filter((name) =>
    open.some(({ registers: { responseType } }) => responseType === name)
  )
  return {
    ...Object.fromEntries(rest),
    ...aboutIn(said),
    grant_types: grantTypes.length === 0 ? undefined : grantTypes,
    ...(responseTypes.length === 0 ? {} : { response_types: responseTypes }),
    redirect_uris: textsIn(said.redirect_uris).filter((uri) => Result.isSuccess(checkRedirectUri(uri))),
    token_endpoint_auth_method: methodOf(tables, said)
  }
}

/** draft-ietf-oauth-client-id-metadata-document §4: what the client behind an address says of itself. */
export const readDocument = (
  tables: Tables,
  address: DocumentAddress,
  { body, fetchedAt, freshUntil }: Fetched,
  policy: Policy
): Result.Result<Brought, DocumentFaultName> => {
  const said = parseJson(body)
  if (!isMembers(said)) return Result.fail("document_malformed")
  // By simple comparison of strings: whose document this is, it has to say itself.
  if (said.client_id !== address) return Result.fail("document_mismatch")
  if (isSecretive(said)) return Result.fail("document_secret")
  const method = tables.clientAuths.get(methodOf(tables, said))
  if (method === undefined || !isWithoutSecret(method)) return Result.fail("document_unusable")
  const described = Result.flatMap(checkRegistration(tables, registrationOf(tables, said)), (request) =>
    describeClient(tables, request, policy)
  )
  const document = { host: hostOf(address), fetchedAt, freshUntil, digest: digestOf(body) }
  return Result.mapBoth(described, {
    onSuccess: (terms) => ({ ...terms, identifier: address, document }),
    onFailure: () => "document_unusable" as const
  })
}
