import { sha256 } from "@noble/hashes/sha2.js"
import { base64Url } from "../../codec/Base64Url.ts"
import type { HttpResponse } from "../../http/Http.ts"
import type { Expectation, Identity, Readable, Worth } from "../model/Expectation.ts"
import { sameResource } from "../model/resource.ts"
import { byeAddress, deviceTtl, pollInterval, pushedTtl } from "../model/World.ts"
import type { Ref, Step } from "../script/Command.ts"
import { readConsentForm, readSignOutForm } from "./ConsentForm.ts"
import type { Ledger } from "./Ledger.ts"
import { jktOf, readSigned } from "./proofs.ts"
import { headerOf, type JsonObject, jsonOf, locationOf, textField } from "./reading.ts"
import { accessTokenType } from "./requestOf.ts"
import { nameOf } from "./SystemUnderTest.ts"

/** What is known when an answer is compared. */
interface Comparing {
  readonly step: Step
  readonly response: HttpResponse
  /** Before the command. */
  readonly earlier: Ledger
  /** After it, with the answers of all that ran at the same time. */
  readonly ledger: Ledger
}

/** The first thing that is not so, or nothing. */
type Complaint = string | null

const first = (...complaints: ReadonlyArray<Complaint>): Complaint => complaints.find((one) => one !== null) ?? null

const unless = (holds: boolean, complaint: string): Complaint => (holds ? null : complaint)

const status = ({ response }: Comparing, ...allowed: ReadonlyArray<number>): Complaint =>
  unless(allowed.includes(response.status), `status is not ${allowed.join(" or ")}`)

const noRedirect = ({ response }: Comparing): Complaint => unless(locationOf(response) === null, "there is a Location")

/** RFC 6749 §5.1. */
const notStored = ({ response }: Comparing): Complaint =>
  unless(headerOf(response, "cache-control")?.includes("no-store") === true, "Cache-Control is not no-store")

const sameWords = (text: string | null, words: ReadonlyArray<string>): boolean =>
  text !== null && [...text.split(" ")].sort().join(" ") === [...words].sort().join(" ")

const scopeIs = (body: JsonObject | null, scope: ReadonlyArray<string>): Complaint =>
  unless(sameWords(textField(body, "scope"), scope), `scope is not "${scope.join(" ")}"`)

const isNew = (known: Ledger, own: string, text: string | null): boolean =>
  text !== null && text !== "" && ![...known].some(([name, other]) => name !== own && other === text)

const registered = (comparing: Comparing, expect: Expectation & { readonly _tag: "Registered" }): Complaint => {
  const { response, ledger, step } = comparing
  const body = jsonOf(response)
  const secret = textField(body, "client_secret")
  const grants = body?.grant_types
  const fresh = (own: string, name: string) => isNew(ledger, `${own}#${step.id}`, textField(body, name))
  return first(
    status(comparing, 201),
    noRedirect(comparing),
    notStored(comparing),
    unless(fresh("client", "client_id"), "client_id is missing or not new"),
    unless(fresh("registration", "registration_access_token"), "registration_access_token is missing or not new"),
    unless(textField(body, "registration_client_uri") !== null, "registration_client_uri is missing"),
    unless(expect.hasSecret ? fresh("secret", "client_secret") : secret === null, "client_secret is wrong"),
    unless(
      Array.isArray(grants) && [...grants].sort().join(" ") === [...expect.grants].sort().join(" "),
      `grant_types are not ${expect.grants.join(" ")}`
    )
  )
}

/** RFC 9126 §2.2. */
const pushed = (comparing: Comparing): Complaint => {
  const { ledger, response, step } = comparing
  const body = jsonOf(response)
  return first(
    status(comparing, 201),
    noRedirect(comparing),
    notStored(comparing),
    unless(isNew(ledger, `request#${step.id}`, textField(body, "request_uri")), "request_uri is missing or not new"),
    unless(body?.expires_in === pushedTtl / 1000, `expires_in is not ${pushedTtl / 1000}`)
  )
}

