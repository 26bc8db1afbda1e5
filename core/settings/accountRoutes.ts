import { type Endpoint, type Handler, type Parts, page, pageEndpoint } from "../http/Route.ts"
import type { Accounts } from "../people/Accounts.ts"
import { loginFormHandler, loginHandler } from "../people/login.ts"
import { logoutFormHandler, logoutHandler } from "../people/logout.ts"
import { newcomerForm, newcomerPage } from "../people/newcomer.ts"
import { membersFormHandler, membersHandler } from "./members.ts"
import { profileFormHandler, profileHandler } from "./profile.ts"

/** The pages of the built-in accounts. */
export const accountEndpoints = (accounts: Accounts["Service"]): ReadonlyArray<Endpoint> => {
  const shown = (handler: (parts: Parts, accounts: Accounts["Service"]) => Handler) =>
    page((parts) => handler(parts, accounts))
  return [
    pageEndpoint("/login", { GET: shown(loginFormHandler), POST: shown(loginHandler) }),
    pageEndpoint("/logout", { GET: shown(logoutFormHandler), POST: shown(logoutHandler) }),
    pageEndpoint("/set-up", {
      GET: page((parts) => newcomerPage(parts, accounts, "SetUp")),
      POST: page((parts) => newcomerForm(parts, accounts, "SetUp"))
    }),
    pageEndpoint("/invite", {
      GET: page((parts) => newcomerPage(parts, accounts, "Invitation")),
      POST: page((parts) => newcomerForm(parts, accounts, "Invitation"))
    }),
    pageEndpoint("/settings/profile", { GET: shown(profileHandler), POST: shown(profileFormHandler) }),
    pageEndpoint("/settings/members", { GET: shown(membersHandler), POST: shown(membersFormHandler) })
  ]
}
