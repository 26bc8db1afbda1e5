import { Schema } from "effect"
import { forAWhile, json } from "../../http/answer.ts"
import type { Contract } from "./Contract.ts"

const Address = Schema.String.annotate({ format: "uri" })
const endpoint = Schema.optionalKey(Address)
const Words = Schema.Array(Schema.String)

/** RFC 8414 §2. */
const ServerMetadata = Schema.Struct({
  issuer: Address,
  authorization_endpoint: endpoint,
  token_endpoint: endpoint,
  registration_endpoint: endpoint,
  revocation_endpoint: endpoint,
  introspection_endpoint: endpoint,
  userinfo_endpoint: endpoint,
  scopes_supported: Words,
  response_types_supported: Words,
  response_modes_supported: Words,
  grant_types_supported: Words,
  token_endpoint_auth_methods_supported: Words,
  revocation_endpoint_auth_methods_supported: Words,
  introspection_endpoint_auth_methods_supported: Words,
  code_challenge_methods_supported: Words,
  authorization_response_iss_parameter_supported: Schema.Boolean,
  protected_resources: Schema.Array(Address)
}).annotate({ identifier: "AuthorizationServerMetadata" })

/** RFC 9728 §2. */
export const ResourceMetadata = Schema.Struct({
  resource: Schema.String,
  authorization_servers: Schema.Array(Address),
  scopes_supported: Words,
  bearer_methods_supported: Words,
  resource_name: Schema.String
}).annotate({ identifier: "ProtectedResourceMetadata" })
export type ResourceMetadata = typeof ResourceMetadata.Type

const Members = Schema.Record(Schema.String, Schema.Unknown)

const OpenApi = Schema.Struct({
  openapi: Schema.String.check(Schema.isPattern(/^3\.1\.\d+$/)),
  info: Members,
  servers: Schema.Array(Members),
  tags: Schema.Array(Members),
  paths: Members,
  components: Members
}).annotate({ identifier: "OpenApi" })

const shared = { heading: "Discovery", callers: [{ shows: "nothing" }], faults: [] } as const

export const serverMetadataContract = {
  id: "authorizationServerMetadata",
  summary: "What this authorization server can do",
  description: "RFC 8414.",
  below: {
    name: "resource_path",
    schema: Schema.String,
    description: "Clients may put the path of the resource here, with its slashes. The answer is the same."
  },
  answers: [{ description: "The metadata.", like: () => json(200, {}, forAWhile), body: ServerMetadata }],
  ...shared
} as const satisfies Contract

export const resourceMetadataContract = {
  id: "protectedResourceMetadata",
  summary: "Where a token for a resource comes from",
  description: "RFC 9728. Without more, the resource is the whole of the issuer.",
  below: {
    name: "resource_path",
    schema: Schema.String,
    description: "The path of the resource, with its slashes."
  },
  answers: [{ description: "The metadata.", like: () => json(200, {}, forAWhile), body: ResourceMetadata }],
  ...shared
} as const satisfies Contract

export const openApiContract = {
  id: "openApi",
  summary: "This document",
  answers: [
    {
      description: "An OpenAPI 3.1 document.",
      like: () => json(200, {}, forAWhile),
      body: OpenApi
    }
  ],
  ...shared
} as const satisfies Contract