/** RFC 8628 §3.2. */
const deviceWaits = (comparing: Comparing, { issuer }: Expectation & { readonly _tag: "DeviceWaits" }): Complaint => {
  const { ledger, response, step } = comparing
  const body = jsonOf(response)
  const code = textField(body, "user_code")
  const page = `${issuer}/device`
  const isNewHere = (name: string, text: string | null) => isNew(ledger, `${name}#${step.id}`, text)
  return first(
    status(comparing, 200),
    noRedirect(comparing),
    notStored(comparing),
    unless(isNewHere("device code", textField(body, "device_code")), "device_code is missing or not new"),
    unless(isNewHere("user code", code), "user_code is missing or not new"),
    unless(textField(body, "verification_uri") === page, `verification_uri is not ${page}`),
    unless(
      textField(body, "verification_uri_complete") === `${page}?user_code=${code}`,
      "verification_uri_complete does not bring the code"
    ),
    unless(body?.expires_in === deviceTtl / 1000, `expires_in is not ${deviceTtl / 1000}`),
    unless(body?.interval === pollInterval / 1000, `interval is not ${pollInterval / 1000}`)
  )
}

const refused = (comparing: Comparing, expect: Expectation & { readonly _tag: "Refused" }): Complaint => {
  const error = textField(jsonOf(comparing.response), "error")
  return first(
    status(comparing, ...expect.status),
    noRedirect(comparing),
    unless(error !== null && expect.error.includes(error), `error is not ${expect.error.join(" or ")}`),
    notStored(comparing)
  )
}

const sentBack = (comparing: Comparing, expect: Expectation & { readonly _tag: "SentBack" }): Complaint => {
  const { response, ledger, step } = comparing
  const location = locationOf(response)
  const separator = expect.to.includes("?") ? "&" : "?"
  const error = location?.parameters.get("error") ?? null
  const code = location?.parameters.get("code") ?? null
  return first(
    status(comparing, 302, 303),
    unless(location?.text.startsWith(`${expect.to}${separator}`) === true, `Location is not ${expect.to}`),
    unless((location?.parameters.get("state") ?? null) === expect.state, "state is not what was sent"),
    unless(location?.parameters.get("iss") === expect.issuer, `iss is not ${expect.issuer}`),
    expect.error === null
      ? first(
          unless(error === null, "there is an error"),
          unless(isNew(ledger, `code#${step.id}`, code), "code is missing or not new")
        )
      : first(
          unless(code === null, "there is a code"),
          unless(error !== null && expect.error.includes(error), `error is not ${expect.error.join(" or ")}`)
        )
  )
}

const refreshIs = (
  { step, earlier, ledger }: Comparing,
  text: string | null,
  expected: "none" | "new" | { readonly sameAs: number }
): Complaint => {
  if (expected === "none") return unless(text === null, "there is a refresh_token")
  // What went out in an answer that was lost is seen here for the first time.
  if (expected === "new" || !ledger.has(`refresh#${expected.sameAs}`))
    return unless(isNew(earlier, `refresh#${step.id}`, text), "refresh_token is missing or not new")
  const same = text !== null && text === ledger.get(`refresh#${expected.sameAs}`)
  return unless(same, `refresh_token is not that of #${expected.sameAs}, byte for byte`)
}

const firstHalf = (bytes: Uint8Array): Uint8Array => bytes.slice(0, bytes.length / 2)

/** All that an ID token may tell, the name where that was asked for. */
const told = new Set(["iss", "sub", "aud", "exp", "iat", "at_hash", "auth_time", "nonce", "sid", "name"])

