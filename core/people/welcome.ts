import { Effect } from "effect"
import { cleanUpOrWarn } from "../engine/transact.ts"
import { seeOther } from "../http/answer.ts"
import { noteOf } from "../http/audit.ts"
import type { HttpResponse } from "../http/Http.ts"
import type { Call, Services } from "../http/Route.ts"
import type { Digest } from "../rules/Secret.ts"
import type { Active } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import { forgetForm } from "./browserForm.ts"
import { browserOf } from "./browserOf.ts"
import { enterAt, readSessionCookie } from "./Cookie.ts"
import { rememberDevice } from "./DeviceCookie.ts"
import { endSessions, farewellBy } from "./endSessions.ts"
import { type SessionSecret, sessionIdOf } from "./Sessions.ts"

/**
 * Starts a session after a write to the account. If the storage fails, the answer leads to sign-in:
 * the write is done, and a second try of the form would be refused.
 */
export const signedInAnew = (
  services: Services,
  accounts: Accounts["Service"],
  { now, request, workspace }: Call,
  account: Active,
  returnUrl: string,
  answer: (secret: SessionSecret) => Effect.Effect<HttpResponse>
): Effect.Effect<HttpResponse> =>
  Effect.matchEffect(
    accounts.sessions.start(workspace.id, account, now, browserOf(request.headers.get("user-agent"))),
    {
      onSuccess: answer,
      onFailure: (fault) =>
        Effect.as(
          Effect.logWarning("an account was written, but no session could be started; the person has to sign in", {
            workspace: workspace.id,
            account: account.id,
            fault: fault._tag
          }),
          seeOther(services.owner.signInAt(workspace, returnUrl))
        )
    }
  )

/**
 * The session that the browser had before. The same person's goes on in the new one, so that a second sign-in does not
 * sign them out of their applications.
 */
const replaced = Effect.fnUntraced(function* (
  services: Services,
  { sessions }: Accounts["Service"],
  call: Call,
  { account, secret }: { readonly account: Active; readonly secret: SessionSecret },
  former: SessionSecret
) {
  const { workspace } = call
  const found = yield* sessions.find(workspace.id, former, call.now)
  if (found === undefined) return
  if (found.account === account.id && found.epoch === account.epoch) {
    yield* sessions.takeOver(workspace.id, sessionIdOf(secret), found)
    yield* sessions.remove(workspace.id, found.id)
  } else {
    yield* endSessions(sessions, workspace, found.account, [found.id], farewellBy(services, call, found.account))
  }
})

/** Redirects with the cookies of the new session, and ends the session that the browser had before. */
export const welcome = Effect.fn("people.welcome")(function* (
  services: Services,
  accounts: Accounts["Service"],
  call: Call,
  signedIn: { readonly account: Active; readonly login: Digest; readonly secret: SessionSecret },
  returnUrl: string
): Effect.fn.Return<HttpResponse> {
  yield* noteOf(services, call, { _tag: "SignedIn", account: signedIn.account.id })
  const before = readSessionCookie(call.workspace, call.request)
  if (before !== undefined) {
    yield* cleanUpOrWarn(
      call.workspace.id,
      replaced(services, accounts, call, signedIn, before),
      "the previous session of a browser that signed in could not be ended, and lasts until it expires",
      { signedIn: signedIn.account.id }
    )
  }
  return enterAt(call.workspace, signedIn.secret, accounts.policy.sessionTtl, returnUrl, [
    rememberDevice(services.keys.current(), services.entropy, call.workspace, signedIn.login, call.now),
    forgetForm(call.workspace)
  ])
})
