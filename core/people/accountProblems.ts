import { type AccountRefusal, passwordBytes } from "./Account.ts"

type Field = "name" | "email" | "password" | "form"

/** The words of a refusal for the person who filled in the form, and the field that they stand beside. */
export const problemOf = (
  { reason }: AccountRefusal,
  passwordLength: number
): { readonly field: Field; readonly text: string } => {
  switch (reason) {
    case "email_malformed":
      return { field: "email", text: "This is not an email address." }
    case "email_taken":
      return { field: "email", text: "There is already an account with this email. Sign in with it instead." }
    case "email_not_invited":
      return { field: "email", text: "The invitation is for another email address." }
    case "email_spoken_for":
      return { field: "email", text: "For this email, an owner has to invite you by it." }
    case "name_too_long":
      return { field: "name", text: "This name is too long." }
    case "password_too_short":
      return { field: "password", text: `Use at least ${passwordLength} characters.` }
    case "password_too_long":
      return { field: "password", text: `Use a shorter password: at most ${passwordBytes} bytes.` }
    case "password_too_plain":
      return { field: "password", text: "Choose another password: this one is among the first that are guessed." }
    case "password_is_email":
      return { field: "password", text: "Choose another password: your email is easy to guess." }
    case "wrong_password":
      return { field: "password", text: "This is not your current password." }
    case "link_spent":
      return { field: "form", text: "This link was already used." }
    case "last_owner":
      return { field: "form", text: "The last owner cannot be removed." }
    case "oneself":
      return { field: "form", text: "You cannot remove yourself. Ask another owner." }
    case "unknown":
      return { field: "form", text: "This person is no longer a member." }
  }
}
