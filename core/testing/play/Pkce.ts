import { sha256 } from "@noble/hashes/sha2.js"
import { Base64Url } from "effect/encoding"
import type { ChallengeKind, Ref } from "../script/Command.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** The verifier that belongs to an authorization request: 43 unreserved characters. */
export const verifierOf = (authorize: Ref): string => Base64Url.encode(sha256(bytes(`verifier ${authorize}`)))

export const challengeOf = (verifier: string): string => Base64Url.encode(sha256(bytes(verifier)))

/** The parameters that announce a challenge, right or not. */
export const challengeParameters = (kind: ChallengeKind, authorize: Ref): ReadonlyArray<readonly [string, string]> => {
  const verifier = verifierOf(authorize)
  const challenge = challengeOf(verifier)
  const announced = (text: string) =>
    [
      ["code_challenge", text],
      ["code_challenge_method", "S256"]
    ] as const
  switch (kind) {
    case "S256":
      return announced(challenge)
    case "none":
      return []
    case "plain":
      return [
        ["code_challenge", verifier],
        ["code_challenge_method", "plain"]
      ]
    case "no method":
      return [["code_challenge", challenge]]
    case "short":
      return announced(challenge.slice(0, 42))
    case "odd characters":
      return announced(`${challenge.slice(0, 42)}=`)
  }
}
