import { type Option, Schema } from "effect"
import { hashOf, isDigestOf } from "./Secret.ts"

const unreserved = Schema.isPattern(/^[A-Za-z0-9._~-]{43,128}$/)

/** RFC 7636 §4.2. */
export const CodeChallenge = Schema.String.check(unreserved).pipe(Schema.brand("CodeChallenge"))
export type CodeChallenge = typeof CodeChallenge.Type

/** RFC 7636 §4.1. */
export const CodeVerifier = Schema.String.check(unreserved).pipe(Schema.brand("CodeVerifier"))
export type CodeVerifier = typeof CodeVerifier.Type

export const readChallenge: (text: string) => Option.Option<CodeChallenge> = Schema.decodeUnknownOption(CodeChallenge)
export const readVerifier: (text: string) => Option.Option<CodeVerifier> = Schema.decodeUnknownOption(CodeVerifier)

/**
 * RFC 7636 §4.6, S256 only: under `plain` a reader of the request already holds the verifier.
 * The challenge lives in the grant itself, so no second record can go missing and take the check with it.
 */
export const provesPossession = (verifier: CodeVerifier, challenge: CodeChallenge): boolean =>
  isDigestOf(hashOf(verifier), challenge)
