import type { HttpRequest } from "../../core/http/Http.ts"
import { endpointName, pageAt, type Route, routeTable } from "../../core/http/Route.ts"
import { pathBelow, type Workspace } from "../../core/workspace/Workspace.ts"

/** A route as metrics and traces name it. What was sent may hold anything, and there may be any number of it. */
export const patternOf = (route: Route | undefined): string => (route === undefined ? "none" : endpointName(route))

export type RouteOf = (request: HttpRequest) => Route | undefined

/** The route that the core will take for a request. */
export const routeOf = (
  routes: ReadonlyArray<Route>,
  workspaceOf: (request: HttpRequest) => Workspace | undefined
): RouteOf => {
  const find = routeTable(routes)
  return (request) => {
    const workspace = workspaceOf(request)
    const below = workspace === undefined ? undefined : pathBelow(workspace, request.path)
    if (workspace === undefined || below === undefined) return undefined
    const route = find(below)
    if (route?.leadsTo === undefined) return route
    const next = route.leadsTo(workspace, below)
    return next && pageAt(find, next)
  }
}

const methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"]

/** A method is a word of the caller's: those that no route has are one. */
export const methodOf = (method: string): string => (methods.includes(method) ? method : "other")
