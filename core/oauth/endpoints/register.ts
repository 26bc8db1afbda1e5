import { Effect, Option, Redacted, Result, Schema } from "effect"
import type { Brought } from "../../client/Brought.ts"
import { type Client, ClientInformation, identifierOf, isKnown } from "../../client/Client.ts"
import {
  isBrought,
  type RegisteredIdentifier as Named,
  RegisteredIdentifier,
  readRegisteredIdentifier
} from "../../client/ClientIdentifier.ts"
import { isSecret, secretDigest, whichSecret } from "../../client/ClientSecret.ts"
import { idTokenAlgorithmGiven, openIdAlgorithmsOf } from "../../client/openIdMembers.ts"
import { algorithmsOf, leastProfile } from "../../client/Profile.ts"
import { GrantTypes, readRegistration, registrationFields, rowMembers } from "../../client/RegistrationRequest.ts"
import { clientInformation, issuedSecret, nameableGrantTypes, reregister } from "../../client/register.ts"
import { deleteClient, drawClient, registerClient } from "../../engine/administerClients.ts"
import type { Met } from "../../engine/BroughtClients.ts"
import { roomForRecord } from "../../engine/ClientRoom.ts"
import { takeOfAddress } from "../../http/addressLimit.ts"
import { empty, noStore, secretJson } from "../../http/answer.ts"
import { auditContextOf, noteOf } from "../../http/audit.ts"
import type { Fault } from "../../http/Fault.ts"
import { isJson } from "../../http/form.ts"
import type { HttpResponse } from "../../http/Http.ts"
import { bound, type Call, type Contract, type Endpoint, type HandlerOf, type Services } from "../../http/Route.ts"
import { allowances, networkOf } from "../../ports/Limiter.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import {
  Contended,
  InvalidClientMetadata,
  InvalidRedirectUri,
  InvalidRequest,
  InvalidToken,
  RegistrationRefused,
  TokenRequired,
  TooManyRequests
} from "../../rules/Refusal.ts"
import { digestOf, hashOf, sameDigest } from "../../rules/Secret.ts"
import { endpointUrl, policyAt, servicesAt } from "../../workspace/Workspace.ts"
import { readBearer } from "../presented/bearer.ts"

/** Members that name an algorithm, where the profile of every client leaves some of those out. */
const algorithmFields = ({ policy }: Services, fields: Schema.Struct.Fields): Schema.Struct.Fields => {
  const profile = leastProfile(policy)
  if (profile.algorithms === null) return {}
  const left = {
    token_endpoint_auth_signing_alg: algorithmsOf(profile),
    request_object_signing_alg: algorithmsOf(profile),
    id_token_signed_response_alg: openIdAlgorithmsOf(policy),
    userinfo_signed_response_alg: openIdAlgorithmsOf(policy)
  }
  return Object.fromEntries(
    Object.entries(left)
      .filter(([name]) => name in fields)
      .map(([name, algorithms]) => [name, Schema.optionalKey(Schema.Literals(algorithms))])
  )
}

/** RFC 7591 §2: grant types that the server lacks are left out, but one has to be there. */
const documentedFields = (services: Services) => {
  const names = nameableGrantTypes(services, services.policy)
  const namesOne = Schema.makeFilter((types: ReadonlyArray<string>) => types.some((type) => names.includes(type)), {
    expected: `one of ${names.join(", ")}`,
    toJsonSchema: () => ({ contains: { enum: names } })
  })
  const fields = registrationFields(services)
  const grant_types = Schema.optionalKey(GrantTypes.check(namesOne))
  return { ...fields, ...algorithmFields(services, fields), grant_types }
}

const registerClientSchema = (services: Services) =>
  Schema.Struct(documentedFields(services)).annotate({
    identifier: "RegisterClient",
    description: "RFC 7591 §2. A member that is null or an empty text counts as one that was not sent."
  })

