import { Effect, Option } from "effect"
import type { Endpoint } from "../http/Route.ts"
import type { Accounts } from "../people/Accounts.ts"
import { signedInAs } from "../people/resourceOwner.ts"
import type { SignedInAccount, Visitors } from "./inside.ts"
import { membersEndpoint } from "./membersSection.ts"
import { profileEndpoint } from "./profileSection.ts"
import { sessionsEndpoint } from "./sessionsSection.ts"

const accountVisitors = (accounts: Accounts["Service"]): Visitors<SignedInAccount> => ({
  current: (workspace, request) =>
    Effect.map(accounts.here(workspace, request), (found) =>
      Option.map(Option.fromUndefinedOr(found), (here) => ({
        ...signedInAs(here),
        account: here.account,
        own: here.session,
        accounts
      }))
    ),
  accountsElsewhere: false
})

/** The settings that need the built-in accounts. */
export const accountSettingsEndpoints = (accounts: Accounts["Service"]): ReadonlyArray<Endpoint> =>
  [profileEndpoint, sessionsEndpoint, membersEndpoint].map((endpoint) => endpoint(() => accountVisitors(accounts)))
