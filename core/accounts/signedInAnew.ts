import { Effect } from "effect"
import { seeOther } from "../http/answer.ts"
import type { Call } from "../http/Call.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Parts } from "../http/Parts.ts"
import type { Active } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import type { SessionSecret } from "./Sessions.ts"

/**
 * The browser of somebody whose account has just been written, in a new session. Where none can be started, they sign in
 * and go on from there: what they did is done, and a second try would be refused.
 */
export const signedInAnew = (
  parts: Parts,
  accounts: Accounts["Service"],
  { now, workspace }: Call,
  account: Active,
  goOn: string,
  answer: (secret: SessionSecret) => Effect.Effect<HttpResponse>
): Effect.Effect<HttpResponse> =>
  Effect.matchEffect(accounts.sessions.start(workspace.id, account, now), {
    onSuccess: answer,
    onFailure: (fault) =>
      Effect.as(
        Effect.logWarning("no session could be started for an account that was written, and its person is to sign in", {
          workspace: workspace.id,
          account: account.id,
          fault: fault._tag
        }),
        seeOther(parts.owner.signInAt(workspace, goOn))
      )
  })
