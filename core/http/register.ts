import { Effect, Option, Redacted, Result, Schema } from "effect"
import { type Client, isKnown } from "../client/Client.ts"
import { readRegistration } from "../client/RegistrationRequest.ts"
import { clientInformation, issuedSecret, reregister } from "../client/register.ts"
import type { EndpointOf } from "../openapi/contract/Contract.ts"
import {
  type deleteRegistrationContract,
  type RegisteredClient,
  type readRegistrationContract,
  type registerContract,
  updateRegistrationContract
} from "../openapi/contract/register.ts"
import { allowances } from "../ports/allowances.ts"
import { readClientId } from "../rules/Id.ts"
import { InvalidClientMetadata, InvalidRequest, InvalidToken, TokenRequired } from "../rules/Refusal.ts"
import { digestOf, sameDigest } from "../rules/Secret.ts"
import { deleteClient } from "../server/deleteClient.ts"
import { drawClient, registerClient } from "../server/registerClient.ts"
import { endpointUrl } from "../workspace/endpointUrl.ts"
import { empty, noStore, secretJson } from "./answer.ts"
import type { Call } from "./Call.ts"
import { isJson } from "./form.ts"
import { readBearer } from "./guard.ts"
import type { HttpResponse } from "./Http.ts"
import { noteOf, occasionOf } from "./occasion.ts"
import type { Parts } from "./Parts.ts"
import { takeOfAddress } from "./takeOfAddress.ts"

export const registerPath = "/oauth/register"

const registrationUri = (call: Call, client: Client): string =>
  `${endpointUrl(call.workspace, registerPath)}/${client.id}`

const information = (
  status: number,
  call: Call,
  client: Client,
  registrationToken: Redacted.Redacted<string>,
  secret: Option.Option<Redacted.Redacted<string>>
): HttpResponse =>
  secretJson(status, {
    ...clientInformation(client),
    ...(Option.isSome(secret) ? { client_secret: Redacted.value(secret.value) } : {}),
    // RFC 7591 §3.2.1: required where a secret is issued; 0 is never.
    ...(client.credential._tag === "Secret" ? { client_secret_expires_at: 0 } : {}),
    registration_client_uri: registrationUri(call, client),
    registration_access_token: Redacted.value(registrationToken)
  } satisfies RegisteredClient)

const readBody = Effect.fnUntraced(function* (call: Call) {
  if (!isJson(call.request)) {
    const message = "The body has to be application/json."
    return yield* new InvalidRequest({ reason: "wrong_content_type", message })
  }
  return yield* Effect.fromResult(readRegistration(call.request.body))
})

const bearer = (call: Call): Option.Option<Redacted.Redacted<string>> =>
  Option.map(Result.getSuccess(readBearer(call.request.headers.get("authorization"))), (text) =>
    Redacted.make(text, { label: "registration token" })
  )

/** RFC 7591 §3. */
export const registerEndpoint = (parts: Parts): EndpointOf<typeof registerContract> =>
  Effect.fnUntraced(function* (call) {
    yield* takeOfAddress(parts.limiter, call, allowances.register)
    yield* parts.registration.permit(call.workspace, Option.getOrUndefined(bearer(call)))
    const request = yield* readBody(call)
    const made = yield* registerClient(parts, occasionOf(call), request)
    return information(201, call, made.client, made.registrationToken, made.secret)
  })

/** RFC 7592 §2: whoever holds the registration access token may look after the registration, nobody else. */
const ownClient = Effect.fnUntraced(function* (parts: Parts, call: Call) {
  const token = bearer(call)
  if (Option.isNone(token)) return yield* new TokenRequired()
  const id = readClientId(call.path.slice(registerPath.length + 1))
  const client = Option.isNone(id) ? undefined : yield* parts.clients.find(call.workspace.id, id.value)
  const matches = sameDigest(digestOf(Redacted.value(token.value)), client?.registration ?? digestOf(""))
  if (client === undefined || !isKnown(client, call.now) || !matches) {
    return yield* new InvalidToken({ reason: client === undefined ? "client_gone" : "bad_secret" })
  }
  if (client.disabled) return yield* new InvalidToken({ reason: "client_disabled" })
  yield* parts.limiter.take({ allowance: allowances.client, workspace: call.workspace.id, of: client.id })
  return { client, token: token.value }
})

export const readRegistrationEndpoint = (parts: Parts): EndpointOf<typeof readRegistrationContract> =>
  Effect.fnUntraced(function* (call) {
    const { client, token } = yield* ownClient(parts, call)
    return information(200, call, client, token, Option.none())
  })

export const updateRegistrationEndpoint = (parts: Parts): EndpointOf<typeof updateRegistrationContract> =>
  Effect.fnUntraced(function* (call) {
    const { client, token } = yield* ownClient(parts, call)
    const request = yield* readBody(call)
    yield* claimsToBe(client, call.request.body)
    const fresh = drawClient(parts.entropy)
    const isOpen = yield* Effect.isSuccess(parts.registration.permit(call.workspace, undefined))
    const again = (current: Client) => reregister(current, request, parts.policy, fresh, isOpen)
    // Decided once for the answer and again, with the same draw, on what is stored by then.
    yield* Effect.fromResult(again(client))
    const stored = yield* parts.clients.change(call.workspace.id, client.id, (current) =>
      Result.match(again(current), { onFailure: () => current, onSuccess: ({ client }) => client })
    )
    if (stored === undefined) return yield* new InvalidToken({ reason: "client_gone" })
    yield* noteOf(parts, call, { _tag: "ClientChanged", client: client.id, change: "updated" })
    return information(200, call, stored, token, issuedSecret(stored, fresh))
  })

const { client_id: OwnId, client_secret: OwnSecret } = updateRegistrationContract.json.fields
const readOwnId = Schema.decodeUnknownOption(OwnId)
const readOwnSecret = Schema.decodeUnknownOption(OwnSecret)

/** RFC 7592 §2.2: the body names the client that it is for, and a secret in it has to be the client's own. */
const claimsToBe = (client: Client, body: string): Effect.Effect<void, InvalidClientMetadata> => {
  // `readBody` has read it as an object before.
  const members = JSON.parse(body) as { readonly [name: string]: unknown }
  const fault = (message: string) => Effect.fail(new InvalidClientMetadata({ message }))
  if (!Option.contains(readOwnId(members.client_id), client.id))
    return fault("The member client_id is not this client's.")
  if (members.client_secret === undefined || members.client_secret === null) return Effect.void
  const digest = client.credential._tag === "Secret" ? client.credential.digest : ""
  const secret = readOwnSecret(members.client_secret)
  return Option.isSome(secret) && sameDigest(digestOf(secret.value), digest)
    ? Effect.void
    : fault("The member client_secret is not this client's.")
}

export const deleteRegistrationEndpoint = (parts: Parts): EndpointOf<typeof deleteRegistrationContract> =>
  Effect.fnUntraced(function* (call) {
    const { client } = yield* ownClient(parts, call)
    yield* deleteClient(parts, occasionOf(call), client.id)
    return empty(204, noStore)
  })
