import { Effect, Option } from "effect"
import { cleanUpOrWarn } from "../engine/transact.ts"
import { seeOther } from "../http/answer.ts"
import { noteOf } from "../http/audit.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Parts } from "../http/Route.ts"
import type { Digest } from "../rules/Secret.ts"
import type { Active } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import { forgetForm } from "./browserForm.ts"
import { readSessionCookie, setSessionCookie } from "./Cookie.ts"
import { rememberDevice } from "./Device.ts"
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

/** The browser of somebody who has just shown who they are: a new session, and nothing left of the old one. */
export const welcome = Effect.fnUntraced(function* (
  parts: Parts,
  accounts: Accounts["Service"],
  call: Call,
  who: { readonly account: Active; readonly login: Digest; readonly secret: SessionSecret },
  goOn: string
): Effect.fn.Return<HttpResponse> {
  yield* noteOf(parts, call, { _tag: "SignedIn", account: who.account.id })
  const before = readSessionCookie(call.workspace, call.request)
  if (Option.isSome(before)) {
    yield* cleanUpOrWarn(
      call.workspace.id,
      accounts.sessions.end(call.workspace.id, before.value),
      "the session that a browser had before a sign-in could not be ended, and lasts until it expires",
      { signedIn: who.account.id }
    )
  }
  return seeOther(goOn, [
    setSessionCookie(call.workspace, who.secret, accounts.policy.sessionTtl),
    rememberDevice(parts.keys.current(), parts.entropy, call.workspace, who.login, call.now),
    forgetForm(call.workspace)
  ])
})
