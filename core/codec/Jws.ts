import { readBase64Url } from "./Base64Url.ts"
import { isMembers, type Members } from "./Json.ts"

/** A compact JWS (RFC 7515 §3.1) as it was sent: its signature is not verified yet. */
export interface UnverifiedJws {
  /** All of it, the signature too. */
  readonly text: string
  readonly header: Members
  readonly claims: Members
}

/** Longer than any that a client makes, and short enough to read before the caller has proven anything. */
const longestJws = 8 * 1024

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

const membersOf = (part: string): Members | undefined => {
  const bytes = readBase64Url(part)
  if (bytes === undefined) return undefined
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes))
    return isMembers(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** RFC 7519 §2: a moment among the claims, in seconds with a fraction or without; in milliseconds here. */
export const millisIn = (claims: Members, name: string): number | undefined => {
  const value = claims[name]
  return typeof value === "number" && Number.isFinite(value) ? value * 1000 : undefined
}

/** RFC 7515 §4.1.4: which of its keys made it, as the header says. */
export const kidOf = ({ kid }: Members): string | undefined => (typeof kid === "string" ? kid : undefined)

/** RFC 7515 §4.1.9: the media type that it says it is, in whatever case and with `application/` or without. */
export const mediaTypeIn = ({ typ }: Members): unknown =>
  typeof typ === "string" ? typ.toLowerCase().replace(/^application\//, "") : typ

/**
 * Tells whose key is to be asked for, and nothing more. An array is no object of claims, and no text has two forms.
 * `headerOf`: of a reader who has seen the same header before.
 */
export const readJws = (
  text: string,
  headerOf: (part: string) => Members | undefined = () => undefined
): UnverifiedJws | undefined => {
  if (text.length > longestJws) return undefined
  const [first, second, signature, ...more] = text.split(".")
  if (first === undefined || second === undefined || !signature || more.length > 0) return undefined
  // Readers elsewhere pass over padding and line ends.
  if (readBase64Url(signature) === undefined) return undefined
  const header = headerOf(first) ?? membersOf(first)
  if (header === undefined) return undefined
  const claims = membersOf(second)
  return claims && { text, header, claims }
}