const idTokenIs = ({ ledger }: Comparing, body: JsonObject | null, expected: Identity | null): Complaint => {
  if (expected === null) return unless(body?.id_token === undefined, "there is an id_token that nobody asked for")
  const read = readSigned(textField(body, "id_token"))
  if (read === null) return "id_token is missing, or nobody signed it"
  const { claims, header } = read
  const { authTime, client, issuer, nonce, now, sameSession, tellsName, user } = expected
  const hash = base64Url(firstHalf(sha256(new TextEncoder().encode(textField(body, "access_token") ?? ""))))
  const session = sameSession === null ? undefined : ledger.get(`sid#${sameSession}`)
  const isLeftOut = claims.nonce === undefined && (nonce === null || !expected.isFirst)
  return first(
    // OpenID Connect Dynamic Client Registration §2: of a client that registers for no other.
    unless(header.typ === "JWT" && header.alg === "RS256", "the header of id_token is not that of an ID token"),
    unless(claims.iss === issuer, `iss is not ${issuer}`),
    unless(claims.sub === user, `sub of id_token is not ${user}`),
    unless(claims.aud === ledger.get(`client#${client}`), "aud of id_token is another's"),
    unless(claims.iat === now && Number(claims.exp) > now, "id_token is not of now"),
    unless(claims.at_hash === hash, "at_hash is not of the access token"),
    unless(isLeftOut || claims.nonce === nonce, `nonce is not ${nonce}`),
    unless(claims.name === (tellsName ? nameOf(user) : undefined), "name of id_token is not as it was asked for"),
    unless(claims.auth_time === (authTime ?? undefined), `auth_time is not ${authTime}`),
    unless(typeof claims.sid === "string" && (session === undefined || claims.sid === session), "sid is not the same"),
    unless(
      Object.keys(claims).every((name) => told.has(name)),
      "id_token tells what nobody asked for"
    )
  )
}

const tokens = (comparing: Comparing, expect: Expectation & { readonly _tag: "Tokens" }): Complaint => {
  const { response, ledger, step } = comparing
  const body = jsonOf(response)
  const type = expect.boundTo === null ? "Bearer" : "DPoP"
  return first(
    status(comparing, 200),
    noRedirect(comparing),
    notStored(comparing),
    unless(textField(body, "token_type")?.toLowerCase() === type.toLowerCase(), `token_type is not ${type}`),
    unless(isNew(ledger, `access#${step.id}`, textField(body, "access_token")), "access_token is missing or not new"),
    unless(body?.expires_in === expect.expiresIn, `expires_in is not ${expect.expiresIn}`),
    scopeIs(body, expect.scope),
    // RFC 8693 §2.2.1.
    unless(
      textField(body, "issued_token_type") === (step._tag === "Exchange" ? accessTokenType : null),
      "issued_token_type is not that of an access token, or of no exchange"
    ),
    refreshIs(comparing, textField(body, "refresh_token"), expect.refresh),
    idTokenIs(comparing, body, expect.identity),
    formatIs(comparing, textField(body, "access_token"), expect.readable)
  )
}

const audienceIs = (body: JsonObject | null, resource: string | null, issuer: string): boolean => {
  const found = body?.aud
  if (found === undefined) return resource === null
  const named: ReadonlyArray<unknown> = Array.isArray(found) ? found : [found]
  const told = named.map((one) => (typeof one === "string" ? sameResource(one) : ""))
  return told.toSorted().join(" ") === (resource ?? issuer).split(" ").toSorted().join(" ")
}

const unknown = (comparing: Comparing): Complaint => {
  const body = jsonOf(comparing.response)
  return first(
    status(comparing, 200),
    unless(JSON.stringify(body) === '{"active":false}', 'the answer is not {"active":false} and nothing else')
  )
}

/** RFC 8693 §4.1: within each actor stands the one that acted before. */
const actIs = (ledger: Ledger, act: unknown, [last, ...before]: ReadonlyArray<Ref>): boolean => {
  if (last === undefined) return act === undefined
  if (typeof act !== "object" || act === null || !("sub" in act)) return false
  const inner = "act" in act ? act.act : undefined
  return act.sub === ledger.get(`client#${last}`) && actIs(ledger, inner, before)
}

