import { Result, Schema } from "effect"
import { InvalidTarget } from "./Refusal.ts"

const longest = 2048

/** RFC 8707 §2: a place in the workspace's API, written without a slash at the end. Covers everything below it. */
export const Resource = Schema.String.check(Schema.isMaxLength(longest)).pipe(Schema.brand("Resource"))
export type Resource = typeof Resource.Type

const withoutEndSlash = (text: string): string => (text.endsWith("/") ? text.slice(0, -1) : text)

const isBelow = (inner: string, outer: string): boolean => inner === outer || inner.startsWith(`${outer}/`)

/** The resource that a request names, if it is the issuer or below it. */
export const readResource = (issuer: string, text: string): Result.Result<Resource, InvalidTarget> => {
  if (!/^[\x21-\x7e]{1,2048}$/.test(text) || !URL.canParse(text) || /[?#\\]/.test(text)) {
    return Result.fail(new InvalidTarget({ reason: "malformed" }))
  }
  // The URL parser has folded `..`, case and default ports away, so the comparison cannot be talked round.
  const resource = withoutEndSlash(new URL(text).href)
  // The parser escapes, so the address can be longer than its text: what is kept has to be what can be read back.
  if (resource.length > longest) return Result.fail(new InvalidTarget({ reason: "malformed" }))
  return isBelow(resource, issuer)
    ? // Checked just now, which is what the brand says.
      Result.succeed(resource as Resource)
    : Result.fail(new InvalidTarget({ reason: "not_ours" }))
}

/** Segments of what a URL's path is made of, none of them dots, which a parser folds away; at most a slash at the end. */
const segments = /^(?:\/(?!(?:\.|%2e){1,2}(?:\/|$))(?:[a-z0-9\-._~!$&'()*+,;=:@]|%[0-9a-f]{2})+)+\/?$/i

/** Whether a resource of this path can stand below an issuer, under the very name that it is given. */
export const isResourcePath = (path: unknown): path is string => typeof path === "string" && segments.test(path)

/** What a grant is bound to, narrowed to what a token request asks for; `null` is the whole workspace. */
export const narrowResource = (
  bound: Resource | null,
  asked: Resource | null
): Result.Result<Resource | null, InvalidTarget> => {
  if (asked === null) return Result.succeed(bound)
  return bound === null || isBelow(asked, bound)
    ? Result.succeed(asked)
    : Result.fail(new InvalidTarget({ reason: "wider_than_granted" }))
}

/** Whether a token for `audience` may be used at the URL `at` (without its query). */
export const covers = (audience: string | null, at: string): boolean =>
  audience === null || isBelow(withoutEndSlash(at), audience)
