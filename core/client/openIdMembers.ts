import { Schema } from "effect"
import type { Policy } from "../rules/Policy.ts"
import { RedirectUri } from "../rules/RedirectUri.ts"
import { offersOpenId } from "../rules/Scope.ts"
import type { Client, ClientMaker } from "./Client.ts"
import { type ClientMember, clientMember, type MemberStep } from "./ClientMember.ts"
import { leastProfile, maySignBy, openIdAlgorithms, signedFor } from "./Profile.ts"

type OpenIdAlgorithm = (typeof openIdAlgorithms)[number]

/** Those of a server, whose profile may leave some out for every client. */
export const openIdAlgorithmsOf = (policy: Pick<Policy, "profile">): ReadonlyArray<OpenIdAlgorithm> =>
  openIdAlgorithms.filter((algorithm) => maySignBy(leastProfile(policy), algorithm))

const isOpenIdAlgorithm = (value: unknown): value is OpenIdAlgorithm =>
  openIdAlgorithms.some((algorithm) => algorithm === value)

/** A server without `openid` reads none of these rules: clients send such members to every server. */
const where =
  <A>(fault: (value: A, step: MemberStep<A>) => string | undefined) =>
  (value: A | undefined, step: MemberStep<A>): string | undefined =>
    value === undefined || !offersOpenId(step.policy.scopes) ? undefined : fault(value, step)

const algorithmMember = (name: string) =>
  clientMember({
    name,
    schema: Schema.String.check(Schema.isMaxLength(32)).annotate({
      description: `One of these: ${openIdAlgorithms.join(", ")}.`
    }),
    fault: where((value, { policy }) =>
      isOpenIdAlgorithm(value)
        ? undefined
        : `The ${name} has to be one of these: ${openIdAlgorithmsOf(policy).join(", ")}. What is not signed proves nothing.`
    )
  })

const idTokenAlgorithm = algorithmMember("id_token_signed_response_alg")
const userinfoAlgorithm = algorithmMember("userinfo_signed_response_alg")

const known = (value: string | undefined): OpenIdAlgorithm | undefined => (isOpenIdAlgorithm(value) ? value : undefined)

/**
 * OpenID Connect Registration §2: RS256 is what a client means that registers itself and names none. For one that an owner
 * makes, the usual algorithm signs: shorter, and in a tenth of the time.
 */
export const idTokenAlgorithmOf = (
  client: Pick<Client, "madeBy" | "members">,
  policy: Pick<Policy, "profile">
): OpenIdAlgorithm =>
  signedFor(client, policy, known(idTokenAlgorithm.of(client)) ?? (client.madeBy === "itself" ? "RS256" : "ES256"))

/**
 * RFC 7591 §3.2.1: a client that named no algorithm is told which one signs for it, where that is not the one that OpenID
 * Connect Registration §2 has it count on.
 */
export const idTokenAlgorithmGiven = (
  client: Client,
  policy: Pick<Policy, "profile" | "scopes">
): { readonly id_token_signed_response_alg?: OpenIdAlgorithm } => {
  if (idTokenAlgorithm.of(client) !== undefined || !offersOpenId(policy.scopes)) return {}
  const given = idTokenAlgorithmOf(client, policy)
  return given === "RS256" ? {} : { [idTokenAlgorithm.name]: given }
}

/** `undefined`: userinfo is plain JSON for this client. */
export const userinfoAlgorithmOf = (client: Client, policy: Pick<Policy, "profile">): OpenIdAlgorithm | undefined => {
  const asked = known(userinfoAlgorithm.of(client))
  return asked === undefined ? undefined : signedFor(client, policy, asked)
}

const subjectType = clientMember({
  name: "subject_type",
  schema: Schema.String.check(Schema.isMaxLength(32)).annotate({ description: "Always public." }),
  fault: where((value) =>
    value === "public"
      ? undefined
      : "The subject_type has to be public: a person has one id here, by which grants are listed and ended."
  )
})

/** OpenID Connect Core §3.1.2.1: seconds, up to a hundred years: no session lasts longer. */
const MaxAge = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3_155_760_000 }))

export const defaultMaxAge = clientMember({ name: "default_max_age", schema: MaxAge })
export const requireAuthTime = clientMember({ name: "require_auth_time", schema: Schema.Boolean })
export const defaultAcrValues = clientMember({
  name: "default_acr_values",
  schema: Schema.Array(Schema.String.check(Schema.isMaxLength(256))).check(Schema.isMaxLength(20))
})