const updateFields = {
  client_id: Schema.String.annotate({ description: "The one of the address." }),
  client_secret: Schema.optionalKey(Schema.String.annotate({ description: "If it is there, the client's own." }))
} as const

/** RFC 7592 §2.2: all of it anew, and whom it is about. */
const updateClientSchema = (services: Services) =>
  Schema.Struct({ ...documentedFields(services), ...updateFields }).annotate({
    identifier: "UpdateClient",
    description: "RFC 7592 §2.2. What is left out is taken back."
  })

const Seconds = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const registeredFields = {
  ...ClientInformation.fields,
  client_secret: Schema.optionalKey(Schema.String.annotate({ description: "Shown where it is new, and never again." })),
  client_secret_expires_at: Schema.optionalKey(Seconds.annotate({ description: "0 is never." })),
  registration_client_uri: Schema.String.annotate({ format: "uri" }),
  registration_access_token: Schema.String
} as const
type RegisteredClient = Schema.Struct<typeof registeredFields>["Type"]

/** RFC 7591 §3.2.1 and RFC 7592 §3. */
const registered = (services: Services, status: number, description: string) =>
  ({
    description,
    like: () => secretJson(status, {}),
    body: Schema.Struct({ ...rowMembers(services), ...registeredFields }).annotate({ identifier: "RegisteredClient" })
  }) as const

const registerContract = (services: Services) =>
  ({
    id: "registerClient",
    heading: "Registration",
    summary: "Register an application",
    description: "RFC 7591. Whether it takes an initial access token is for the server to say.",
    json: registerClientSchema(services),
    callers: [{ shows: "nothing" }, { shows: "initialToken" }],
    answers: [registered(services, 201, "The client, its secret, and the token that looks after it.")],
    faults: [
      InvalidRequest,
      InvalidClientMetadata,
      InvalidRedirectUri,
      RegistrationRefused,
      TooManyRequests,
      StorageUnavailable
    ],
    // Where registration is closed, the document has no such operation.
    spares: (fault: Fault) => fault._tag === "RegistrationRefused" && fault.reason === "closed"
  }) as const satisfies Contract

const own = {
  heading: "Registration",
  below: { name: "client_id", schema: RegisteredIdentifier, description: "The client." },
  callers: [{ shows: "registrationToken" }]
} as const

const readRegistrationContract = (services: Services) =>
  ({
    id: "readClient",
    summary: "Read a registration",
    description: "RFC 7592 §2.1.",
    answers: [registered(services, 200, "The client, without its secret.")],
    faults: [TokenRequired, InvalidToken, TooManyRequests, StorageUnavailable],
    ...own
  }) as const satisfies Contract

const updateRegistrationContract = (services: Services) =>
  ({
    id: "updateClient",
    summary: "Change a registration",
    description: "RFC 7592 §2.2.",
    json: updateClientSchema(services),
    answers: [registered(services, 200, "The client as it is now.")],
    faults: [
      TokenRequired,
      InvalidToken,
      InvalidRequest,
      InvalidClientMetadata,
      InvalidRedirectUri,
      TooManyRequests,
      Contended,
      StorageUnavailable
    ],
    ...own
  }) as const satisfies Contract

const deleteRegistrationContract = {
  id: "deleteClient",
  summary: "Delete a registration",
  description: "RFC 7592 §2.3. Everything that was granted to the client ends with it.",
  answers: [{ description: "It is gone.", like: () => empty(204, noStore) }],
  faults: [TokenRequired, InvalidToken, TooManyRequests, Contended, StorageUnavailable],
  ...own
} as const satisfies Contract

const registerPath = "/oauth/register"

const registrationUri = (call: Call, client: Client): string =>
  `${endpointUrl(call.workspace, registerPath)}/${identifierOf(client)}`

