import { Effect, Result } from "effect"
import { LruMap } from "../cache/LruMap.ts"
import type { Client } from "../client/Client.ts"
import { signedFor } from "../client/Profile.ts"
import { readJws, type UnverifiedJws } from "../codec/Jws.ts"
import type { Grant } from "../grant/Grant.ts"
import type { Tokens } from "../grant/issue.ts"
import { claimsOf, jwtType } from "../grant/jwtAccessToken.ts"
import type { Signatures } from "../ports/Signatures.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"
import { algorithms } from "../rules/Jwk.ts"
import type { Policy } from "../rules/Policy.ts"
import { InvalidToken, PortUnavailable } from "../rules/Refusal.ts"
import { digestOf } from "../rules/Secret.ts"
import type { Keys } from "../token/KeyRing.ts"
import { type AccessToken, openReference, sealReference } from "../token/Token.ts"
import type { OpenWorkspace } from "../workspace/Workspace.ts"
import type { Signing, SigningFault } from "./Signing.ts"

/** Writes an access token of this grant. */
export type WriteJwt = (
  grant: Grant | undefined,
  tokens: Tokens,
  client: Client
) => Effect.Effect<string, PortUnavailable>

/** Access tokens that others can read (RFC 9068), and the server by what it sealed into them. */
export interface JwtTokens {
  /** Asked for before anything is spent for a token: there is a key, and it signs. */
  readonly writer: (
    workspace: OpenWorkspace,
    by: Client,
    policy: Policy,
    now: Instant
  ) => Effect.Effect<WriteJwt, SigningFault>
  /** What it says, if one of our keys that is published signed it. */
  readonly open: (
    workspace: OpenWorkspace,
    text: string,
    now: Instant
  ) => Effect.Effect<AccessToken, InvalidToken | StorageUnavailable>
}

/** Where no other token of ours begins so: the base64url of `{"`. */
export const isJwt = (text: string): boolean => text.startsWith("ey") && text.includes(".")

interface Verified {
  readonly kid: string
}

/** By digest: no token stays in memory for it. */
const verifiedKept = 4096

const invalid = (reason: InvalidToken["reason"]) => Effect.fail(new InvalidToken({ reason }))

interface Parts {
  readonly keys: Keys["Service"]
  readonly signatures: Signatures["Service"]
  readonly signing: Signing
}

export const makeJwtTokens = ({ keys, signatures, signing }: Parts): JwtTokens => {
  const verified = new LruMap<string, Verified>(verifiedKept)

  const verify = (workspace: OpenWorkspace, jws: UnverifiedJws, kid: string, now: Instant) =>
    Effect.flatMapEager(signing.verifying(workspace, kid, now), (published): Effect.Effect<void, InvalidToken> => {
      const own = published.filter((key) => key.kid === kid)
      if (own.length === 0) return invalid("unknown_key")
      const name = `${workspace.id} ${digestOf(jws.text)}`
      if (verified.get(name)?.kid === kid) return Effect.void
      return Effect.mapBothEager(signatures.verify(jws, own, algorithms), {
        onFailure: () => new InvalidToken({ reason: "forged" }),
        onSuccess: () => verified.set(name, { kid })
      })
    })

  return {
    writer: (workspace, by, policy, now) => {
      const { accessTtl: life, scopes: registry } = policy
      const algorithm = signedFor(by, policy, policy.jwtAlgorithm)
      return Effect.mapEager(
        signing.ready(workspace, { algorithm, life }, now),
        (sign): WriteJwt =>
          (grant, tokens, client) => {
            if (grant?._tag !== "Active" && grant?._tag !== "Standing") {
              return Effect.fail(new PortUnavailable({ port: "signatures", reason: "no_grant" }))
            }
            const ref = sealReference(keys.current(), workspace, tokens.access)
            return sign({ typ: jwtType }, claimsOf(workspace, registry, grant, tokens, client, ref, now))
          }
      )
    },
    open: (workspace, text, now) => {
      const jws = readJws(text)
      if (jws === undefined) return invalid("malformed")
      const { claims, header } = jws
      if (header.typ !== jwtType) return invalid("wrong_kind")
      if (typeof claims.ref !== "string" || typeof header.kid !== "string") return invalid("malformed")
      // What strangers make up has no seal: it costs neither a signature nor a look at the store.
      const token = openReference(keys.current(), workspace, claims.ref, now)
      if (Result.isFailure(token)) return invalid(token.failure)
      return Effect.mapEager(verify(workspace, jws, header.kid, now), () => token.success)
    }
  }
}
