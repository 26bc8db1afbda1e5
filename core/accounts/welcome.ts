import { Effect, Option } from "effect"
import { seeOther } from "../http/answer.ts"
import type { Call } from "../http/Call.ts"
import type { HttpResponse } from "../http/Http.ts"
import { noteOf } from "../http/occasion.ts"
import type { Parts } from "../http/Parts.ts"
import type { Digest } from "../rules/Secret.ts"
import { tidyUp } from "../server/tidyUp.ts"
import type { Active } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import { forgetForm } from "./browserForm.ts"
import { rememberDevice } from "./Device.ts"
import type { SessionSecret } from "./Sessions.ts"
import { readSessionCookie, setSessionCookie } from "./sessionCookie.ts"

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
    yield* tidyUp(
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
