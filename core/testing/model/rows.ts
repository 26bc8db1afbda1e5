import { answerClientRules } from "./answerClient.ts"
import { authorizeRules } from "./authorize.ts"
import { bringRules } from "./bring.ts"
import { checkRules } from "./check.ts"
import { clientCredentialsRules } from "./clientCredentials.ts"
import { decideRules } from "./decide.ts"
import { deleteClientRules } from "./deleteClient.ts"
import { askDeviceRules, enterRules, pollRules } from "./device.ts"
import { endSessionRules } from "./endSession.ts"
import { exchangeRules } from "./exchange.ts"
import { introspectRules } from "./introspect.ts"
import { endAllRules } from "./place.ts"
import { pushRules, visitRules } from "./push.ts"
import { redeemRules } from "./redeem.ts"
import { refreshRules } from "./refresh.ts"
import { registerRules } from "./register.ts"
import { rekeyRules } from "./rekey.ts"
import { revokeRules } from "./revoke.ts"
import { signOutRules } from "./signOut.ts"

/** The name of every row of the model's tables, to see that all of them were reached. */
export const rows: ReadonlySet<string> = new Set(
  [
    registerRules,
    authorizeRules,
    pushRules,
    visitRules,
    askDeviceRules,
    enterRules,
    pollRules,
    answerClientRules,
    exchangeRules,
    bringRules,
    endSessionRules,
    signOutRules,
    endAllRules,
    decideRules,
    redeemRules,
    refreshRules,
    clientCredentialsRules,
    revokeRules,
    introspectRules,
    checkRules,
    deleteClientRules,
    rekeyRules
  ].flatMap((rules) => rules.map(({ name }) => name))
)
