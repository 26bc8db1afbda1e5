import { Schema } from "effect"
import { type Millis, second } from "../rules/Instant.ts"
import { type Algorithm, algorithms, isAlgorithm, readJwkSet, sameAlgorithm, someFits } from "../rules/Jwk.ts"
import { type Policy, ProfileName } from "../rules/Policy.ts"
import { matchRedirectUri, type RedirectTarget } from "../rules/RedirectUri.ts"
import { type Client, isPublic } from "./Client.ts"
import { clientMember } from "./ClientMember.ts"

/**
 * What a client is held to beyond what the protocol asks of all: a rule is a column, a profile is a row. The check of a
 * rule reads its column and never a profile's name.
 */
export interface Profile {
  readonly name: ProfileName
  /** For an owner. */
  readonly title: string
  /** RFC 7636 §4.3: every authorization request brings a code challenge. */
  readonly challenge: boolean
  /** RFC 9126 §5: every authorization request is pushed. */
  readonly push: boolean
  /** The `token_endpoint_auth_method`s that count; `null` are all. */
  readonly methods: ReadonlyArray<string> | null
  /** What its client may sign by, assertions and request objects, and the server for it; `null` is all that there is. */
  readonly algorithms: ReadonlyArray<Algorithm> | null
  /** Whether an assertion may name, as its audience, the endpoint that it is for. The issuer it always may. */
  readonly endpointAudience: boolean
  /** RFC 6749 §4.1.2: the longest life of a code; `null` where the policy alone says it. */
  readonly codeTtl: Millis | null
  /** RFC 9700 §4.14.2: whether each refresh spends its token. */
  readonly rotation: boolean
  /** RFC 9449: whether its tokens have to be bound to a key. */
  readonly dpop: boolean
  /** Whether a redirect URI may be another than https. */
  readonly otherRedirects: boolean
  /** Grant types that its client may not use. */
  readonly refuses: ReadonlyArray<string>
}

/** RFC 8628 §3.4. */
export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

/** From the least strict to the strictest. */
const profiles: Readonly<Record<ProfileName, Profile>> = {
  standard: {
    name: "standard",
    title: "Standard",
    challenge: false,
    push: false,
    methods: null,
    algorithms: null,
    endpointAudience: true,
    codeTtl: null,
    rotation: true,
    dpop: false,
    otherRedirects: true,
    refuses: []
  },
  /** FAPI 2.0 Security Profile §5.3.2 and §5.4. Every client gets the `iss` of an authorization response (RFC 9207). */
  fapi2: {
    name: "fapi2",
    title: "FAPI 2.0 Security Profile",
    challenge: true,
    push: true,
    methods: ["private_key_jwt"],
    algorithms: ["PS256", "ES256", "EdDSA", "Ed25519"],
    endpointAudience: false,
    codeTtl: 60 * second,
    // A lost answer would lock the client out; a stolen token is of no use without the client's key.
    rotation: false,
    dpop: true,
    otherRedirects: false,
    // The person who enters a code cannot know which device it is from.
    refuses: [deviceGrant]
  }
}

const ranks = Object.keys(profiles)

export const stricter = (one: ProfileName, other: ProfileName): ProfileName =>
  ranks.indexOf(one) < ranks.indexOf(other) ? other : one

/** The profile of every client of this server that has no stricter one. */
export const leastProfile = ({ profile }: Pick<Policy, "profile">): Profile => profiles[profile]

/** Those that make a difference to a client of this server, the least strict first. */
export const profilesFor = ({ profile }: Pick<Policy, "profile">): ReadonlyArray<Profile> =>
  Object.values(profiles).filter(({ name }) => stricter(profile, name) === name)

export const profileOf = (client: Pick<Client, "members">, policy: Pick<Policy, "profile">): Profile => {
  const own = securityProfile.of(client)
  return profiles[own === undefined ? policy.profile : stricter(policy.profile, own)]
}

