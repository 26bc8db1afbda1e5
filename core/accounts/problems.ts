import { passwordBytes } from "../rules/AccountLengths.ts"
import type { AccountRefusal } from "./AccountRefusal.ts"

type Field = "name" | "email" | "password" | "form"

/** What a person reads, and beside which field. */
export const problemOf = (
  { reason }: AccountRefusal,
  passwordLength: number
): { readonly field: Field; readonly text: string } => {
  switch (reason) {
    case "email_malformed":
      return { field: "email", text: "This is not an email address." }
    case "email_taken":
      return { field: "email", text: "There is an account with this email already. Sign in with it instead." }
    case "email_not_invited":
      return { field: "email", text: "The invitation is for another address." }
    case "name_too_long":
      return { field: "name", text: "This name is too long." }
    case "password_too_short":
      return { field: "password", text: `Use at least ${passwordLength} characters.` }
    case "password_too_long":
      return { field: "password", text: `Use a shorter password: at most ${passwordBytes} bytes.` }
    case "password_too_plain":
      return { field: "password", text: "Use different characters, and not only spaces." }
    case "password_is_email":
      return { field: "password", text: "Your email is the first thing that anybody would guess. Choose another one." }
    case "wrong_password":
      return { field: "password", text: "This is not your current password." }
    case "link_spent":
      return { field: "form", text: "This link has been used." }
    case "last_owner":
      return { field: "form", text: "Somebody has to stay: this is the last owner." }
    case "oneself":
      return { field: "form", text: "Nobody removes themselves. Ask another owner." }
    case "unknown":
      return { field: "form", text: "This person is not a member any more." }
  }
}
