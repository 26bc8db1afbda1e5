import { type Endpoint, type Handler, page, pageEndpoint, type Services } from "../http/Route.ts"
import type { Accounts } from "./Accounts.ts"
import { loginFormHandler, loginPageHandler } from "./login.ts"
import { logoutFormHandler, logoutPageHandler } from "./logout.ts"
import { newcomerForm, newcomerPage } from "./newcomer.ts"

/** Signing in and out of the built-in accounts, and the links that open one. */
export const signInEndpoints = (accounts: Accounts["Service"]): ReadonlyArray<Endpoint> => {
  const shown = (handler: (services: Services, accounts: Accounts["Service"]) => Handler) =>
    page((services) => handler(services, accounts))
  return [
    pageEndpoint("/login", { GET: shown(loginPageHandler), POST: shown(loginFormHandler) }),
    pageEndpoint("/logout", { GET: shown(logoutPageHandler), POST: shown(logoutFormHandler) }),
    pageEndpoint("/set-up", {
      GET: page((services) => newcomerPage(services, accounts, "SetUp")),
      POST: page((services) => newcomerForm(services, accounts, "SetUp"))
    }),
    pageEndpoint("/invite", {
      GET: page((services) => newcomerPage(services, accounts, "Invitation")),
      POST: page((services) => newcomerForm(services, accounts, "Invitation"))
    })
  ]
}