const information = (
  services: Services,
  status: number,
  call: Call,
  client: Client,
  registrationToken: Redacted.Redacted<string>,
  secret?: Redacted.Redacted<string>
): HttpResponse =>
  secretJson(status, {
    ...clientInformation(services, client),
    ...idTokenAlgorithmGiven(client, policyAt(services.policy, call.workspace)),
    ...(secret === undefined ? {} : { client_secret: Redacted.value(secret) }),
    // RFC 7591 §3.2.1: required where a secret is issued; 0 is never.
    ...(secretDigest(client) !== undefined ? { client_secret_expires_at: 0 } : {}),
    registration_client_uri: registrationUri(call, client),
    registration_access_token: Redacted.value(registrationToken)
  } satisfies RegisteredClient)

const readBody = Effect.fnUntraced(function* (services: Services, call: Call) {
  if (!isJson(call.request)) {
    const message = "The body has to be application/json."
    return yield* new InvalidRequest({ reason: "wrong_content_type", message })
  }
  return yield* Effect.fromResult(readRegistration(services, call.request.body))
})

const bearer = (call: Call): Redacted.Redacted<string> | undefined => {
  const text = readBearer(call.request)
  return text === undefined ? undefined : Redacted.make(text, { label: "registration token" })
}

const networkOfCall = ({ request: { peer } }: Call): string | null => (peer === undefined ? null : networkOf(peer))

/** RFC 7591 §3. */
const registerHandler = (services: Services): HandlerOf<ReturnType<typeof registerContract>> =>
  Effect.fnUntraced(function* (call) {
    yield* takeOfAddress(services.limiter, call, allowances.register)
    yield* services.registration.permit(call.workspace, bearer(call))
    const request = yield* readBody(services, call)
    const made = yield* registerClient(
      servicesAt(services, call.workspace),
      auditContextOf(call),
      request,
      networkOfCall(call),
      services.clientRoom.take(call.workspace.id),
      { sealer: services.keys.current(), place: call.workspace }
    )
    return information(services, 201, call, made.client, made.registrationToken, made.secret)
  })

/** The client of a registration, whether it has a record yet or not. */
const registeredClient = (
  { brought, clients }: Services,
  { workspace }: Call,
  id: Named
): Effect.Effect<Partial<Met>, StorageUnavailable> =>
  isBrought(id)
    ? Effect.catchTag(brought.registered(workspace, id), "NoSuchClient", () => Effect.succeed({}))
    : Effect.map(clients.find(workspace.id, id), (client) =>
        // A record's id is no other name of a client that goes by its own.
        client === undefined || client.origin !== undefined ? {} : { client }
      )

/** RFC 7592 §2: only the holder of the registration access token may look after the registration. */
const ownClient = Effect.fnUntraced(function* (services: Services, call: Call) {
  const token = bearer(call)
  if (token === undefined) return yield* new TokenRequired()
  const id = readRegisteredIdentifier(call.path.slice(registerPath.length + 1))
  const { brought, client } = Option.isNone(id) ? {} : yield* registeredClient(services, call, id.value)
  const matches = sameDigest(digestOf(Redacted.value(token)), client?.registration ?? digestOf(""))
  if (client === undefined || !isKnown(client, call.now) || !matches) {
    return yield* new InvalidToken({ reason: client === undefined ? "client_gone" : "bad_secret" })
  }
  if (client.disabled) return yield* new InvalidToken({ reason: "client_disabled" })
  yield* services.limiter.take({ allowance: allowances.client, workspace: call.workspace.id, of: client.id })
  return { client, token, brought }
})

/** What is to be changed has to have a record: one that a registration left to the first consent gets it now. */
const written = Effect.fnUntraced(function* (
  services: Services,
  call: Call,
  brought: Brought | undefined
): Effect.fn.Return<void, InvalidToken | Contended | StorageUnavailable> {
  if (brought === undefined) return
  yield* roomForRecord(services.clientRoom, call.workspace.id)
  const admitted = services.brought.admit(call.workspace, auditContextOf(call), brought)
  yield* Effect.catchTag(admitted, "NoSuchClient", () => Effect.fail(new InvalidToken({ reason: "client_gone" })))
})

