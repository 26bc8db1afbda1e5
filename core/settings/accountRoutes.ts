import type { Endpoint, Parts, Route } from "../http/Route.ts"
import type { Accounts } from "../people/Accounts.ts"
import { loginEndpoint, loginFormEndpoint } from "../people/login.ts"
import { logoutEndpoint, logoutFormEndpoint } from "../people/logout.ts"
import { newcomerForm, newcomerPage } from "../people/newcomer.ts"
import { membersEndpoint, membersFormEndpoint } from "./members.ts"
import { profileEndpoint, profileFormEndpoint } from "./profile.ts"

export const pageRoute = (path: string, methods: { readonly GET: Endpoint; readonly POST: Endpoint }): Route => ({
  path,
  match: "exact",
  methods,
  errors: "page",
  cors: false
})

/** The pages of the built-in accounts, for `Tessera.layer({ routes })`. */
export const accountRoutes = (parts: Parts, accounts: Accounts["Service"]): ReadonlyArray<Route> => [
  pageRoute("/login", { GET: loginFormEndpoint(parts, accounts), POST: loginEndpoint(parts, accounts) }),
  pageRoute("/logout", { GET: logoutFormEndpoint(parts, accounts), POST: logoutEndpoint(parts, accounts) }),
  pageRoute("/set-up", {
    GET: newcomerPage(parts, accounts, "SetUp"),
    POST: newcomerForm(parts, accounts, "SetUp")
  }),
  pageRoute("/invite", {
    GET: newcomerPage(parts, accounts, "Invitation"),
    POST: newcomerForm(parts, accounts, "Invitation")
  }),
  pageRoute("/settings/profile", {
    GET: profileEndpoint(parts, accounts),
    POST: profileFormEndpoint(parts, accounts)
  }),
  pageRoute("/settings/members", {
    GET: membersEndpoint(parts, accounts),
    POST: membersFormEndpoint(parts, accounts)
  })
]
