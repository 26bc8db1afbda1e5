import { Effect, Option } from "effect"
import { type Endpoint, type Handler, page, pageEndpoint, type Services } from "../http/Route.ts"
import type { Accounts } from "../people/Accounts.ts"
import { signedInAs } from "../people/resourceOwner.ts"
import type { SignedInAccount, Visitors } from "./inside.ts"
import { changeMembersHandler, membersHandler } from "./membersSection.ts"
import { changeProfileHandler, profileHandler } from "./profileSection.ts"
import { changeSessionsHandler, sessionsHandler } from "./sessionsSection.ts"

const accountVisitors = (accounts: Accounts["Service"]): Visitors<SignedInAccount> => ({
  current: (workspace, request) =>
    Effect.map(accounts.here(workspace, request), (found) =>
      Option.map(Option.fromUndefinedOr(found), (here) => ({
        ...signedInAs(here),
        account: here.account,
        own: here.session
      }))
    ),
  accountsElsewhere: false
})

/** The settings that need the built-in accounts. */
export const accountSettingsEndpoints = (accounts: Accounts["Service"]): ReadonlyArray<Endpoint> => {
  const visitors = accountVisitors(accounts)
  const shown = (handler: (services: Services, ...of: [typeof accounts, typeof visitors]) => Handler) =>
    page((services) => handler(services, accounts, visitors))
  return [
    pageEndpoint("/settings/profile", { GET: shown(profileHandler), POST: shown(changeProfileHandler) }),
    pageEndpoint("/settings/sessions", { GET: shown(sessionsHandler), POST: shown(changeSessionsHandler) }),
    pageEndpoint("/settings/members", { GET: shown(membersHandler), POST: shown(changeMembersHandler) })
  ]
}
