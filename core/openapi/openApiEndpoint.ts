import { Effect } from "effect"
import { forAWhile, json } from "../http/answer.ts"
import { remembered } from "../http/metadata.ts"
import type { Parts } from "../http/Parts.ts"
import type { Route } from "../http/Route.ts"
import type { EndpointOf } from "./contract/Contract.ts"
import type { openApiContract } from "./contract/metadata.ts"
import { openApiDocument } from "./openApiDocument.ts"

export const openApiPath = "/openapi.json"

export const openApiEndpoint = (
  parts: Parts,
  routes: () => ReadonlyArray<Route>
): EndpointOf<typeof openApiContract> => {
  const document = remembered((workspace) => json(200, openApiDocument(parts, routes(), workspace), forAWhile))
  return (call) => Effect.succeed(document(call.workspace))
}
