import { type Result, Schema } from "effect"

/** The key that separates one tenant's records from another's. */
export const WorkspaceId = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/)).pipe(
  Schema.brand("WorkspaceId")
)
export type WorkspaceId = typeof WorkspaceId.Type

const loopbackHosts = new Set(["127.0.0.1", "[::1]", "localhost"])

export const isLoopbackHost = (hostname: string): boolean => loopbackHosts.has(hostname)

const isIssuer = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  const secure = url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname))
  const bare = url.username === "" && url.password === ""
  const written = url.pathname === "/" ? url.origin : url.href
  return secure && bare && written === text && !text.endsWith("/") && !text.includes("?") && !text.includes("#")
}

/** RFC 8414 §2: https (or http on this machine), no query, no fragment; here also without a slash at the end. */
export const Issuer = Schema.String.check(
  Schema.makeFilter(isIssuer, { expected: "an https URL without query, fragment or slash at the end" })
).pipe(Schema.brand("Issuer"))
export type Issuer = typeof Issuer.Type

/** A tenant: what owns clients, grants, accounts and keys, and the issuer that speaks for it. */
export const Workspace = Schema.Struct({
  id: WorkspaceId,
  issuer: Issuer,
  /** What people read on the pages. */
  name: Schema.NonEmptyString
})
export type Workspace = typeof Workspace.Type

export const parseIssuer = (text: string): Result.Result<Issuer, Schema.SchemaError> =>
  Schema.decodeUnknownResult(Issuer)(text)

/** The part of the issuer that every path of the workspace starts with: empty, or `/` and more. */
export const basePath = (issuer: Issuer): string => {
  const slash = issuer.indexOf("/", issuer.indexOf("://") + 3)
  return slash < 0 ? "" : issuer.slice(slash)
}
