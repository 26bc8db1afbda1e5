import { Schema } from "effect"

/** Why something about an account was not done: for the page or the command line that asked. */
export class AccountRefusal extends Schema.TaggedError<AccountRefusal>()("AccountRefusal", {
  reason: Schema.Literals([
    "email_malformed",
    "email_taken",
    "email_not_invited",
    "name_too_long",
    "password_too_short",
    "password_too_long",
    "password_too_plain",
    "password_is_email",
    "wrong_password",
    "link_spent",
    "last_owner",
    "oneself",
    "unknown"
  ])
}) {}
