import type { Endpoint } from "../http/Call.ts"
import type { Parts } from "../http/Parts.ts"
import type { Route } from "../http/Route.ts"
import type { Accounts } from "./Accounts.ts"
import { loginEndpoint, loginFormEndpoint } from "./login.ts"
import { logoutEndpoint, logoutFormEndpoint } from "./logout.ts"

const pageRoute = (path: string, get: Endpoint, post: Endpoint): Route => ({
  path,
  match: "exact",
  methods: { GET: get, POST: post },
  errors: "page",
  cors: false
})

/** The pages of the built-in accounts, for `Tessera.layer({ routes })`. */
export const accountRoutes = (parts: Parts, accounts: Accounts["Service"]): ReadonlyArray<Route> => [
  pageRoute("/login", loginFormEndpoint(parts, accounts), loginEndpoint(parts, accounts)),
  pageRoute("/logout", logoutFormEndpoint(parts, accounts), logoutEndpoint(parts, accounts))
]