/** OpenID Connect Core §4: others may send a browser there, so it is no plain http. */
const initiateLogin = clientMember({
  name: "initiate_login_uri",
  schema: Schema.String.check(Schema.isMaxLength(2048), Schema.isPattern(/^https:\/\/[\x21\x23-\x5b\x5d-\x7e]+$/))
})

/** OpenID Connect RP-Initiated Logout §3.1: where a browser may be sent once its person is signed out. */
export const postLogoutRedirectUris = clientMember({
  name: "post_logout_redirect_uris",
  schema: Schema.Array(RedirectUri).check(Schema.isMaxLength(20))
})

/** The host of a web address: what stands there behind a program's own scheme, no person is sent to. */
const hostOf = (uri: unknown): string | undefined =>
  typeof uri === "string" && /^https?:/i.test(uri) && URL.canParse(uri) ? new URL(uri).host : undefined

const isOwnHost = (address: string, redirectUris: unknown): boolean =>
  Array.isArray(redirectUris) && redirectUris.some((uri) => hostOf(uri) === new URL(address).host)

/**
 * OpenID Connect Back-Channel Logout §2.2: the server itself posts there, so it is https, and no stranger names a host
 * that its people are not sent to anyway.
 */
const logoutAddressFault = (address: string, by: ClientMaker, redirectUris: unknown): string | undefined => {
  if (!URL.canParse(address) || new URL(address).username !== "" || new URL(address).password !== "") {
    return "The backchannel_logout_uri has to be an https address without a user and a fragment."
  }
  return by === "itself" && !isOwnHost(address, redirectUris)
    ? "The backchannel_logout_uri has to have the host and port of one of the redirect_uris."
    : undefined
}

const backchannelLogoutUri = clientMember({
  name: "backchannel_logout_uri",
  schema: Schema.String.check(
    Schema.isMaxLength(2048),
    Schema.isPattern(/^https:\/\/[\x21\x24-\x5b\x5d-\x7e]+$/)
  ).annotate({ description: "At the host and port of one of the redirect_uris." }),
  fault: where((value, { by, request }) => logoutAddressFault(value, by, request.redirect_uris))
})

/** Held to its rule again: it may have been registered before people signed in here, when no rule was read. */
export const logoutAddressOf = (client: Client): string | undefined => {
  const address = backchannelLogoutUri.of(client)
  return address === undefined || logoutAddressFault(address, client.madeBy, client.redirectUris) !== undefined
    ? undefined
    : address
}

/** A logout token names the session in any case. */
const backchannelSessionRequired = clientMember({
  name: "backchannel_logout_session_required",
  schema: Schema.Boolean
})

/** What no client gets here, and why: a client that asks for it would count on it. */
const refused = (name: string, why: string) =>
  clientMember({
    name,
    schema: Schema.Unknown.annotate({ description: `Not taken: ${why}.` }),
    // An empty list asks for nothing.
    fault: where((value) =>
      Array.isArray(value) && value.length === 0 ? undefined : `The server does not take ${name}: ${why}.`
    )
  })

const unencrypted = "what it signs is not encrypted as well"

/** The members of OpenID Connect Registration §2 that a row of ours honours, or refuses by name. */
export const openIdMembers: ReadonlyArray<ClientMember> = [
  idTokenAlgorithm,
  userinfoAlgorithm,
  subjectType,
  defaultMaxAge,
  requireAuthTime,
  defaultAcrValues,
  initiateLogin,
  postLogoutRedirectUris,
  backchannelLogoutUri,
  backchannelSessionRequired,
  refused(
    "frontchannel_logout_uri",
    "browsers no longer send cookies to a page in a frame, so nobody would be signed out"
  ),
  refused("sector_identifier_uri", "it is for pairwise subjects, and subjects are public"),
  refused("request_uris", "a request object comes by value"),
  refused("id_token_encrypted_response_alg", unencrypted),
  refused("id_token_encrypted_response_enc", unencrypted),
  refused("userinfo_encrypted_response_alg", unencrypted),
  refused("userinfo_encrypted_response_enc", unencrypted),
  refused("request_object_encryption_alg", "request objects are signed, and sent over TLS"),
  refused("request_object_encryption_enc", "request objects are signed, and sent over TLS")
]
