import { Redacted } from "effect"
import { seeOther } from "../http/answer.ts"
import type { HeaderPairs, HttpRequest, HttpResponse } from "../http/Http.ts"
import type { Millis } from "../rules/Instant.ts"
import { digestOf, sameDigest } from "../rules/Secret.ts"
import { hasSessionPaths, inSession, pagesPath, sessionPaths } from "../workspace/SessionPath.ts"
import { basePath, type OpenWorkspace, type Workspace } from "../workspace/Workspace.ts"
import type { SessionSecret } from "./Sessions.ts"

/** A cookie of this server: its purpose, and the form of its values. */
export interface Cookie {
  readonly purpose: "session" | "form" | "device"
  readonly form: RegExp
  /** Sent below the session's own path only, where sessions have one. */
  readonly ofSession?: true
}

/** Larger than any browser sends. */
const headerMost = 16_384

const isSecure = (workspace: Workspace): boolean => workspace.issuer.startsWith("https://")

const pathDigestLength = 8

const hasOwnPath = (workspace: Workspace, { ofSession }: Cookie): boolean =>
  ofSession === true && hasSessionPaths(workspace)

/** RFC 6265bis §4.1.3: a `__Host-` cookie has no path. */
const prefixOf = (workspace: Workspace, cookie: Cookie): string => {
  if (!isSecure(workspace)) return ""
  return hasOwnPath(workspace, cookie) ? "__Secure-" : "__Host-"
}

/**
 * RFC 6265bis §4.1.3.2: `__Host-` cookies have no path, and no cookie has a port, so the name carries both.
 * The workspace's id alone would not do: the default workspace has the same id on every server.
 */
const cookieName = (workspace: Workspace, cookie: Cookie): string => {
  const { port } = new URL(workspace.issuer)
  const path = basePath(workspace.issuer)
  const suffix = path === "" ? "" : `_${workspace.id}_${digestOf(path).slice(0, pathDigestLength)}`
  return `${prefixOf(workspace, cookie)}tessera_${cookie.purpose}${port === "" ? "" : `_${port}`}${suffix}`
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

const valuesOf = (workspace: Workspace, request: HttpRequest, cookie: Cookie): ReadonlyArray<string> => {
  const header = request.headers.get("cookie") ?? ""
  if (header.length > headerMost) return []
  const start = `${cookieName(workspace, cookie)}=`
  return header
    .split(";")
    .map(withoutBlanks)
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length))
}

/** The value if there is exactly one: of two, one may have been planted by another site. */
export const readCookie = (workspace: Workspace, request: HttpRequest, cookie: Cookie): string | undefined => {
  const [value, ...others] = valuesOf(workspace, request, cookie)
  return value !== undefined && others.length === 0 && cookie.form.test(value) ? value : undefined
}

const pathOf = (workspace: OpenWorkspace, cookie: Cookie): string => {
  if (hasOwnPath(workspace, cookie)) return pagesPath(workspace) || "/"
  return isSecure(workspace) ? "/" : basePath(workspace.issuer) || "/"
}

const written = (workspace: OpenWorkspace, cookie: Cookie, value: string, maxAgeSeconds: number) => {
  const attributes = [
    `${cookieName(workspace, cookie)}=${value}`,
    `Path=${pathOf(workspace, cookie)}`,
    `Max-Age=${maxAgeSeconds}`,
    "HttpOnly",
    "SameSite=Lax",
    ...(isSecure(workspace) ? ["Secure"] : [])
  ]
  return ["set-cookie", attributes.join("; ")] as const
}

/** RFC 6265 §4.1. `Lax`: links from other sites have to arrive with the session. */
export const setCookie = (workspace: OpenWorkspace, cookie: Cookie, value: string, lasts: Millis) =>
  written(workspace, cookie, value, Math.floor(lasts / 1000))

export const clearCookie = (workspace: OpenWorkspace, cookie: Cookie) => written(workspace, cookie, "", 0)

const sessionCookie: Cookie = { purpose: "session", form: /^[A-Za-z0-9_-]{43}$/, ofSession: true }

const sessionPathLength = 22

/** Drawn with the secret, and telling nothing of it. */
const sessionPathOf = (secret: string): string =>
  `${sessionPaths}/${digestOf(`session path ${secret}`).slice(0, sessionPathLength)}`

/** The cookie's secret. Below a session's own path only that session's counts, whatever else another program has set. */
export const readSessionCookie = (workspace: OpenWorkspace, request: HttpRequest): SessionSecret | undefined => {
  const { sessionPath = "" } = workspace
  const text = hasSessionPaths(workspace)
    ? valuesOf(workspace, request, sessionCookie).find(
        (value) => sessionCookie.form.test(value) && sameDigest(sessionPathOf(value), sessionPath)
      )
    : readCookie(workspace, request, sessionCookie)
  return text === undefined ? undefined : Redacted.make(text, { label: "session" })
}

export const clearSessionCookie = (workspace: OpenWorkspace) => clearCookie(workspace, sessionCookie)

const enter = (workspace: OpenWorkspace, secret: SessionSecret): OpenWorkspace =>
  hasSessionPaths(workspace) ? { ...workspace, sessionPath: sessionPathOf(Redacted.value(secret)) } : workspace

/** The way into a session that has just begun: to an address that was written without it. */
export const enterAt = (
  workspace: OpenWorkspace,
  secret: SessionSecret,
  lasts: Millis,
  address: string,
  headers: HeaderPairs = []
): HttpResponse => {
  const there = enter(workspace, secret)
  return seeOther(inSession(there, address), [
    ...(workspace.sessionPath === undefined ? [] : [clearSessionCookie(workspace)]),
    setCookie(there, sessionCookie, Redacted.value(secret), lasts),
    ...headers
  ])
}
