import type { Schema } from "effect"
import { formType } from "../http/form.ts"
import { type Caller, type Contract, type Endpoint, offeredEndpoints, type Services } from "../http/Route.ts"
import { bearerScheme } from "../oauth/presented/bearer.ts"
import { scopesWithoutUser } from "../rules/Scope.ts"
import { basePath, endpointUrl, originOf, scopesOf, type Workspace } from "../workspace/Workspace.ts"
import { type Components, makeComponents } from "./Components.ts"
import { errorSchema, responsesOf, type Surroundings, samplesOf } from "./responses.ts"

const bearer = (description: string) => http(bearerScheme, description)

const http = (scheme: string, description: string) => ({ type: "http", scheme: scheme.toLowerCase(), description })

/** What a client shows beside its name, in words: OpenAPI has no scheme for what stands in a body. */
const clientDescription = ({ clientAuths }: Services): string =>
  `The client, by one of these methods (RFC 6749 §2.3): ${[...clientAuths.keys()].join(", ")}. In the header its id and secret are form-encoded first; other methods stand in the body, where a public client has its id alone.`

/** The row by which a client authenticates in the Authorization header. */
const headerRow = ({ clientAuths }: Services) => [...clientAuths.values()].find(({ scheme }) => scheme !== undefined)

/** The rows of presentations that show a token by another scheme than OAuth's own. */
const otherTokenRows = ({ presentations }: Services) =>
  presentations.filter(({ scheme, shows }) => shows === "token" && scheme !== bearerScheme)

/** The schemes whose names a caller's `shows` is, but for `nothing` and `token`. */
const schemesOf = (services: Services) => {
  const byHeader = headerRow(services)
  return {
    ...(byHeader?.scheme === undefined ? {} : { clientSecret: http(byHeader.scheme, clientDescription(services)) }),
    apiKey: bearer("A key of the workspace, without a person: for every scope, for some, or for introspection alone."),
    registrationToken: bearer("The registration_access_token that came with the registration (RFC 7592)."),
    initialToken: bearer("An initial access token, where the server asks for one (RFC 7591 §3)."),
    ...Object.fromEntries(
      otherTokenRows(services).map(({ name, scheme }) => [name, http(scheme, `A token of the type ${scheme}.`)])
    )
  }
}

/** The ways to call an operation, as OpenAPI says them. */
const requirementsOf = (
  services: Services,
  caller: Caller
): ReadonlyArray<Readonly<Record<string, ReadonlyArray<string>>>> => {
  switch (caller.shows) {
    case "nothing":
      return [{}]
    case "token":
      return [{ oauth2: caller.scopes }, ...otherTokenRows(services).map(({ name }) => ({ [name]: [] }))]
    case "clientSecret":
      return [headerRow(services) === undefined ? {} : { clientSecret: [] }]
    default:
      return [{ [caller.shows]: [] }]
  }
}

const flowsOf = (services: Services, workspace: Workspace) => {
  const registry = scopesOf(services.policy, workspace)
  const addressOf = (name: string): string | undefined => {
    const endpoint = services.endpoints.find(({ metadata }) => metadata?.name === name)
    return endpoint === undefined ? undefined : endpointUrl(workspace, endpoint.path)
  }
  const authorizationUrl = addressOf("authorization_endpoint")
  const tokenUrl = addressOf("token_endpoint")
  const flows = new Set([...services.grantTypes.values()].map(({ flow }) => flow))
  const meanings = registry.map(({ meaning, name }) => [name, meaning] as const)
  const forMachines = scopesWithoutUser(registry)
  return {
    ...(authorizationUrl !== undefined && tokenUrl !== undefined && flows.has("authorizationCode")
      ? {
          authorizationCode: {
            authorizationUrl,
            tokenUrl,
            ...(flows.has("refresh") ? { refreshUrl: tokenUrl } : {}),
            scopes: Object.fromEntries(meanings)
          }
        }
      : {}),
    ...(tokenUrl !== undefined && flows.has("clientCredentials")
      ? {
          clientCredentials: {
            tokenUrl,
            scopes: Object.fromEntries(meanings.filter(([name]) => forMachines.includes(name)))
          }
        }
      : {})
  }
}

const securitySchemes = (services: Services, workspace: Workspace) => ({
  oauth2: { type: "oauth2", description: "Access tokens (RFC 6749, 6750).", flows: flowsOf(services, workspace) },
  ...schemesOf(services)
})

