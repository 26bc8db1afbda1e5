import { Effect } from "effect"
import { authMethods } from "../client/Client.ts"
import type { EndpointOf } from "../openapi/contract/Contract.ts"
import type {
  ResourceMetadata,
  resourceMetadataContract,
  serverMetadataContract
} from "../openapi/contract/metadata.ts"
import { allScopes } from "../rules/Scope.ts"
import { endpointUrl } from "../workspace/endpointUrl.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import { forAWhile, json } from "./answer.ts"
import type { Call } from "./Call.ts"
import type { HttpResponse } from "./Http.ts"
import type { Parts } from "./Parts.ts"
import type { Route } from "./Route.ts"

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

/** Whether a route is one to speak of: where registration is closed, its endpoint only says so. */
export const isOffered = ({ registration }: Pick<Parts, "registration">, { metadata }: Route): boolean =>
  metadata !== "registration_endpoint" || registration.offered

/** RFC 8414 §2: derived from the routes and rules at work, so that nothing is promised that is not there. */
export const authorizationServerMetadata = (
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
