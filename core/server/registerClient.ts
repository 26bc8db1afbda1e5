import { Effect, type Redacted } from "effect"
import type { RegistrationRequest } from "../client/RegistrationRequest.ts"
import {
  credentialLength,
  type FreshClient,
  type Registered,
  type RegistrationFault,
  register
} from "../client/register.ts"
import type { Audit } from "../ports/Audit.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { StorageUnavailable } from "../ports/Storage.ts"
import { clientIdOf, grantIdOf, idLength } from "../rules/Id.ts"
import { currentInstant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Clients } from "./Clients.ts"
import { byOf, note, type Occasion } from "./Occasion.ts"

export const drawClient = (entropy: Entropy["Service"]): FreshClient => ({
  id: clientIdOf(entropy.bytes(idLength)),
  workspaceGrant: grantIdOf(entropy.bytes(idLength)),
  secret: entropy.bytes(credentialLength),
  registration: entropy.bytes(credentialLength)
})

/** A registration, decided and kept. A client that somebody else registers is one that its owner answers for. */
export const registerClient = Effect.fnUntraced(function* (
  parts: {
    readonly audit: Audit["Service"]
    readonly clients: Clients
    readonly entropy: Entropy["Service"]
    readonly policy: Policy
  },
  occasion: Occasion,
  request: RegistrationRequest
): Effect.fn.Return<
  Registered & { readonly registrationToken: Redacted.Redacted<string> },
  RegistrationFault | StorageUnavailable
> {
  const now = yield* currentInstant
  const madeBy = occasion.by === undefined ? "itself" : "owner"
  const made = yield* Effect.fromResult(register(request, parts.policy, now, drawClient(parts.entropy), madeBy))
  yield* parts.clients.add(occasion.workspace, made.client).pipe(
    Effect.catchTag("Conflict", () =>
      // 128 random bits met themselves: the source of randomness is broken, and nothing may be handed out.
      Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "a fresh client id was taken" }))
    )
  )
  yield* note(parts.audit, occasion, { _tag: "ClientRegistered", client: made.client.id, ...byOf(occasion) })
  return made
})
