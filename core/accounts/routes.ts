import type { Endpoint } from "../http/Call.ts"
import type { Parts } from "../http/Parts.ts"
import type { Route } from "../http/Route.ts"
import type { Accounts } from "./Accounts.ts"
import { loginEndpoint, loginFormEndpoint } from "./login.ts"
import { logoutEndpoint, logoutFormEndpoint } from "./logout.ts"
import { membersEndpoint, membersFormEndpoint } from "./members.ts"
import { newcomerForm, newcomerPage } from "./newcomer.ts"
import { profileEndpoint, profileFormEndpoint } from "./profile.ts"

const pageRoute = (path: string, methods: { readonly GET: Endpoint; readonly POST: Endpoint }): Route => ({
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
