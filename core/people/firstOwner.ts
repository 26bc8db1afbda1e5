import { Effect, Redacted } from "effect"
import type { WriteFault } from "../engine/transact.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { currentInstant, later } from "../rules/Instant.ts"
import type { Overloaded } from "../rules/Refusal.ts"
import { endpointUrl, type Workspace, type WorkspaceId } from "../workspace/Workspace.ts"
import type { AccountRefusal } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import type { Password } from "./Passwords.ts"

const pageSize = 100

/** Whether an account can sign in; one that is leaving counts, since it may be restored. */
export const hasAccounts = Effect.fn("people.hasAccounts")(function* (
  accounts: Accounts["Service"],
  workspace: WorkspaceId
): Effect.fn.Return<boolean, StorageUnavailable> {
  let after: string | undefined
  do {
    const page = yield* accounts.book.list(workspace, { after, limit: pageSize })
    if (page.values.some(({ _tag }) => _tag === "Active" || _tag === "Leaving")) return true
    after = page.next
  } while (after !== undefined)
  return false
})

/**
 * The first account, from the configuration, if there is no account. May run at each start and in
 * several processes at once: the claim of the email's login decides which of them makes the account.
 */
export const ensureOwner = Effect.fn("people.ensureOwner")(function* (
  accounts: Accounts["Service"],
  workspace: Workspace,
  owner: { readonly email: string; readonly password: Password }
): Effect.fn.Return<"made" | "present", AccountRefusal | Overloaded | WriteFault> {
  if (yield* hasAccounts(accounts, workspace.id)) return "present"
  const made = accounts.open(workspace.id, { ...owner, name: "", role: "owner" })
  return yield* made.pipe(
    Effect.as("made" as const),
    Effect.catchTag("AccountRefusal", (refusal) =>
      refusal.reason === "email_taken" ? Effect.succeed("present" as const) : Effect.fail(refusal)
    )
  )
})

/**
 * The one-time address where the first owner makes an account; `undefined` if there is an account. It holds
 * a secret, so it belongs in the terminal of the operator who starts the server, and in no log.
 */
export const makeSetUpLink = Effect.fn("people.makeSetUpLink")(function* (
  accounts: Accounts["Service"],
  workspace: Workspace
): Effect.fn.Return<Redacted.Redacted<string> | undefined, WriteFault> {
  if (yield* hasAccounts(accounts, workspace.id)) return undefined
  const now = yield* currentInstant
  const { secret } = yield* accounts.links.make(workspace.id, (id) => ({
    _tag: "SetUp",
    id,
    account: accounts.book.newId(),
    createdAt: now,
    expiresAt: later(now, accounts.policy.setUpTtl)
  }))
  const url = `${endpointUrl(workspace, "/set-up")}?token=${Redacted.value(secret)}`
  return Redacted.make(url, { label: "set-up link" })
})
