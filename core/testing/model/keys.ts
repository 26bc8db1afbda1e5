import type { KeyName, ShownKey } from "../script/Command.ts"
import { type Facts, type Rule, refused400 } from "./Rule.ts"

interface KeyFacts extends Facts {
  readonly command: { readonly key?: ShownKey | undefined }
}

/** The key that a request proves, where what it shows is no forgery. */
export const provenKey = (shown: ShownKey | undefined): KeyName | null =>
  shown === undefined || shown === "forged" ? null : shown

/** A request for tokens, or one that is pushed, may be told what else is wrong with it first. */
export const forgery: Rule<KeyFacts> = {
  name: "a proof that its key did not sign changes nothing, whatever it comes with (RFC 9449 §4.3)",
  when: ({ command }) => command.key === "forged",
  gives: refused400(
    "invalid_dpop_proof",
    "invalid_grant",
    "invalid_request",
    "invalid_scope",
    "invalid_target",
    "unauthorized_client",
    "unsupported_response_type"
  )
}