const worthIs = (
  comparing: Comparing,
  expect: Worth,
  body: JsonObject | null = jsonOf(comparing.response)
): Complaint => {
  return first(
    scopeIs(body, expect.scope),
    unless(textField(body, "client_id") === comparing.ledger.get(`client#${expect.client}`), "client_id is another's"),
    unless(expect.user === null || textField(body, "sub") === expect.user, `sub is not ${expect.user}`),
    unless(actIs(comparing.ledger, body?.act, expect.actors), `act is not of ${expect.actors.join(", ") || "nobody"}`),
    unless(textField(body, "place") === expect.place, `place is not ${expect.place}`),
    unless(audienceIs(body, expect.resource, expect.issuer), `aud is not ${expect.resource}`),
    unless(
      JSON.stringify(body?.cnf) ===
        (expect.boundTo === null ? undefined : JSON.stringify({ jkt: jktOf(expect.boundTo) })),
      `cnf is not of the key ${expect.boundTo}`
    )
  )
}

/** All that an access token may say (RFC 9068 §2.2, RFC 9470 §6.1): nothing of a person but the id. */
const readable = new Set(
  "iss sub aud client_id exp iat jti scope implied_scope cnf principal act place auth_time acr grant ref".split(" ")
)

const formatIs = (comparing: Comparing, text: string | null, expect: Readable | null): Complaint => {
  const read = readSigned(text)
  if (expect === null) return unless(read === null, "the access token says what nobody asked it to")
  if (read === null) return "the access token is no JWT, or nobody signed it"
  const { claims, header } = read
  const seconds = (at: number) => Math.floor(at / 1000)
  return first(
    unless(header.typ === "at+jwt" && header.alg === "ES256", "the header is not that of a JWT access token"),
    unless(claims.iss === expect.issuer, `iss of the access token is not ${expect.issuer}`),
    unless(claims.sub === (expect.user ?? claims.client_id), "sub of the access token is another's"),
    unless(claims.iat === seconds(expect.issuedAt), "iat of the access token is not now"),
    unless(claims.exp === seconds(expect.expiresAt), "exp of the access token is not its end"),
    unless(typeof claims.jti === "string" && claims.jti !== "", "the access token has no jti"),
    unless(
      Object.keys(claims).every((name) => readable.has(name)),
      "the access token tells more than it may"
    ),
    worthIs(comparing, expect, claims)
  )
}

const known = (comparing: Comparing, expect: Expectation & { readonly _tag: "Known" }): Complaint =>
  first(
    status(comparing, 200),
    unless(jsonOf(comparing.response)?.active === true, "it is not active"),
    worthIs(comparing, expect)
  )

const admitted = (comparing: Comparing, expect: Expectation & { readonly _tag: "Admitted" }): Complaint => {
  const body = jsonOf(comparing.response)
  const sub = textField(body, "sub")
  const { tellsName } = expect
  return first(
    status(comparing, 200),
    unless(
      tellsName === null || textField(body, "name") === (tellsName ? nameOf(sub ?? "") : null),
      `the name is ${tellsName === true ? "not told" : "told"}`
    ),
    unless(expect.user === null || sub === expect.user, `sub is not ${expect.user}`),
    expect.worth === null ? null : worthIs(comparing, expect.worth)
  )
}

const turnedAway = (comparing: Comparing, expect: Expectation & { readonly _tag: "Turned away" }): Complaint => {
  const challenge = headerOf(comparing.response, "www-authenticate") ?? ""
  return first(
    status(comparing, expect.status),
    noRedirect(comparing),
    unless(/^(Bearer|DPoP)\b/.test(challenge), "WWW-Authenticate is neither Bearer nor DPoP"),
    unless(
      expect.error === null
        ? !challenge.includes("error=")
        : expect.error.some((error) => challenge.includes(`error="${error}"`)),
      expect.error === null ? "the challenge names an error" : `the challenge names none of ${expect.error.join(", ")}`
    )
  )
}

const forbidden = (comparing: Comparing): Complaint => {
  const challenge = headerOf(comparing.response, "www-authenticate") ?? ""
  return first(
    status(comparing, 403),
    unless(challenge.includes('error="insufficient_scope"'), "the challenge does not name insufficient_scope"),
    unless(/\bscope="[^"]+"/.test(challenge), "the challenge does not name the scope")
  )
}

