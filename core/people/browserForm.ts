import { base64Url } from "../codec/Base64Url.ts"
import { csrfField, isCsrfField } from "../http/csrf.ts"
import type { Parameters } from "../http/form.ts"
import type { HeaderPairs } from "../http/Http.ts"
import type { Call, Services } from "../http/Route.ts"
import { hour } from "../rules/Instant.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import { type Cookie, clearCookie, readCookie, setCookie } from "./Cookie.ts"

/**
 * RFC 6749 §10.12 for forms without a session: a random cookie stands in for it. Without that, any site
 * could sign a visitor in to an account of its own.
 */
const formCookie: Cookie = { purpose: "form", form: /^[A-Za-z0-9_-]{22}$/ }
const lasts = hour
const valueLength = 16

// The space keeps the two kinds of field apart: no session id contains one.
const binding = (value: string) => `form ${value}`

/** The hidden field and the cookie that it is bound to; two tabs share one cookie. */
export const drawForm = (services: Services, call: Call): { readonly csrf: string; readonly headers: HeaderPairs } => {
  const value = readCookie(call.workspace, call.request, formCookie) ?? base64Url(services.entropy.bytes(valueLength))
  return {
    csrf: csrfField(services.keys.current(), call.workspace, binding(value)),
    headers: [setCookie(call.workspace, formCookie, value, lasts)]
  }
}

/**
 * Fetch Metadata: the browser says that the page which sent the form is no page of this origin. On a loopback host cookies
 * know no ports, so another program there can set this one, with the field that it drew for itself.
 */
const isFromElsewhere = ({ request: { headers } }: Call): boolean => {
  const site = headers.get("sec-fetch-site")
  return site === "same-site" || site === "cross-site"
}

export const isOwnForm = (services: Services, call: Call, form: Parameters): boolean => {
  if (isFromElsewhere(call)) return false
  const value = readCookie(call.workspace, call.request, formCookie)
  const field = form.get("csrf") ?? ""
  return value !== undefined && isCsrfField(services.keys.current(), call.workspace, binding(value), field)
}

export const forgetForm = (workspace: Workspace) => clearCookie(workspace, formCookie)
