import type { Schema } from "effect"
import { formType } from "../http/form.ts"
import { isOffered } from "../http/metadata.ts"
import type { Parts } from "../http/Parts.ts"
import type { Route } from "../http/Route.ts"
import { endpointUrl } from "../workspace/endpointUrl.ts"
import { basePath, type Workspace } from "../workspace/Workspace.ts"
import { type Components, makeComponents } from "./Components.ts"
import type { Contract } from "./contract/Contract.ts"
import { errorSchema, responsesOf } from "./responses.ts"
import { type Surroundings, samplesOf } from "./samples.ts"
import { requirementOf, securitySchemes } from "./security.ts"

/** What of a server its document depends on. */
export type Described = Pick<Parts, "pages" | "policy" | "registration">

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
    ...(form === undefined ? {} : { [formType]: { schema: components.use(form) } }),
    ...(json === undefined ? {} : { "application/json": { schema: components.use(json) } })
  }
  return Object.keys(content).length === 0 ? {} : { requestBody: { required: true, content } }
}

const operationOf = (surroundings: Surroundings, route: Route, contract: Contract, below: boolean) => {
  const { components } = surroundings
  const segment = below ? contract.below : undefined
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
    operationId: below && route.match === "suffix" ? `${contract.id}Below` : contract.id,
    tags: [contract.heading],
    summary: contract.summary,
    ...(contract.description === undefined ? {} : { description: contract.description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...requestBody(components, contract),
    security: contract.callers.map(requirementOf),
    responses: responsesOf(components, samplesOf(surroundings, route, contract))
  }
}

/** A well-known document of an issuer with a path lies before that path, so not below the document's server. */
const placeOf = (workspace: Workspace, path: string) => {
  if (!path.startsWith("/.well-known/") || basePath(workspace.issuer) === "") return { key: path, servers: {} }
  const { origin } = new URL(workspace.issuer)
  return { key: endpointUrl(workspace, path).slice(origin.length), servers: { servers: [{ url: origin }] } }
}

const pathsOf = (surroundings: Surroundings, route: Route) => {
  const contracts = Object.entries(route.contracts ?? {})
  const { key, servers } = placeOf(surroundings.workspace, route.path)
  const item = (below: boolean) => ({
    ...servers,
    ...Object.fromEntries(
      contracts.map(([method, contract]) => [method.toLowerCase(), operationOf(surroundings, route, contract, below)])
    )
  })
  const segment = contracts.flatMap(([, { below }]) => (below === undefined ? [] : [below.name]))[0]
  return [
    ...(route.match === "below" ? [] : [[key, item(false)] as const]),
    ...(route.match === "exact" || segment === undefined ? [] : [[`${key}/{${segment}}`, item(true)] as const])
  ]
}

/** OpenAPI 3.1: written from the routes and rules at work, as the metadata is, and from what types the endpoints. */
export const openApiDocument = (parts: Described, routes: ReadonlyArray<Route>, workspace: Workspace) => {
  const components = makeComponents({ Error: errorSchema })
  const offered = routes.filter((route) => Object.keys(route.contracts ?? {}).length > 0 && isOffered(parts, route))
  const surroundings = { pages: parts.pages, workspace, components }
  const paths = Object.fromEntries(offered.flatMap((route) => pathsOf(surroundings, route)))
  const headings = offered.flatMap(({ contracts = {} }) => Object.values(contracts).map(({ heading }) => heading))
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
      securitySchemes: securitySchemes(routes, parts.policy.scopes, workspace)
    }
  }
}