/** RFC 9700 §2.1.1: a client that cannot prove itself otherwise always brings a challenge. */
export const needsChallenge = (client: Client, policy: Policy): boolean =>
  policy.requirePkce || isPublic(client) || profileOf(client, policy).challenge

/** RFC 9126 §5 and §6. */
export const needsPush = (client: Client, policy: Policy): boolean =>
  policy.requirePush ||
  profileOf(client, policy).push ||
  requirePushedRequests.of(client) === true ||
  needsSignedRequest(client)

/** RFC 9101 §10.5. A request object is taken where requests are pushed, and nowhere else. */
export const needsSignedRequest = (client: Client): boolean => requireSignedRequests.of(client) === true

/** RFC 9449: whether every token of the server is bound to a key, so that resources take no other. */
export const bindsAll = (policy: Pick<Policy, "dpop" | "profile">): boolean =>
  policy.dpop === "required" || leastProfile(policy).dpop

/** RFC 9449 §5: whether a request for tokens has to prove a key, which they are bound to. */
export const needsProof = (client: Client, policy: Policy): boolean =>
  policy.dpop === "required" || profileOf(client, policy).dpop || dpopBoundAccessTokens.of(client) === true

const isHttps = (uri: string): boolean => /^https:/i.test(uri)

/** A request's redirect URI, where it is one of its client's, and one that the client's profile has by now. */
export const redirectTargetOf = (
  client: Pick<Client, "members" | "redirectUris">,
  policy: Pick<Policy, "profile">,
  presented: string
): RedirectTarget | undefined =>
  profileOf(client, policy).otherRedirects || isHttps(presented)
    ? matchRedirectUri(client.redirectUris, presented)
    : undefined

/** What a registration comes to, as it was sent or as it is told. */
export interface Registration {
  readonly method: string
  readonly redirectUris: ReadonlyArray<string>
  /** Its other members by name. */
  readonly members: Readonly<Record<string, unknown>>
}

const named = (names: ReadonlyArray<string>): string => names.join(", ")

/** RFC 9864 §2.2: whichever of its names an algorithm goes by. */
export const maySignBy = ({ algorithms: taken }: Profile, algorithm: Algorithm): boolean =>
  taken === null || taken.some((one) => sameAlgorithm(one, algorithm))

/** FAPI 2.0 §5.4.1: what the server signs by for this client: as it asks where its profile has that, else the usual. */
export const signedFor = <A extends Algorithm>(
  client: Pick<Client, "members">,
  policy: Pick<Policy, "profile">,
  asked: A
): A | "ES256" => (maySignBy(profileOf(client, policy), asked) ? asked : "ES256")

/** What its client may sign by, as metadata and refusals name it. */
export const algorithmsOf = ({ algorithms: taken }: Profile): ReadonlyArray<Algorithm> => taken ?? algorithms

/** What ID tokens and answers of userinfo are signed by, where a client registers for it. */
export const openIdAlgorithms = ["ES256", "RS256", "EdDSA"] as const satisfies ReadonlyArray<Algorithm>

/** Members by which a client says what it signs by, and what the server signs by for it, with what there is for each. */
const algorithmMembers: ReadonlyArray<readonly [name: string, taken: ReadonlyArray<Algorithm>]> = [
  ["token_endpoint_auth_signing_alg", algorithms],
  ["request_object_signing_alg", algorithms],
  ["id_token_signed_response_alg", openIdAlgorithms],
  ["userinfo_signed_response_alg", openIdAlgorithms]
]

const signingFault = (profile: Profile, { members }: Registration): string | undefined => {
  const { jwks } = members
  for (const [name, taken] of algorithmMembers) {
    const asked = members[name]
    if (isAlgorithm(asked) && !maySignBy(profile, asked))
      return `The ${name} has to be one of these: ${named(taken.filter((one) => maySignBy(profile, one)))}.`
  }
  return profile.algorithms === null || hasKeyFor(jwks, profile.algorithms)
    ? undefined
    : `No key of the jwks is one for these algorithms: ${named(profile.algorithms)}.`
}

