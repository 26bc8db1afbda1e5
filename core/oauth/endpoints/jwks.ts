import { Effect, Schema } from "effect"
import { idTokenAlgorithmOf } from "../../client/openIdMembers.ts"
import { signedFor } from "../../client/Profile.ts"
import { publishedAt, publishedFor } from "../../engine/signingKeys.ts"
import { empty, json } from "../../http/answer.ts"
import type { HeaderPairs } from "../../http/Http.ts"
import { bound, type Contract, type Endpoint, type HandlerOf, type Services } from "../../http/Route.ts"
import type { RegistrationPolicy } from "../../ports/RegistrationPolicy.ts"
import { Signatures } from "../../ports/Signatures.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import type { Algorithm } from "../../rules/Jwk.ts"
import type { Policy } from "../../rules/Policy.ts"
import { Contended, PortUnavailable } from "../../rules/Refusal.ts"
import { offersOpenId } from "../../rules/Scope.ts"
import { digestOf } from "../../rules/Secret.ts"
import { policyAt } from "../../workspace/Workspace.ts"

/** RFC 7517 §5. */
const JwkSet = Schema.Struct({
  keys: Schema.Array(
    Schema.StructWithRest(
      Schema.Struct({
        kty: Schema.String,
        kid: Schema.String,
        alg: Schema.String,
        use: Schema.Literal("sig")
      }),
      [Schema.Record(Schema.String, Schema.Unknown)]
    )
  )
}).annotate({ identifier: "JwkSet" })

const lasting = (etag: string): HeaderPairs => [
  ["cache-control", `public, max-age=${publishedFor / 1000}`],
  ["etag", etag]
]

const sampleTag = '"a"'

const jwksContract = {
  id: "jwks",
  summary: "The keys that the server signs with",
  description: "RFC 7517. With If-None-Match, keys that are known already are not told again.",
  heading: "Discovery",
  callers: [{ shows: "nothing" }],
  answers: [
    { description: "The public keys.", like: () => json(200, {}, lasting(sampleTag)), body: JwkSet },
    { description: "They are those of this ETag.", like: () => empty(304, lasting(sampleTag)) }
  ],
  faults: [Contended, PortUnavailable, StorageUnavailable]
} as const satisfies Contract

/** RFC 9110 §13.1.2: any of several, compared without their strength. */
const names = (header: string, etag: string): boolean =>
  header.split(",").some((one) => one.trim().replace(/^W\//, "") === etag || one.trim() === "*")

/** What signs unless somebody says otherwise: for resources, and for applications that register themselves. */
const usual = (policy: Policy, { offered }: RegistrationPolicy["Service"]): ReadonlyArray<Algorithm> => {
  const itself = { madeBy: "itself", members: {} } as const
  const forResources = signedFor(itself, policy, policy.jwtAlgorithm)
  return offered && offersOpenId(policy.scopes)
    ? [...new Set([forResources, idTokenAlgorithmOf(itself, policy)])]
    : [forResources]
}

const jwksHandler =
  ({ policy, registration, signing }: Services): HandlerOf<typeof jwksContract> =>
  ({ now, request, workspace }) => {
    const first = usual(policyAt(policy, workspace), registration)
    return Effect.mapEager(signing.published(workspace, first), (found) => {
      const keys = publishedAt(found, now).map(({ algorithm, kid, publicKey }) => ({
        ...publicKey,
        kid,
        alg: algorithm,
        use: "sig" as const
      }))
      const etag = `"${digestOf(keys.map(({ kid }) => kid).join(" "))}"`
      return names(request.headers.get("if-none-match") ?? "", etag)
        ? empty(304, lasting(etag))
        : json(200, { keys } satisfies typeof JwkSet.Type, lasting(etag))
    })
  }

/** RFC 7517 §5, 8414 §2. */
export const jwksEndpoint: Endpoint = {
  path: "/oauth/jwks",
  match: "exact",
  methods: { GET: bound(jwksContract, jwksHandler) },
  errors: "oauth",
  cors: true,
  metadata: { name: "jwks_uri" },
  present: ({ signatures }) => signatures !== Signatures.none
}