const readRegistrationHandler = (services: Services): HandlerOf<ReturnType<typeof readRegistrationContract>> =>
  Effect.fnUntraced(function* (call) {
    const { client, token } = yield* ownClient(services, call)
    return information(services, 200, call, client, token)
  })

const updateRegistrationHandler = (services: Services): HandlerOf<ReturnType<typeof updateRegistrationContract>> =>
  Effect.fnUntraced(function* (call) {
    const { brought, client, token } = yield* ownClient(services, call)
    const request = yield* readBody(services, call)
    yield* claimsToBe(client, call)
    const fresh = drawClient(services.entropy)
    const isOpen = yield* Effect.isSuccess(services.registration.permit(call.workspace, undefined))
    const asked = { at: call.now, network: networkOfCall(call) }
    const policy = policyAt(services.policy, call.workspace)
    const again = (current: Client) => reregister(services, current, request, policy, asked, fresh, isOpen)
    // Decided once for the answer and again, with the same draw, on what is stored by then.
    const last = { decided: again(client) }
    yield* Effect.fromResult(last.decided)
    yield* written(services, call, brought)
    const stored = yield* services.clients.change(call.workspace.id, client.id, (current) => {
      last.decided = again(current)
      return Result.isSuccess(last.decided) ? last.decided.success.client : current
    })
    if (stored === undefined) return yield* new InvalidToken({ reason: "client_gone" })
    // An owner may have put it under a stricter profile meanwhile.
    yield* Effect.fromResult(last.decided)
    yield* noteOf(services, call, { _tag: "ClientChanged", client: client.id, change: "updated" })
    return information(services, 200, call, stored, token, issuedSecret(stored, fresh))
  })

const readOwnId = Schema.decodeUnknownOption(updateFields.client_id)
const readOwnSecret = Schema.decodeUnknownOption(updateFields.client_secret)

/** RFC 7592 §2.2: the body names the client that it is for, and a secret in it has to be the client's own. */
const claimsToBe = (client: Client, { now, request: { body } }: Call): Effect.Effect<void, InvalidClientMetadata> => {
  // `readBody` has read it as an object before.
  const members = JSON.parse(body) as { readonly [name: string]: unknown }
  const fault = (message: string) => Effect.fail(new InvalidClientMetadata({ message }))
  if (!Option.contains(readOwnId(members.client_id), identifierOf(client)))
    return fault("The member client_id is not this client's.")
  if (members.client_secret === undefined || members.client_secret === null) return Effect.void
  const secret = readOwnSecret(members.client_secret)
  const { credential } = client
  const held = isSecret(credential) ? credential : undefined
  return Option.isSome(secret) && whichSecret(hashOf(secret.value), held, now) !== "wrong"
    ? Effect.void
    : fault("The member client_secret is not this client's.")
}

const deleteRegistrationHandler = (services: Services): HandlerOf<typeof deleteRegistrationContract> =>
  Effect.fnUntraced(function* (call) {
    const { brought, client } = yield* ownClient(services, call)
    yield* written(services, call, brought)
    yield* deleteClient(services, auditContextOf(call), client.id)
    return empty(204, noStore)
  })

const isOpen: Endpoint["offered"] = ({ registration }) => registration.offered

export const registerEndpoint: Endpoint = {
  path: registerPath,
  match: "exact",
  methods: { POST: bound(registerContract, registerHandler) },
  errors: "oauth",
  cors: true,
  metadata: { name: "registration_endpoint" },
  offered: isOpen
}

/** RFC 7592: a client looks after its own registration. */
export const registrationEndpoint: Endpoint = {
  path: registerPath,
  match: "below",
  methods: {
    GET: bound(readRegistrationContract, readRegistrationHandler),
    PUT: bound(updateRegistrationContract, updateRegistrationHandler),
    DELETE: bound(deleteRegistrationContract, deleteRegistrationHandler)
  },
  errors: "bearer",
  cors: true
}
