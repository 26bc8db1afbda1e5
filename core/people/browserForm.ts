import { Option } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import { csrfField, isCsrfField } from "../http/csrf.ts"
import type { Parameters } from "../http/form.ts"
import type { HeaderPairs } from "../http/Http.ts"
import type { Call, Parts } from "../http/Route.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import { type AccountRefusal, passwordBytes } from "./Account.ts"
import { type Cookie, clearCookie, readCookie, setCookie } from "./Cookie.ts"

/**
 * The forms of whoever has no session yet. A random cookie stands in for it: without that, any site could sign a
 * visitor in to an account of its own choosing (RFC 6749 §10.12 for the login form).
 */
const formCookie: Cookie = { purpose: "form", form: /^[A-Za-z0-9_-]{22}$/ }
const lasts = 60 * 60 * 1000
const valueLength = 16

// A session's id holds no space: no field for a session is ever one for a form without.
const binding = (value: string) => `form ${value}`

/** The hidden field, and the cookie that it is bound to. The same one for two tabs. */
export const drawForm = (parts: Parts, call: Call): { readonly csrf: string; readonly headers: HeaderPairs } => {
  const value = Option.getOrElse(readCookie(call.workspace, call.request, formCookie), () =>
    base64Url(parts.entropy.bytes(valueLength))
  )
  return {
    csrf: csrfField(parts.keys.current(), call.workspace.id, binding(value)),
    headers: [setCookie(call.workspace, formCookie, value, lasts)]
  }
}

export const isOwnForm = (parts: Parts, call: Call, form: Parameters): boolean =>
  Option.match(readCookie(call.workspace, call.request, formCookie), {
    onNone: () => false,
    onSome: (value) => isCsrfField(parts.keys.current(), call.workspace.id, binding(value), form.get("csrf") ?? "")
  })

export const forgetForm = (workspace: Workspace) => clearCookie(workspace, formCookie)

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
