import type { Route } from "./Route.ts"

export type FindRoute = (path: string) => Route | undefined

/** Finds the route of a path, the first of two: the exact ones by one look-up, the few others in the table's order. */
export const routeTable = (routes: ReadonlyArray<Route>): FindRoute => {
  const exact = new Map<string, Route>()
  for (const route of routes) {
    if (route.match !== "below" && !exact.has(route.path)) exact.set(route.path, route)
  }
  const others = routes.filter((route) => route.match !== "exact")
  return (path) =>
    exact.get(path) ??
    others.find((route) => {
      if (!path.startsWith(`${route.path}/`)) return false
      const rest = path.slice(route.path.length + 1)
      return route.match === "suffix" || (rest !== "" && !rest.includes("/"))
    })
}
