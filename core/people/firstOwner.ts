import { Effect, Option, Redacted } from "effect"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { currentInstant, later } from "../rules/Instant.ts"
import type { Contended, Overloaded } from "../rules/Refusal.ts"
import { endpointUrl, type Workspace, type WorkspaceId } from "../workspace/Workspace.ts"
import type { AccountRefusal } from "./Account.ts"
import type { Accounts } from "./Accounts.ts"
import type { Password } from "./Passwords.ts"

const pageSize = 100

/** Whether anybody can sign in, or is about to be let out of `Leaving`. */
export const hasAccounts = Effect.fnUntraced(function* (
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
 * The first account, from the configuration. Nothing happens where there is one, so it may run at every start and in
 * many processes at once: the email's login settles which of them makes it.
 */
export const ensureOwner = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  workspace: Workspace,
  owner: { readonly email: string; readonly password: Password }
): Effect.fn.Return<"made" | "present", AccountRefusal | Overloaded | StorageUnavailable | Contended> {
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
 * The address where the first owner makes their account, once: none where there is an account. It is the one address
 * of ours that holds a secret, so it is for the terminal of whoever starts the server, and nothing else.
 */
export const makeSetUpLink = Effect.fnUntraced(function* (
  accounts: Accounts["Service"],
  workspace: Workspace
): Effect.fn.Return<Option.Option<Redacted.Redacted<string>>, StorageUnavailable | Contended> {
  if (yield* hasAccounts(accounts, workspace.id)) return Option.none()
  const now = yield* currentInstant
  const { secret } = yield* accounts.links.make(workspace.id, (id) => ({
    _tag: "SetUp",
    id,
    account: accounts.book.newId(),
    createdAt: now,
    expiresAt: later(now, accounts.policy.setUpTtl)
  }))
  const url = `${endpointUrl(workspace, "/set-up")}?token=${Redacted.value(secret)}`
  return Option.some(Redacted.make(url, { label: "set-up link" }))
})