const page = (comparing: Comparing): Complaint =>
  first(
    noRedirect(comparing),
    unless(comparing.response.status < 500, "the server failed"),
    unless(headerOf(comparing.response, "content-type")?.startsWith("text/html") === true, "it is no page"),
    unless(readConsentForm(comparing.response.body) === null, "there is a consent form")
  )

const signedOut = (comparing: Comparing, { back }: Expectation & { readonly _tag: "SignedOut" }): Complaint => {
  if (back === null) {
    const asks = readSignOutForm(comparing.response.body) !== null
    return first(page(comparing), status(comparing, 200), unless(!asks, "it is asked first"))
  }
  const location = locationOf(comparing.response)
  return first(
    status(comparing, 302, 303),
    unless(location?.text.startsWith(byeAddress) === true, `Location is not ${byeAddress}`),
    unless((location?.parameters.get("state") ?? null) === back.state, "state is not what was sent")
  )
}

const consentPage = (comparing: Comparing): Complaint =>
  first(
    status(comparing, 200),
    noRedirect(comparing),
    unless(readConsentForm(comparing.response.body) !== null, "there is no consent form")
  )

/** Either drawn at once, or the browser is sent to where it is drawn. */
const consentAgain = (comparing: Comparing, { issuer }: Expectation & { readonly _tag: "ConsentAgain" }): Complaint => {
  const location = locationOf(comparing.response)
  if (location === null) {
    return first(
      status(comparing, 400),
      unless(readConsentForm(comparing.response.body) !== null, "there is no consent form")
    )
  }
  const { origin, pathname } = new URL(location.text, issuer)
  return first(
    status(comparing, 302, 303),
    unless(
      origin === new URL(issuer).origin && pathname.endsWith("/oauth/authorize"),
      "Location is not where the page is drawn"
    ),
    unless(!location.parameters.has("code"), "there is a code")
  )
}

/** Why an answer is not the expected one; `null` where it is. */
export const mismatch = (expect: Expectation, comparing: Comparing): Complaint => {
  switch (expect._tag) {
    case "Registered":
      return registered(comparing, expect)
    case "Refused":
      return refused(comparing, expect)
    case "Pushed":
      return pushed(comparing)
    case "Away":
      return first(
        status(comparing, 503),
        noRedirect(comparing),
        unless(headerOf(comparing.response, "retry-after") !== null, "it is not told when to come again")
      )
    case "Published":
    case "Attested":
      return status(comparing, 200)
    case "Answered":
      return first(
        status(comparing, 200),
        unless(jsonOf(comparing.response)?.outcome === expect.outcome, `the owner is not told ${expect.outcome}`)
      )
    case "DeviceWaits":
      return deviceWaits(comparing, expect)
    case "ConsentPage":
      return consentPage(comparing)
    case "ConsentAgain":
      return consentAgain(comparing, expect)
    case "Page":
      return first(
        page(comparing),
        unless(expect.refuses !== true || comparing.response.status >= 400, "it is no refusal")
      )
    case "SentToSignIn":
      return first(
        status(comparing, 302, 303),
        unless(locationOf(comparing.response)?.parameters.has("return_to") === true, "Location is not the sign-in")
      )
    case "AsksToSignOut":
      return first(
        status(comparing, 200),
        unless(readSignOutForm(comparing.response.body) !== null, "nobody is asked whether they want to sign out")
      )
    case "SignedOut":
      return signedOut(comparing, expect)
    case "SentBack":
      return sentBack(comparing, expect)
    case "Tokens":
      return tokens(comparing, expect)
    case "Unknown":
      return unknown(comparing)
    case "Known":
      return known(comparing, expect)
    case "Done":
      return first(status(comparing, expect.status), noRedirect(comparing))
    case "Admitted":
      return admitted(comparing, expect)
    case "Turned away":
      return turnedAway(comparing, expect)
    case "Forbidden":
      return forbidden(comparing)
    case "Silence":
      return "there is an answer where none was asked"
  }
}
