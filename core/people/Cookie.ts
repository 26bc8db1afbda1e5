import { Option, Redacted } from "effect"
import type { HttpRequest } from "../http/Http.ts"
import type { Millis } from "../rules/Instant.ts"
import { digestOf } from "../rules/Secret.ts"
import { basePath, type Workspace } from "../workspace/Workspace.ts"
import type { SessionSecret } from "./Sessions.ts"

/** A cookie of this server: what it is for, and what its values look like. */
export interface Cookie {
  readonly purpose: "session" | "form" | "device"
  readonly form: RegExp
}

/** More than any browser sends to one server. */
const headerMost = 16_384

const isSecure = (workspace: Workspace): boolean => workspace.issuer.startsWith("https://")

const pathDigestLength = 8

/**
 * Cookies know no ports, and the `__Host-` prefix (RFC 6265bis §4.1.3.2) no path: two workspaces of one host, or two
 * servers on one machine, are told apart by the name. Their ids alone don't do that: a server's own workspace is called
 * the same on each.
 */
const cookieName = (workspace: Workspace, cookie: Cookie): string => {
  const { port } = new URL(workspace.issuer)
  const path = basePath(workspace.issuer)
  const whose = path === "" ? "" : `_${workspace.id}_${digestOf(path).slice(0, pathDigestLength)}`
  return `${isSecure(workspace) ? "__Host-" : ""}tessera_${cookie.purpose}${port === "" ? "" : `_${port}`}${whose}`
}

/** The value, if there is one and no more than one: where two came, one may be somebody else's, and neither counts. */
export const readCookie = (workspace: Workspace, request: HttpRequest, cookie: Cookie): Option.Option<string> => {
  const header = request.headers.get("cookie") ?? ""
  if (header.length > headerMost) return Option.none()
  const start = `${cookieName(workspace, cookie)}=`
  const values = header
    .split(";")
    .map((pair) => pair.replace(/^[ \t]+|[ \t]+$/g, ""))
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length))
  const [value] = values
  return value !== undefined && values.length === 1 && cookie.form.test(value) ? Option.some(value) : Option.none()
}

const written = (workspace: Workspace, cookie: Cookie, value: string, maxAgeSeconds: number) => {
  const path = isSecure(workspace) ? "/" : basePath(workspace.issuer) || "/"
  const attributes = [
    `${cookieName(workspace, cookie)}=${value}`,
    `Path=${path}`,
    `Max-Age=${maxAgeSeconds}`,
    "HttpOnly",
    "SameSite=Lax",
    ...(isSecure(workspace) ? ["Secure"] : [])
  ]
  return ["set-cookie", attributes.join("; ")] as const
}

/** RFC 6265 §4.1; `Lax`, because people come here by links of other sites and are to be known when they do. */
export const setCookie = (workspace: Workspace, cookie: Cookie, value: string, lasts: Millis) =>
  written(workspace, cookie, value, Math.floor(lasts / 1000))

export const clearCookie = (workspace: Workspace, cookie: Cookie) => written(workspace, cookie, "", 0)

const sessionCookie: Cookie = { purpose: "session", form: /^[A-Za-z0-9_-]{43}$/ }

export const readSessionCookie = (workspace: Workspace, request: HttpRequest): Option.Option<SessionSecret> =>
  Option.map(readCookie(workspace, request, sessionCookie), (text) => Redacted.make(text, { label: "session" }))

export const setSessionCookie = (workspace: Workspace, secret: SessionSecret, lasts: Millis) =>
  setCookie(workspace, sessionCookie, Redacted.value(secret), lasts)

export const clearSessionCookie = (workspace: Workspace) => clearCookie(workspace, sessionCookie)
