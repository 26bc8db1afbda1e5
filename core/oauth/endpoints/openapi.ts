import { Effect } from "effect"
import { forAWhile, json } from "../../http/answer.ts"
import type { EndpointOf, Parts, Route } from "../../http/Route.ts"
import { openApiDocument } from "../../openapi/openApiDocument.ts"
import { type openApiContract, remembered } from "./metadata.ts"

export const openApiPath = "/openapi.json"

export const openApiEndpoint = (
  parts: Parts,
  routes: () => ReadonlyArray<Route>
): EndpointOf<typeof openApiContract> => {
  const document = remembered((workspace) => json(200, openApiDocument(parts, routes(), workspace), forAWhile))
  return (call) => Effect.succeed(document(call.workspace))
}
