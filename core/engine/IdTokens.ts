import { Effect, Option } from "effect"
import { type Client, identifierOf } from "../client/Client.ts"
import { idTokenAlgorithmOf } from "../client/openIdMembers.ts"
import type { Members } from "../codec/Json.ts"
import { readJws } from "../codec/Jws.ts"
import { type Identity, idTokenClaims, idTokenType } from "../grant/idToken.ts"
import type { ResourceOwner } from "../ports/ResourceOwner.ts"
import { Signatures } from "../ports/Signatures.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { toldClaims } from "../rules/Claims.ts"
import type { Instant, Millis } from "../rules/Instant.ts"
import { algorithms } from "../rules/Jwk.ts"
import type { Policy } from "../rules/Policy.ts"
import type { PortUnavailable } from "../rules/Refusal.ts"
import type { OpenWorkspace } from "../workspace/Workspace.ts"
import type { Signing, SigningFault } from "./Signing.ts"
import { keptAt } from "./signingKeys.ts"

/** Writes the ID token that stands beside an access token. */
export type WriteIdToken = (accessToken: string) => Effect.Effect<string, PortUnavailable>

/** Whom an ID token named, and to which client: no more is believed of one that comes back. */
export interface Hinted {
  readonly user: string
  readonly client: string
  readonly sid: string | undefined
}

/** ID tokens (OpenID Connect Core §2): what a client learns of a sign-in, signed. */
export interface IdTokens {
  /** Asked for before anything is spent for it: the key signs, and what is to be told of the person is here. */
  readonly writer: (
    workspace: OpenWorkspace,
    client: Client,
    identity: Identity,
    life: Millis,
    now: Instant
  ) => Effect.Effect<WriteIdToken, SigningFault>
  /** OpenID Connect Core §3.1.2.1: one of ours as a hint, expired or not; `undefined` where it is none of ours. */
  readonly hinted: (
    workspace: OpenWorkspace,
    text: string,
    now: Instant
  ) => Effect.Effect<Hinted | undefined, StorageUnavailable>
}

interface Parts {
  readonly owner: ResourceOwner["Service"]
  readonly policy: Pick<Policy, "profile">
  readonly signatures: Signatures["Service"]
  readonly signing: Signing
}

const nothing: Members = {}

export const makeIdTokens = ({ owner, policy, signatures, signing }: Parts): IdTokens => {
  const told = (workspace: OpenWorkspace, { authentication: { claims = [] }, user }: Identity) =>
    claims.length === 0
      ? Effect.succeed(nothing)
      : Effect.map(
          owner.profile(workspace, user),
          Option.match({
            onNone: () => nothing,
            onSome: (profile) => toldClaims(profile, (claim) => claims.includes(claim))
          })
        )

  return {
    writer: (workspace, client, identity, life, now) => {
      const algorithm = idTokenAlgorithmOf(client, policy)
      return Effect.flatMapEager(signing.ready(workspace, { algorithm, life }, now), (sign) =>
        Effect.mapEager(
          told(workspace, identity),
          (more): WriteIdToken =>
            (accessToken) =>
              sign(
                { typ: idTokenType },
                idTokenClaims(workspace.issuer, identity, identifierOf(client), accessToken, algorithm, life, now, more)
              )
        )
      )
    },
    hinted: (workspace, text, now) => {
      const jws = readJws(text)
      if (signatures === Signatures.none || jws === undefined) return Effect.succeed(undefined)
      const { claims, header } = jws
      const { aud, iss, sid, sub } = claims
      const { kid, typ } = header
      if (typ !== idTokenType || typeof kid !== "string") return Effect.succeed(undefined)
      if (iss !== workspace.issuer || typeof sub !== "string" || typeof aud !== "string")
        return Effect.succeed(undefined)
      return Effect.flatMap(signing.verifying(workspace, kid, now, keptAt), (kept) => {
        const own = kept.filter((key) => key.kid === kid)
        if (own.length === 0) return Effect.succeed(undefined)
        const hinted: Hinted = { user: sub, client: aud, sid: typeof sid === "string" ? sid : undefined }
        return Effect.match(signatures.verify(jws, own, algorithms), {
          onFailure: () => undefined,
          onSuccess: () => hinted
        })
      })
    }
  }
}
