import { base64Url } from "../codec/Base64Url.ts"
import type { Mac } from "../codec/Sha256.ts"
import { type AuthenticationAsked, isTooOld, isTooWeak, mayBe } from "../grant/Authentication.ts"
import type { Call, Services } from "../http/Route.ts"
import { addressOf, returnUrlOf } from "../http/returnUrl.ts"
import type { SignedIn, SignInAsked, SignInHints } from "../ports/ResourceOwner.ts"
import { hasPassed, Instant, later, secondsOf } from "../rules/Instant.ts"
import type { Prompts } from "../rules/Prompt.ts"
import { sameDigest } from "../rules/Secret.ts"
import type { SealKey } from "../token/KeyRing.ts"
import { basePath } from "../workspace/Workspace.ts"
import { readerOf } from "./Ticket.ts"

/*
 * A request that asks for a new sign-in comes back from it as the same address, and must not ask again. So the address
 * that the sign-in returns to has a stamp: when the request arrived, in which session, and a MAC over these and the
 * request. What counts is a sign-in after that; a stamp that this server did not make for this request is none.
 */

const parameter = "asked_at="

const markLength = 22

/** Of the session that was there when the request arrived; empty where no person was signed in. */
const markOf = (signedIn: SignedIn | undefined): string =>
  signedIn === undefined ? "" : readerOf(signedIn).slice(0, markLength)

interface Stamp {
  readonly at: Instant
  readonly session: string
}

const form = /^(login|choice)\.(\d{1,15})\.([A-Za-z0-9_-]{22}|)\.([0-9a-f]{8})\.([A-Za-z0-9_-]{43})$/

const utf8 = new TextEncoder()

const isStamp = (pair: string): boolean => pair.startsWith(parameter)

/** The query of a request that the browser brought in another form, with the stamp that it brought. */
export const keepingStamp = (query: string, brought: string): string =>
  [query, ...brought.split("&").filter(isStamp)].join("&")

/** The request without its stamp, as a browser sends it. */
const unstamped = ({ path, request: { query }, workspace }: Call): string =>
  addressOf(
    basePath(workspace.issuer) + path,
    query
      .split("&")
      .filter((pair) => !isStamp(pair))
      .join("&")
  )

const macText = (mac: Mac, address: string, { at, session }: Stamp): string =>
  base64Url(mac.of(utf8.encode(`${at} ${session} ${address}`)))

const macBy = (services: Pick<Services, "keys">, { workspace }: Call, key: SealKey): Mac =>
  services.keys.current().under(key, workspace, "stamp")

/** The stamp of this request, for as long as its sign-in may take. */
const stampOf = (services: Pick<Services, "keys" | "policy">, call: Call): Stamp | undefined => {
  const [pair, another] = call.request.query.split("&").filter(isStamp)
  const [, , time, session, keyId, mac] = form.exec(pair?.slice(parameter.length) ?? "") ?? []
  if (another !== undefined || time === undefined || session === undefined || keyId === undefined) return undefined
  const key = services.keys.current().find(keyId)
  const stamp: Stamp = { at: Instant.make(Number(time)), session }
  if (key === undefined || hasPassed(later(stamp.at, services.policy.consentTtl), call.now)) return undefined
  return sameDigest(mac ?? "", macText(macBy(services, call, key), unstamped(call), stamp)) ? stamp : undefined
}

const stamped = (
  services: Pick<Services, "keys">,
  call: Call,
  asked: SignInAsked,
  signedIn: SignedIn | undefined
): string => {
  const key = services.keys.current().first
  const stamp: Stamp = { at: call.now, session: markOf(signedIn) }
  const address = unstamped(call)
  const mac = macText(macBy(services, call, key), address, stamp)
  const kind = asked === "login" ? "login" : "choice"
  return `${address}${address.includes("?") ? "&" : "?"}${parameter}${kind}.${stamp.at}.${stamp.session}.${key.id}.${mac}`
}

/** Whether a person who is signed in has to sign in anew before this address goes on, as far as it says so. */
export const asksForLogin = (address: string): boolean => {
  const [pair = ""] = address.split(/[?&]/).filter(isStamp)
  return pair.startsWith(`${parameter}login.`)
}

