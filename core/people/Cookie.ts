import { Option, Redacted } from "effect"
import type { HttpRequest } from "../http/Http.ts"
import type { Millis } from "../rules/Instant.ts"
import { digestOf } from "../rules/Secret.ts"
import { basePath, type Workspace } from "../workspace/Workspace.ts"
import type { SessionSecret } from "./Sessions.ts"

/** A cookie of this server: its purpose, and the form of its values. */
export interface Cookie {
  readonly purpose: "session" | "form" | "device"
  readonly form: RegExp
}

/** Larger than any browser sends. */
const headerMost = 16_384

const isSecure = (workspace: Workspace): boolean => workspace.issuer.startsWith("https://")

const pathDigestLength = 8

/**
 * RFC 6265bis §4.1.3.2: `__Host-` cookies have no path, and no cookie has a port, so the name carries both.
 * The workspace's id alone would not do: the default workspace has the same id on every server.
 */
const cookieName = (workspace: Workspace, cookie: Cookie): string => {
  const { port } = new URL(workspace.issuer)
  const path = basePath(workspace.issuer)
  const suffix = path === "" ? "" : `_${workspace.id}_${digestOf(path).slice(0, pathDigestLength)}`
  return `${isSecure(workspace) ? "__Host-" : ""}tessera_${cookie.purpose}${port === "" ? "" : `_${port}`}${suffix}`
}

const isBlank = (code: number): boolean => code === 32 || code === 9

/** RFC 9110 §5.6.3: `trim` would take more than blanks, and a browser protects no name that begins with something else. */
const withoutBlanks = (pair: string): string => {
  let start = 0
  let end = pair.length
  while (start < end && isBlank(pair.charCodeAt(start))) start += 1
  while (end > start && isBlank(pair.charCodeAt(end - 1))) end -= 1
  return pair.slice(start, end)
}

/** The value if there is exactly one: of two, one may have been planted by another site. */
export const readCookie = (workspace: Workspace, request: HttpRequest, cookie: Cookie): Option.Option<string> => {
  const header = request.headers.get("cookie") ?? ""
  if (header.length > headerMost) return Option.none()
  const start = `${cookieName(workspace, cookie)}=`
  const values = header
    .split(";")
    .map(withoutBlanks)
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

/** RFC 6265 §4.1. `Lax`: links from other sites have to arrive with the session. */
export const setCookie = (workspace: Workspace, cookie: Cookie, value: string, lasts: Millis) =>
  written(workspace, cookie, value, Math.floor(lasts / 1000))

export const clearCookie = (workspace: Workspace, cookie: Cookie) => written(workspace, cookie, "", 0)

const sessionCookie: Cookie = { purpose: "session", form: /^[A-Za-z0-9_-]{43}$/ }

export const readSessionCookie = (workspace: Workspace, request: HttpRequest): Option.Option<SessionSecret> =>
  Option.map(readCookie(workspace, request, sessionCookie), (text) => Redacted.make(text, { label: "session" }))

export const setSessionCookie = (workspace: Workspace, secret: SessionSecret, lasts: Millis) =>
  setCookie(workspace, sessionCookie, Redacted.value(secret), lasts)

export const clearSessionCookie = (workspace: Workspace) => clearCookie(workspace, sessionCookie)
