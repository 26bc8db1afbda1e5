import { type AccountRefusal, passwordBytes } from "./Account.ts"

type Field = "name" | "email" | "password" | "form"

/** The words of a refusal for the person who filled in the form, and the field that they stand beside. */
export const problemOf = (
  { reason }: AccountRefusal,
  passwordLength: number
): { readonly field: Field; readonly text: string } => {
  const [field, text] = reason === "password_too_short" ? tooShort(passwordLength) : problems[reason]
  return { field, text }
}

type Problem = readonly [field: Field, text: string]

const tooShort = (least: number): Problem => ["password", `Use at least ${least} characters.`]

const problems: Readonly<Record<Exclude<AccountRefusal["reason"], "password_too_short">, Problem>> = {
  email_malformed: ["email", "This is not an email address."],
  email_taken: ["email", "There is already an account with this email. Sign in with it instead."],
  email_not_invited: ["email", "The invitation is for another email address."],
  email_spoken_for: ["email", "For this email, an owner has to invite you by it."],
  name_too_long: ["name", "This name is too long."],
  password_too_long: ["password", `Use a shorter password: at most ${passwordBytes} bytes.`],
  password_too_plain: ["password", "Choose another password: this one is among the first that are guessed."],
  password_is_email: ["password", "Choose another password: your email is easy to guess."],
  wrong_password: ["password", "This is not your current password."],
  link_spent: ["form", "This link was already used."],
  last_owner: ["form", "The last owner cannot be removed."],
  oneself: ["form", "You cannot remove yourself. Ask another owner."],
  unknown: ["form", "This person is no longer a member."]
}
