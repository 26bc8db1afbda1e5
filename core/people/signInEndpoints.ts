import { type Endpoint, type Handler, type Parts, page, pageEndpoint } from "../http/Route.ts"
import type { Accounts } from "./Accounts.ts"
import { loginFormHandler, loginPageHandler } from "./login.ts"
import { logoutFormHandler, logoutPageHandler } from "./logout.ts"
import { newcomerForm, newcomerPage } from "./newcomer.ts"

/** Signing in and out of the built-in accounts, and the links that open one. */
export const signInEndpoints = (accounts: Accounts["Service"]): ReadonlyArray<Endpoint> => {
  const shown = (handler: (parts: Parts, accounts: Accounts["Service"]) => Handler) =>
    page((parts) => handler(parts, accounts))
  return [
    pageEndpoint("/login", { GET: shown(loginPageHandler), POST: shown(loginFormHandler) }),
    pageEndpoint("/logout", { GET: shown(logoutPageHandler), POST: shown(logoutFormHandler) }),
    pageEndpoint("/set-up", {
      GET: page((parts) => newcomerPage(parts, accounts, "SetUp")),
      POST: page((parts) => newcomerForm(parts, accounts, "SetUp"))
    }),
    pageEndpoint("/invite", {
      GET: page((parts) => newcomerPage(parts, accounts, "Invitation")),
      POST: page((parts) => newcomerForm(parts, accounts, "Invitation"))
    })
  ]
}
