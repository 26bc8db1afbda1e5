import { Result, Schema } from "effect"

/** A redirect URI that a client may register: absolute, without fragment, and sent only where it may be (RFC 8252). */
export const RedirectUri = Schema.String.check(
  Schema.makeFilter((text: string) => faultOf(text) === undefined, { expected: "a redirect URI" })
).pipe(Schema.brand("RedirectUri"))
export type RedirectUri = typeof RedirectUri.Type

const printable = /^[\x21-\x7e]{1,2048}$/

/** A redirect URI of one request, found to be one of its client's: the only thing that a browser is ever sent to. */
export const RedirectTarget = Schema.String.check(Schema.isPattern(printable)).pipe(Schema.brand("RedirectTarget"))
export type RedirectTarget = typeof RedirectTarget.Type

const authority = /^https?:\/\/([^/?#]*)/
/** RFC 8252 §7.3; `localhost` counts, since that is what applications register. */
const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::([0-9]{1,5}))?([/?].*)?$/
/** RFC 8252 §7.1: the reversed domain name has a dot, which `javascript:` and `data:` lack. */
const privateUse = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:/

/**
 * Programs that strangers have long had, and that return by a name without a dot: editors, each to one of its extensions,
 * and a terminal, which speak the Model Context Protocol. Whose any other such name is, the server cannot say.
 *
 * These names open more than sign-ins: a file, a clone, a set-up of tools with its command in the query. A client that
 * registered itself has a browser sent to its address unasked, so only a path that tells of signing in is let in, as it
 * is read and without a query.
 */
const knownPrograms =
  /^(?:(?:cursor|vscode|vscode-insiders|vscodium|windsurf):\/\/[\w-]+\.[\w-]+|warp:\/\/mcp)(?=\/[^?]*[Aa]uth)(?:\/[\w~-][\w.~-]*)+\/?(?:\?|$)/

/** Whether it leads to such a program's sign-in, with whatever is told there in the query. */
export const leadsToKnownProgram = (url: string): boolean => knownPrograms.test(url)

export type RedirectUriFault =
  | "unprintable"
  | "backslash"
  | "fragment"
  | "not_absolute"
  | "scheme"
  | "http_beyond_loopback"
  | "userinfo"
  | "odd_host"

const faultOf = (text: string): RedirectUriFault | undefined => {
  if (!printable.test(text)) return "unprintable"
  if (text.includes("\\")) return "backslash"
  if (text.includes("#")) return "fragment"
  if (!URL.canParse(text)) return "not_absolute"
  const url = new URL(text)
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    return privateUse.test(text) || (leadsToKnownProgram(text) && !text.includes("?")) ? undefined : "scheme"
  }
  const written = authority.exec(text)?.[1]
  if (written === undefined) return "not_absolute"
  if (written.includes("@")) return "userinfo"
  // What stands there must be the host that a browser goes to: no `127.1`, no `%2e`, no default port.
  if (written.toLowerCase() !== url.host) return "odd_host"
  return url.protocol === "http:" && !loopback.test(text) ? "http_beyond_loopback" : undefined
}

export const checkRedirectUri = (text: string): Result.Result<RedirectUri, RedirectUriFault> => {
  const fault = faultOf(text)
  // Without a fault it is what the brand says.
  return fault === undefined ? Result.succeed(text as RedirectUri) : Result.fail(fault)
}

/** The same URI but for its port, if it is a loopback one (RFC 8252 §7.3). */
const withoutLoopbackPort = (text: string): string | undefined => {
  const [, host, port, rest] = loopback.exec(text) ?? []
  return host === undefined || Number(port ?? 0) > 65_535 ? undefined : `http://${host}${rest ?? ""}`
}

/** RFC 9700 §4.1.3: exact string comparison; only the port of a loopback URI may differ. */
export const matchRedirectUri = (
  registered: ReadonlyArray<RedirectUri>,
  presented: string
): RedirectTarget | undefined => {
  // A port can make it longer than any that was registered.
  if (!printable.test(presented)) return undefined
  const bare = withoutLoopbackPort(presented)
  const found = registered.some((uri) => uri === presented || (bare !== undefined && withoutLoopbackPort(uri) === bare))
  // Printable, and equal to a registered URI or to one but for a port: what the brand says.
  return found ? (presented as RedirectTarget) : undefined
}

/** The target with more added to its query, which is encoded already (RFC 6749 §4.1.2: what it holds stays). */
export const withQuery = (target: RedirectTarget, query: string): string => {
  if (!target.includes("?")) return `${target}?${query}`
  return target.endsWith("?") || target.endsWith("&") ? target + query : `${target}&${query}`
}
