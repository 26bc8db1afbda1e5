import type { Route } from "./Route.ts"

export type FindRoute = (path: string) => Route | undefined

/** Finds the route of a path: the exact ones by one look-up, the few others in the order of the table. */
export const routeTable = (routes: ReadonlyArray<Route>): FindRoute => {
  const exact = new Map(routes.filter((route) => route.match !== "below").map((route) => [route.path, route]))
  const others = routes.filter((route) => route.match !== "exact")
  return (path) =>
    exact.get(path) ??
    others.find((route) => {
      if (!path.startsWith(`${route.path}/`)) return false
      const rest = path.slice(route.path.length + 1)
      return route.match === "suffix" || (rest !== "" && !rest.includes("/"))
    })
}
