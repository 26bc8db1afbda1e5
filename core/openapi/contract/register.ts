import { Schema } from "effect"
import { ClientInformation } from "../../client/ClientInformation.ts"
import { RegistrationRequest } from "../../client/RegistrationRequest.ts"
import { empty, noStore, secretJson } from "../../http/answer.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import { ClientId } from "../../rules/Id.ts"
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
import type { Contract } from "./Contract.ts"

const RegisterClient = RegistrationRequest.annotate({
  identifier: "RegisterClient",
  description: "RFC 7591 §2. A member that is null or an empty text counts as one that was not sent."
})

/** RFC 7592 §2.2: all of it anew, and whom it is about. */
const UpdateClient = Schema.Struct({
  ...RegistrationRequest.fields,
  client_id: Schema.String.annotate({ description: "The one of the address." }),
  client_secret: Schema.optionalKey(Schema.String.annotate({ description: "If it is there, the client's own." }))
}).annotate({ identifier: "UpdateClient", description: "RFC 7592 §2.2. What is left out is taken back." })

const Seconds = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** RFC 7591 §3.2.1 and RFC 7592 §3. */
export const RegisteredClient = Schema.Struct({
  ...ClientInformation.fields,
  client_secret: Schema.optionalKey(Schema.String.annotate({ description: "Shown where it is new, and never again." })),
  client_secret_expires_at: Schema.optionalKey(Seconds.annotate({ description: "0 is never." })),
  registration_client_uri: Schema.String.annotate({ format: "uri" }),
  registration_access_token: Schema.String
}).annotate({ identifier: "RegisteredClient" })
export type RegisteredClient = typeof RegisteredClient.Type

const registered = (status: number, description: string) =>
  ({ description, like: () => secretJson(status, {}), body: RegisteredClient }) as const

export const registerContract = {
  id: "registerClient",
  heading: "Registration",
  summary: "Register an application",
  description: "RFC 7591. Whether it takes an initial access token is for the server to say.",
  json: RegisterClient,
  callers: [{ shows: "nothing" }, { shows: "initialToken" }],
  answers: [registered(201, "The client, its secret, and the token that looks after it.")],
  faults: [
    InvalidRequest,
    InvalidClientMetadata,
    InvalidRedirectUri,
    RegistrationRefused,
    TooManyRequests,
    StorageUnavailable
  ],
  // Where registration is closed, the document has no such operation.
  spares: (fault) => fault._tag === "RegistrationRefused" && fault.reason === "closed"
} as const satisfies Contract

const own = {
  heading: "Registration",
  below: { name: "client_id", schema: ClientId, description: "The client." },
  callers: [{ shows: "registrationToken" }]
} as const

export const readRegistrationContract = {
  id: "readClient",
  summary: "Read a registration",
  description: "RFC 7592 §2.1.",
  answers: [registered(200, "The client, without its secret.")],
  faults: [TokenRequired, InvalidToken, TooManyRequests, StorageUnavailable],
  ...own
} as const satisfies Contract

export const updateRegistrationContract = {
  id: "updateClient",
  summary: "Change a registration",
  description: "RFC 7592 §2.2.",
  json: UpdateClient,
  answers: [registered(200, "The client as it is now.")],
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
} as const satisfies Contract

export const deleteRegistrationContract = {
  id: "deleteClient",
  summary: "Delete a registration",
  description: "RFC 7592 §2.3. Everything that was granted to the client ends with it.",
  answers: [{ description: "It is gone.", like: () => empty(204, noStore) }],
  faults: [TokenRequired, InvalidToken, TooManyRequests, StorageUnavailable],
  ...own
} as const satisfies Contract