/** Some hosts know it to the second only. */

/** A host that does not say when a person signed in still has another session after it. */
const isSince = (stamp: Stamp, signedIn: SignedIn): boolean =>
  signedIn.authenticatedAt === undefined
    ? markOf(signedIn) !== stamp.session
    : secondsOf(signedIn.authenticatedAt) >= secondsOf(stamp.at)

const isAnother = (about: AuthenticationAsked, { user }: SignedIn): boolean => !mayBe(about, user)

/** A host that says nothing of strengths has no better sign-in to lead to. */
const mayGrow = ({ acr }: SignedIn): boolean => acr !== undefined

/** What a request asks of the sign-in, of any person. */
const askedBy = (
  prompt: Prompts,
  about: AuthenticationAsked,
  signedIn: SignedIn | undefined,
  now: Instant
): SignInAsked | undefined => {
  if (prompt.includes("login")) return "login"
  if (signedIn !== undefined) {
    if (isAnother(about, signedIn)) return "select_account"
    if (isTooOld(about, signedIn, now) || (isTooWeak(about, signedIn) && mayGrow(signedIn))) return "login"
  }
  return prompt.includes("select_account") ? "select_account" : undefined
}

/** OpenID Connect Core §3.1.2.1, §5.5.1.1, RFC 9470 §5: what no sign-in makes up for. */
const settled = (about: AuthenticationAsked, signedIn: SignedIn): SignInStep => {
  if (isAnother(about, signedIn)) return { _tag: "Missing" }
  return about.acrRequired === true && isTooWeak(about, signedIn) ? { _tag: "Unmet" } : { _tag: "Enough", signedIn }
}

const hintsOf = ({ acr, loginHint }: AuthenticationAsked): SignInHints | undefined =>
  acr === undefined && loginHint === undefined
    ? undefined
    : { ...(acr === undefined ? {} : { acr }), ...(loginHint === undefined ? {} : { loginHint }) }

/** What a request needs of the sign-in before its consent page can be drawn. */
type SignInStep =
  | { readonly _tag: "Enough"; readonly signedIn: SignedIn }
  /** `returnTo`: where the browser comes back to from `at`. */
  | { readonly _tag: "Ask"; readonly at: string; readonly returnTo: string }
  /** It may not be asked for, or was and did not happen. */
  | { readonly _tag: "Missing" }
  /** No means of sign-in here is as strong as it has to be. */
  | { readonly _tag: "Unmet" }

const nothingAsked: AuthenticationAsked = {}

/**
 * OpenID Connect Core §3.1.2.1. A browser is sent to the sign-in once for a session, or twice where its session was seen
 * only on the way back: a host that sends it straight back leads to an error at the client, and never in a circle.
 */
export const signInStep = (
  services: Services,
  call: Call,
  prompt: Prompts,
  signedIn: SignedIn | undefined,
  about: AuthenticationAsked = nothingAsked
): SignInStep => {
  const asked = askedBy(prompt, about, signedIn, call.now)
  if (signedIn !== undefined && asked === undefined) return settled(about, signedIn)
  if (prompt.includes("none")) {
    // A strength that is a wish, a request without pages goes on without.
    const isFresh = signedIn !== undefined && !isTooOld(about, signedIn, call.now)
    return isFresh ? settled(about, signedIn) : { _tag: "Missing" }
  }
  const stamp = asked === undefined ? undefined : stampOf(services, call)
  if (signedIn !== undefined && stamp !== undefined) {
    const wasSeen = stamp.session !== ""
    if (isSince(stamp, signedIn) || (asked === "select_account" && wasSeen)) return settled(about, signedIn)
    if (wasSeen) return { _tag: "Missing" }
  }
  const returnTo = asked === undefined ? returnUrlOf(call) : stamped(services, call, asked, signedIn)
  const { signInAt, switchAt = signInAt } = services.owner
  const lead = signedIn === undefined ? signInAt : switchAt
  return { _tag: "Ask", at: lead(call.workspace, returnTo, asked, hintsOf(about)), returnTo }
}
