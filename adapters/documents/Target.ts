import { Result } from "effect"
import { DocumentFault } from "../../core/ports/Documents.ts"
import { type AllowList, usualPorts } from "./FetchOptions.ts"
import { isPublicAddress } from "./publicAddress.ts"

/** Where a document is, read and checked as far as that goes without a look-up. */
export interface Target {
  readonly url: URL
  /** Without brackets. */
  readonly host: string
  readonly port: number
  /** The host is an address itself. */
  readonly literal: boolean
  /** Named by the operator, so its addresses may be private. */
  readonly allowed: boolean
}

const longest = 2048

/** RFC 3986 has no other characters, and parsers pass over some of them. */
const printable = /^[\x21-\x7e]+$/

const isLiteral = (hostname: string): boolean => hostname.startsWith("[") || /^[\d.]+$/.test(hostname)

const bad = Result.fail(new DocumentFault({ reason: "bad_address" }))

/** The host is checked as the platform's parser folds it, since that is the host that is connected to. */
export const readTarget = (address: string, allow: AllowList): Result.Result<Target, DocumentFault> => {
  if (address.length > longest || !printable.test(address) || /[\\#]/.test(address)) return bad
  if (!/^https:\/\/[^/?@]+(?:[/?]|$)/i.test(address) || !URL.canParse(address)) return bad
  const url = new URL(address)
  const { hostname } = url
  // A root label makes another name of a host for lists and certificates.
  if (hostname.endsWith(".")) return bad
  const port = url.port === "" ? 443 : Number(url.port)
  const allowed = allow.has(`${hostname}:${port}`)
  if (!allowed && !usualPorts.includes(port)) return bad
  const host = hostname.replace(/^\[|\]$/g, "")
  const literal = isLiteral(hostname)
  if (literal && !allowed && !isPublicAddress(host)) {
    return Result.fail(new DocumentFault({ reason: "address_refused" }))
  }
  return Result.succeed({ url, host, port, literal, allowed })
}