const queryParameters = (components: Components, query: Schema.Top) =>
  components.membersOf(query).map(({ name, required, schema: { description, ...schema } }) => ({
    name,
    in: "query",
    ...(description === undefined ? {} : { description }),
    required,
    schema
  }))

const requestBody = (components: Components, { form, json }: Contract) => {
  const content = {
    ...(form === undefined ? {} : { [formType]: { schema: components.useForm(form) } }),
    ...(json === undefined ? {} : { "application/json": { schema: components.use(json) } })
  }
  return Object.keys(content).length === 0 ? {} : { requestBody: { required: true, content } }
}

const operationOf = (
  surroundings: Surroundings & { readonly services: Services },
  endpoint: Endpoint,
  contract: Contract,
  below: boolean
) => {
  const { components, services } = surroundings
  const segment = below ? contract.below : undefined
  const answers = contract.answers.filter((answer) => below || answer.below !== true)
  const parameters = [
    ...(segment === undefined
      ? []
      : [
          {
            name: segment.name,
            in: "path",
            description: segment.description,
            required: true,
            schema: components.use(segment.schema)
          }
        ]),
    ...(contract.query === undefined ? [] : queryParameters(components, contract.query))
  ]
  return {
    operationId: below && endpoint.match === "suffix" ? `${contract.id}Below` : contract.id,
    tags: [contract.heading],
    summary: contract.summary,
    ...(contract.description === undefined ? {} : { description: contract.description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(components, contract),
    security: contract.callers.flatMap((caller) => requirementsOf(services, caller)),
    responses: responsesOf(components, samplesOf(surroundings, endpoint, { ...contract, answers }))
  }
}

/** A well-known document of an issuer with a path lies before that path, so not below the document's server. */
const placeOf = (workspace: Workspace, path: string) => {
  if (!path.startsWith("/.well-known/") || basePath(workspace.issuer) === "") return { key: path, servers: {} }
  const origin = originOf(workspace.issuer)
  return { key: endpointUrl(workspace, path).slice(origin.length), servers: { servers: [{ url: origin }] } }
}

type Documented = readonly [method: string, contract: Contract]

const contractsOf = (services: Services, { methods }: Endpoint): ReadonlyArray<Documented> =>
  Object.entries(methods).flatMap(([method, { contract }]) =>
    contract === undefined ? [] : [[method, contract(services)] as const]
  )

const pathsOf = (
  surroundings: Surroundings & { readonly services: Services },
  endpoint: Endpoint,
  contracts: ReadonlyArray<Documented>
) => {
  const { key, servers } = placeOf(surroundings.workspace, endpoint.path)
  const item = (below: boolean) => ({
    ...servers,
    ...Object.fromEntries(
      contracts.map(([method, contract]) => [
        method.toLowerCase(),
        operationOf(surroundings, endpoint, contract, below)
      ])
    )
  })
  const segment = contracts.flatMap(([, { below }]) => (below === undefined ? [] : [below.name]))[0]
  return [
    ...(endpoint.match === "below" ? [] : [[key, item(false)] as const]),
    ...(endpoint.match === "exact" || segment === undefined ? [] : [[`${key}/{${segment}}`, item(true)] as const])
  ]
}

/** OpenAPI 3.1: written from the endpoints and rules at work, as the metadata is, and from what types the handlers. */
export const openApiDocument = (services: Services, workspace: Workspace) => {
  const components = makeComponents({ Error: errorSchema })
  const surroundings = { services, workspace, components }
  const documented = offeredEndpoints(services)
    .map((endpoint) => [endpoint, contractsOf(services, endpoint)] as const)
    .filter(([, contracts]) => contracts.length > 0)
  const paths = Object.fromEntries(documented.flatMap(([endpoint, of]) => pathsOf(surroundings, endpoint, of)))
  const headings = documented.flatMap(([, contracts]) => contracts.map(([, { heading }]) => heading))
  return {
    openapi: "3.1.1",
    info: {
      title: workspace.name,
      version: "1",
      description: "OAuth 2.0. Parameters that are not named here are ignored; one that comes twice is refused."
    },
    servers: [{ url: workspace.issuer }],
    tags: [...new Set(headings)].map((name) => ({ name })),
    paths,
    components: {
      schemas: components.schemas,
      headers: components.headers,
      securitySchemes: securitySchemes(services, workspace)
    }
  }
}
