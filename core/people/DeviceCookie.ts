import { base64Url } from "../codec/Base64Url.ts"
import type { Mac } from "../codec/Sha256.ts"
import type { HttpRequest } from "../http/Http.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { day, hasPassed, type Instant, later } from "../rules/Instant.ts"
import { type Digest, sameDigest } from "../rules/Secret.ts"
import type { Sealer } from "../token/KeyRing.ts"
import type { OpenWorkspace } from "../workspace/Workspace.ts"
import { type Cookie, readCookie, setCookie } from "./Cookie.ts"

/**
 * A cookie in each browser that signed in. It grants nothing but a throttle of its own, so that guessing elsewhere
 * does not lock this browser out (OWASP: Slow Down Online Guessing Attacks with Device Cookies).
 */
const deviceCookie: Cookie = {
  purpose: "device",
  form: /^[0-9a-f]{8}\.[A-Za-z0-9_-]{22}\.[0-9a-z]{1,11}\.[A-Za-z0-9_-]{43}$/
}

/** RFC 6265bis §5.5: the longest that browsers keep a cookie. */
const deviceTtl = 400 * day
const nonceLength = 16
const utf8 = new TextEncoder()

const macOf = (mac: Mac, login: Digest, nonce: string, at: string) =>
  base64Url(mac.of(utf8.encode(`device ${login} ${nonce} ${at}`)))

export const rememberDevice = (
  sealer: Sealer,
  entropy: Entropy["Service"],
  workspace: OpenWorkspace,
  login: Digest,
  now: Instant
) => {
  const nonce = base64Url(entropy.bytes(nonceLength))
  const at = now.toString(36)
  const mac = macOf(sealer.under(sealer.first, workspace, "session"), login, nonce, at)
  return setCookie(workspace, deviceCookie, `${sealer.first.id}.${nonce}.${at}.${mac}`, deviceTtl)
}

/** The name of this browser, if this login signed in here before. */
export const knownDevice = (
  sealer: Sealer,
  workspace: OpenWorkspace,
  request: HttpRequest,
  login: Digest,
  now: Instant
): string | undefined => {
  const [keyId = "", nonce = "", at = "", mac = ""] = readCookie(workspace, request, deviceCookie)?.split(".") ?? []
  const key = sealer.find(keyId)
  if (key === undefined) return undefined
  const isOf = (known: Mac | undefined) => known !== undefined && sameDigest(mac, macOf(known, login, nonce, at))
  if (!isOf(sealer.under(key, workspace, "session")) && !isOf(sealer.before(key, workspace, "session"))) {
    return undefined
  }
  // Holds: the MAC shows that this server wrote the number.
  const since = Number.parseInt(at, 36) as Instant
  return hasPassed(later(since, deviceTtl), now) ? undefined : nonce
}
