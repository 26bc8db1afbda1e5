import { Option, Redacted } from "effect"
import type { HttpRequest } from "../http/Http.ts"
import type { Millis } from "../rules/Instant.ts"
import type { Workspace } from "../workspace/Workspace.ts"
import { type Cookie, clearCookie, readCookie, setCookie } from "./Cookie.ts"
import type { SessionSecret } from "./Sessions.ts"

const sessionCookie: Cookie = { purpose: "session", form: /^[A-Za-z0-9_-]{43}$/ }

export const readSessionCookie = (workspace: Workspace, request: HttpRequest): Option.Option<SessionSecret> =>
  Option.map(readCookie(workspace, request, sessionCookie), (text) => Redacted.make(text, { label: "session" }))

export const setSessionCookie = (workspace: Workspace, secret: SessionSecret, lasts: Millis) =>
  setCookie(workspace, sessionCookie, Redacted.value(secret), lasts)

export const clearSessionCookie = (workspace: Workspace) => clearCookie(workspace, sessionCookie)
