import { expect, test } from "bun:test"
import { type Route, routeTable } from "../../core/http/Route.ts"

const route = (path: string, match: Route["match"]): Route => ({
  path,
  match,
  methods: {},
  errors: "page",
  cors: false,
  scopes: []
})

test("of two routes for a path the first counts, as a host's own before the protocol's", () => {
  const [own, ours] = [route("/healthz", "exact"), route("/healthz", "exact")]
  expect(routeTable([own, ours])("/healthz")).toBe(own)
  const [any, one] = [route("/a", "suffix"), route("/a", "below")]
  expect(routeTable([any, one])("/a/b")).toBe(any)
  expect(routeTable([one, any])("/a/b")).toBe(one)
})

test("a route below a path is one segment more, and one with a suffix anything", () => {
  const below = routeTable([route("/a", "below")])
  expect(below("/a/b")).toBeDefined()
  for (const path of ["/a", "/a/", "/ab", "/a/b/c", "/a/b/"]) expect([path, below(path)]).toEqual([path, undefined])
  const suffix = routeTable([route("/a", "suffix")])
  for (const path of ["/a", "/a/", "/a/b", "/a/b/c"]) expect([path, suffix(path) !== undefined]).toEqual([path, true])
  for (const path of ["/ab", "/b", "/"]) expect([path, suffix(path)]).toEqual([path, undefined])
})
