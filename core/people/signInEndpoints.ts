import { type Endpoint, type Handler, page, pageEndpoint, type Services } from "../http/Route.ts"
import { hasSessionPaths, sessionPaths, splitSessionPath } from "../workspace/SessionPath.ts"
import type { Accounts } from "./Accounts.ts"
import { loginFormHandler, loginPageHandler } from "./login.ts"
import { logoutFormHandler, logoutPageHandler } from "./logout.ts"
import { newcomerForm, newcomerPage } from "./newcomer.ts"

/** Every page, below the session's own path where sessions have one. */
const sessionPages: Endpoint = {
  ...pageEndpoint(sessionPaths, {}),
  match: "suffix",
  leadsTo: (workspace, path) => {
    const found = hasSessionPaths(workspace) ? splitSessionPath(path) : undefined
    return found && { workspace: { ...workspace, sessionPath: found.sessionPath }, path: found.rest }
  }
}

/** Signing in and out of the built-in accounts, and the links that open one. */
export const signInEndpoints = (accounts: Accounts["Service"]): ReadonlyArray<Endpoint> => {
  const shown = (handler: (services: Services, accounts: Accounts["Service"]) => Handler) =>
    page((services) => handler(services, accounts))
  return [
    sessionPages,
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
