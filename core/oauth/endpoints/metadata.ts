import { Effect, Schema } from "effect"
import { authMethods } from "../../client/Client.ts"
import { forAWhile, json } from "../../http/answer.ts"
import type { HttpResponse } from "../../http/Http.ts"
import { type Call, type Contract, type EndpointOf, isOffered, type Parts, type Route } from "../../http/Route.ts"
import { allScopes } from "../../rules/Scope.ts"
import { endpointUrl, type Workspace } from "../../workspace/Workspace.ts"

const Address = Schema.String.annotate({ format: "uri" })
export const endpoint = Schema.optionalKey(Address)
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
const ResourceMetadata = Schema.Struct({
  resource: Schema.String,
  authorization_servers: Schema.Array(Address),
  scopes_supported: Words,
  bearer_methods_supported: Words,
  resource_name: Schema.String
}).annotate({ identifier: "ProtectedResourceMetadata" })
type ResourceMetadata = typeof ResourceMetadata.Type

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

/** A document is the same for every request to a workspace, so it is written once. */
export const remembered = (write: (workspace: Workspace) => HttpResponse): ((workspace: Workspace) => HttpResponse) => {
  const written = new WeakMap<Workspace, HttpResponse>()
  return (workspace) => {
    const known = written.get(workspace)
    if (known !== undefined) return known
    const document = write(workspace)
    written.set(workspace, document)
    return document
  }
}

/** RFC 8414 §2: derived from the routes and rules at work, so that nothing is promised that is not there. */
const authorizationServerMetadata = (
  parts: Parts,
  routes: ReadonlyArray<Route>,
  workspace: Workspace
): Record<string, unknown> => {
  const grantTypes = [...new Set(routes.flatMap((route) => route.grantTypes ?? []))]
  const endpoints = routes
    .filter((route) => isOffered(parts, route))
    .flatMap(({ metadata, path }) => (metadata === undefined ? [] : [[metadata, endpointUrl(workspace, path)]]))
  return {
    issuer: workspace.issuer,
    ...Object.fromEntries(endpoints),
    scopes_supported: allScopes(parts.policy.scopes),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: grantTypes,
    token_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_methods_supported: authMethods,
    introspection_endpoint_auth_methods_supported: authMethods,
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    protected_resources: [workspace.issuer]
  }
}

/** RFC 8414 §3, with any path suffix: clients put the address of the resource that they want behind it. */
export const authorizationServerEndpoint = (
  parts: Parts,
  routes: () => ReadonlyArray<Route>
): EndpointOf<typeof serverMetadataContract> => {
  const document = remembered((workspace) =>
    json(200, authorizationServerMetadata(parts, routes(), workspace), forAWhile)
  )
  return (call) => Effect.succeed(document(call.workspace))
}

export const protectedResourcePath = "/.well-known/oauth-protected-resource"

/** RFC 9728 §2. */
const protectedResource = (parts: Parts, workspace: Workspace, resource: string): HttpResponse =>
  json(
    200,
    {
      resource,
      authorization_servers: [workspace.issuer],
      scopes_supported: allScopes(parts.policy.scopes),
      bearer_methods_supported: ["header"],
      resource_name: workspace.name
    } satisfies ResourceMetadata,
    forAWhile
  )

/** RFC 9728 §3.1: what follows the well-known path is the path of the resource; nothing is the whole workspace. */
export const protectedResourceEndpoint = (parts: Parts): EndpointOf<typeof resourceMetadataContract> => {
  const whole = remembered((workspace) => protectedResource(parts, workspace, workspace.issuer))
  return (call: Call) => {
    const suffix = call.path.slice(protectedResourcePath.length)
    return Effect.succeed(
      suffix === "" || suffix === "/"
        ? whole(call.workspace)
        : protectedResource(parts, call.workspace, call.workspace.issuer + suffix)
    )
  }
}
