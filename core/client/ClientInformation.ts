import { Schema } from "effect"
import { ClientId } from "../rules/Id.ts"
import { About, AuthMethod, GrantType } from "./Client.ts"

/** RFC 7591 §3.2.1: everything that was registered, as clients are told it. */
export const ClientInformation = Schema.Struct({
  client_id: ClientId,
  client_id_issued_at: Schema.Int.annotate({ description: "In seconds since 1970." }),
  ...About.fields,
  redirect_uris: Schema.Array(Schema.String),
  grant_types: Schema.Array(GrantType),
  response_types: Schema.Array(Schema.Literal("code")),
  token_endpoint_auth_method: AuthMethod,
  scope: Schema.String.annotate({ description: "The most that it may be granted." })
})
export type ClientInformation = typeof ClientInformation.Type
