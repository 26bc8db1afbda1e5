import type { AccountRefusal } from "../../core/accounts/AccountRefusal.ts"
import type { RegistrationFault } from "../../core/client/register.ts"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import { type BadKeyTerms, keyNameLength } from "../../core/rules/KeyTerms.ts"
import type { Contended, Overloaded } from "../../core/rules/Refusal.ts"
import type { CannotListen } from "../server/Listen.ts"
import type { SealKeysRefused } from "../server/SealKeyFile.ts"
import type { StorageRefused } from "../server/StorageRefused.ts"
import type { WrongSettings } from "../server/WrongSettings.ts"
import { type CommandFailed, failed, misused, notFound, refused } from "./Outcome.ts"

/** Everything that a command may come to. */
export type Trouble =
  | CommandFailed
  | WrongSettings
  | SealKeysRefused
  | StorageRefused
  | CannotListen
  | StorageUnavailable
  | Contended
  | Overloaded
  | AccountRefusal
  | RegistrationFault
  | BadKeyTerms

/** What it means to whoever asked. */
export const explain = (trouble: Trouble): CommandFailed => {
  switch (trouble._tag) {
    case "CommandFailed":
      return trouble
    case "WrongSettings":
      return misused(trouble.message)
    case "SealKeysRefused":
    case "StorageRefused":
    case "CannotListen":
      return failed(trouble.message)
    case "StorageUnavailable":
      return failed(
        trouble.outcome === "unknown"
          ? `The storage did not answer; look whether it was done. ${trouble.message}`
          : `The storage did not answer; nothing was changed. ${trouble.message}`
      )
    case "Contended":
    case "Overloaded":
      return failed("Too much was going on at once. Nothing was changed; try again.")
    case "InvalidClientMetadata":
    case "InvalidRedirectUri":
      return misused(trouble.message)
    case "BadKeyTerms":
      return misused(keyProblems[trouble.reason])
    case "AccountRefusal":
      return explainRefusal(trouble)
  }
}

const keyProblems = {
  no_name: "Give the key a name that people can read.",
  long_name: `The name is too long; ${keyNameLength} characters are the most.`,
  lifetime:
    "A key lasts for a millisecond at least and a hundred years at most. Leave the end out for one that never ends."
} as const satisfies Record<BadKeyTerms["reason"], string>

const explainRefusal = ({ reason }: AccountRefusal): CommandFailed => {
  switch (reason) {
    case "email_malformed":
      return misused("That is no email address.")
    case "name_too_long":
      return misused("The name is too long.")
    case "password_too_short":
      return refused("The password is too short; ten characters are the least.")
    case "password_too_long":
      return refused("The password is too long.")
    case "password_too_plain":
      return refused("The password is nothing but spaces, or one character over and over.")
    case "password_is_email":
      return refused("The password is the email address, or a part of it.")
    case "email_taken":
      return refused("Somebody signs in with this email already.")
    case "last_owner":
      return refused("Nobody else owns the workspace. Add another owner first.")
    case "unknown":
      return notFound("There is no such account.")
    case "email_not_invited":
    case "wrong_password":
    case "link_spent":
    case "oneself":
      return refused(`It was refused: ${reason}.`)
  }
}
