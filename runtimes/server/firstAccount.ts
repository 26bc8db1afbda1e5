import { Effect, Option } from "effect"
import { type AccountRefusal, normaliseEmail } from "../../core/people/Account.ts"
import type { Accounts } from "../../core/people/Accounts.ts"
import { ensureOwner, makeSetUpLink } from "../../core/people/firstOwner.ts"
import type { AuditEvent } from "../../core/ports/Audit.ts"
import type { Settings } from "./Settings.ts"
import { complaint, WrongSettings } from "./Variable.ts"

const complaintOf = ({ reason }: AccountRefusal, least: number): string => {
  switch (reason) {
    case "password_too_short":
      return complaint("OWNER_PASSWORD", `a password of at least ${least} characters`)
    case "password_too_long":
      return complaint("OWNER_PASSWORD", "a shorter password")
    case "password_too_plain":
      return complaint("OWNER_PASSWORD", "a password that is not among the first that are guessed")
    case "password_is_email":
      return complaint("OWNER_PASSWORD", "a password that is not the email address")
    default:
      return complaint("OWNER_EMAIL", "an email address")
  }
}

/** Makes the first account, or the link that makes it. `undefined`: there is an account, and nothing to be said. */
export const firstAccount = Effect.fnUntraced(function* (
  settings: Settings,
  accounts: Accounts["Service"],
  note: (event: AuditEvent) => Effect.Effect<void>
) {
  if (Option.isNone(settings.firstOwner)) return yield* makeSetUpLink(accounts, settings.workspace)
  const made = yield* ensureOwner(accounts, settings.workspace, settings.firstOwner.value).pipe(
    Effect.catchTag("AccountRefusal", (refusal) =>
      Effect.fail(new WrongSettings({ complaints: [complaintOf(refusal, accounts.policy.passwordLength)] }))
    )
  )
  if (made === "made") {
    yield* Effect.logInfo("the first account was made, from OWNER_EMAIL")
    const email = normaliseEmail(settings.firstOwner.value.email)
    const account = email === undefined ? undefined : yield* accounts.book.byEmail(settings.workspace.id, email)
    const change = { _tag: "AccountChanged", change: "opened", by: "OWNER_EMAIL", role: "owner" } as const
    if (account !== undefined) yield* note({ ...change, account: account.id })
  }
  return undefined
})
