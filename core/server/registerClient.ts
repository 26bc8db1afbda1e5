import { Effect, type Redacted } from "effect"
import type { ClientMaker } from "../client/Client.ts"
import type { RegistrationRequest } from "../client/RegistrationRequest.ts"
import {
  credentialLength,
  type FreshClient,
  type Registered,
  type RegistrationFault,
  register
} from "../client/register.ts"
import type { Entropy } from "../ports/Entropy.ts"
import { StorageUnavailable } from "../ports/Storage.ts"
import { clientIdOf, grantIdOf, idLength } from "../rules/Id.ts"
import type { Policy } from "../rules/Policy.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { Clients } from "./Clients.ts"
import { currentInstant } from "./Grants.ts"

export const drawClient = (entropy: Entropy["Service"]): FreshClient => ({
  id: clientIdOf(entropy.bytes(idLength)),
  workspaceGrant: grantIdOf(entropy.bytes(idLength)),
  secret: entropy.bytes(credentialLength),
  registration: entropy.bytes(credentialLength)
})

/** A registration, decided and kept: for the endpoint, and for owners who make a client by hand. */
export const registerClient = Effect.fnUntraced(function* (
  parts: { readonly clients: Clients; readonly entropy: Entropy["Service"]; readonly policy: Policy },
  workspace: WorkspaceId,
  request: RegistrationRequest,
  madeBy: ClientMaker
): Effect.fn.Return<
  Registered & { readonly registrationToken: Redacted.Redacted<string> },
  RegistrationFault | StorageUnavailable
> {
  const now = yield* currentInstant
  const made = yield* Effect.fromResult(register(request, parts.policy, now, drawClient(parts.entropy), madeBy))
  yield* parts.clients.add(workspace, made.client).pipe(
    Effect.catchTag("Conflict", () =>
      // 128 random bits met themselves: the source of randomness is broken, and nothing may be handed out.
      Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "a fresh client id was taken" }))
    )
  )
  return made
})
