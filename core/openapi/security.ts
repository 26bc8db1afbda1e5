import type { Route } from "../http/Route.ts"
import { type ScopeRegistry, scopesWithoutUser } from "../rules/Scope.ts"
import { endpointUrl } from "../workspace/endpointUrl.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import type { Caller } from "./contract/Contract.ts"

const bearer = (description: string) => ({ type: "http", scheme: "bearer", description })

/** The schemes whose names a caller's `shows` is, but for `nothing` and `token`. */
const schemes = {
  clientSecret: {
    type: "http",
    scheme: "basic",
    description:
      "The client's id and secret, each form-encoded first (RFC 6749 §2.3.1). Both may stand in the body instead; a public client has its id there, and no secret."
  },
  apiKey: bearer("A key of the workspace: every scope, and no person."),
  registrationToken: bearer("The registration_access_token that came with the registration (RFC 7592)."),
  initialToken: bearer("An initial access token, where the server asks for one (RFC 7591 §3).")
} as const

/** One way to call an operation, as OpenAPI says it. */
export const requirementOf = (caller: Caller): Readonly<Record<string, ReadonlyArray<string>>> => {
  switch (caller.shows) {
    case "nothing":
      return {}
    case "token":
      return { oauth2: caller.scopes }
    default:
      return { [caller.shows]: [] }
  }
}

const flowsOf = (routes: ReadonlyArray<Route>, registry: ScopeRegistry, workspace: Workspace) => {
  const addressOf = (name: string): string | undefined => {
    const route = routes.find(({ metadata }) => metadata === name)
    return route === undefined ? undefined : endpointUrl(workspace, route.path)
  }
  const authorizationUrl = addressOf("authorization_endpoint")
  const tokenUrl = addressOf("token_endpoint")
  const types = routes.flatMap(({ grantTypes = [] }) => grantTypes)
  const meanings = registry.map(({ meaning, name }) => [name, meaning] as const)
  const forMachines = scopesWithoutUser(registry)
  return {
    ...(authorizationUrl !== undefined && tokenUrl !== undefined && types.includes("authorization_code")
      ? {
          authorizationCode: {
            authorizationUrl,
            tokenUrl,
            ...(types.includes("refresh_token") ? { refreshUrl: tokenUrl } : {}),
            scopes: Object.fromEntries(meanings)
          }
        }
      : {}),
    ...(tokenUrl !== undefined && types.includes("client_credentials")
      ? {
          clientCredentials: {
            tokenUrl,
            scopes: Object.fromEntries(meanings.filter(([name]) => forMachines.includes(name)))
          }
        }
      : {})
  }
}

export const securitySchemes = (routes: ReadonlyArray<Route>, registry: ScopeRegistry, workspace: Workspace) => ({
  oauth2: { type: "oauth2", description: "Bearer tokens (RFC 6750).", flows: flowsOf(routes, registry, workspace) },
  ...schemes
})