/** False where a set of keys has none by which its client may sign so. Of no set, or of what is none, others judge. */
const hasKeyFor = (jwks: unknown, taken: ReadonlyArray<Algorithm>): boolean => {
  const keys = jwks === undefined ? undefined : readJwkSet(jwks)
  return keys?._tag !== "Success" || someFits(keys.success, taken)
}

/** The rules of a profile that a client with this registration would break, in words for its developer. */
export const brokenRules = (profile: Profile, registration: Registration): ReadonlyArray<string> => {
  const { method, redirectUris } = registration
  const broken: Array<string> = []
  if (profile.methods !== null && !profile.methods.includes(method)) {
    broken.push(`The token_endpoint_auth_method has to be one of these: ${named(profile.methods)}.`)
  }
  const signing = signingFault(profile, registration)
  if (signing !== undefined) broken.push(signing)
  if (!profile.otherRedirects && !redirectUris.every(isHttps)) {
    broken.push("Each of the redirect_uris has to be https.")
  }
  const { grant_types: asked } = registration.members
  if (Array.isArray(asked) && profile.refuses.some((name) => asked.includes(name))) {
    broken.push(`None of the grant_types may be one of these: ${named(profile.refuses)}.`)
  }
  return broken
}

const ownersOnly = "The security_profile can be loosened by an owner only: send it again as it was told."

/** Any client may ask for a stricter profile; it does not come out of it by itself, nor by leaving the member out. */
export const securityProfile = clientMember<ProfileName>({
  name: "security_profile",
  schema: ProfileName.annotate({ description: "What the client is held to: fapi2 is the FAPI 2.0 Security Profile." }),
  fault: (asked = "standard", { by, kept = "standard", method, policy, request }) => {
    if (by !== "owner" && stricter(asked, kept) !== asked) return ownersOnly
    const profile = profiles[stricter(policy.profile, asked)]
    const { redirect_uris: uris } = request
    const redirectUris = Array.isArray(uris) ? uris.map(String) : []
    const [broken] = brokenRules(profile, { method, redirectUris, members: request })
    return broken === undefined ? undefined : `${broken} The profile ${profile.name} asks for it.`
  }
})

/** RFC 9126 §6. */
export const requirePushedRequests = clientMember({
  name: "require_pushed_authorization_requests",
  schema: Schema.Boolean.annotate({
    description: "RFC 9126: whether the client's authorization requests count only where it pushed them."
  })
})

/** RFC 9449 §5.2. */
export const dpopBoundAccessTokens = clientMember({
  name: "dpop_bound_access_tokens",
  signs: true,
  schema: Schema.Boolean.annotate({
    description: "RFC 9449: whether all of the client's access tokens are bound to a key of its own."
  })
})

const hasKeys = ({ jwks, jwks_uri }: Readonly<Record<string, unknown>>): boolean =>
  jwks !== undefined || jwks_uri !== undefined

/** RFC 9101 §10.5. */
export const requireSignedRequests = clientMember({
  name: "require_signed_request_object",
  schema: Schema.Boolean.annotate({
    description:
      "RFC 9101: whether the client's authorization requests count only where it pushed them as a signed object."
  }),
  // Each of its requests would be refused: keys beside a secret are kept by no method.
  fault: (asked, { request, signs }) => {
    if (asked !== true) return undefined
    if (!signs || !hasKeys(request)) {
      return "A client that signs its requests registers jwks, or a jwks_uri, and authenticates by private_key_jwt."
    }
    const { jwks, request_object_signing_alg: algorithm } = request
    return isAlgorithm(algorithm) && !hasKeyFor(jwks, [algorithm])
      ? "No key of the jwks is one for the request_object_signing_alg."
      : undefined
  }
})

/** OpenID Connect Registration §2. */
export const requestObjectAlgorithm = clientMember<Algorithm>({
  name: "request_object_signing_alg",
  signs: true,
  schema: Schema.Literals(algorithms).annotate({ description: "RFC 9101: what the client signs its requests by." })
})
