import { Effect } from "effect"
import type { NewKey } from "../grant/apiKey.ts"
import type { Audit } from "../ports/Audit.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import { grantMark } from "../rules/Id.ts"
import { currentInstant, later } from "../rules/Instant.ts"
import { type BadKeyTerms, type KeyTerms, readKeyTerms } from "../rules/KeyTerms.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { Grants } from "./Grants.ts"
import { note, type OwnersOccasion } from "./Occasion.ts"

/** Its text is in what this returns and nowhere else. */
export const createKey = Effect.fnUntraced(function* (
  parts: { readonly audit: Audit["Service"]; readonly grants: Grants },
  occasion: OwnersOccasion,
  asked: KeyTerms
): Effect.fn.Return<NewKey, BadKeyTerms | StorageUnavailable | Contended> {
  const { lasts, name } = yield* Effect.fromResult(readKeyTerms(asked))
  const expiresAt = lasts === undefined ? null : later(yield* currentInstant, lasts)
  const made = yield* parts.grants.createKey(occasion.workspace, { name, expiresAt })
  yield* note(parts.audit, occasion, { _tag: "KeyCreated", grant: grantMark(made.grant.id), by: occasion.by })
  return made
})
