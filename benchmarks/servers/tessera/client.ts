import { Effect, Redacted, Result } from "effect"
import { type AuthenticatedClient, authenticate } from "../../../core/client/authenticate.ts"
import type { Client } from "../../../core/client/Client.ts"
import { credentialLength, register } from "../../../core/client/register.ts"
import type { Parts } from "../../../core/http/Route.ts"
import { clientIdOf, grantIdOf, idLength } from "../../../core/rules/Id.ts"
import { currentInstant } from "../../../core/rules/Instant.ts"
import type { WorkspaceId } from "../../../core/workspace/Workspace.ts"
import { redirectUri } from "../forms.ts"

export interface Registered {
  readonly client: Client
  readonly by: AuthenticatedClient
  readonly secret: string
}

/** The same clients in every process of a run, each registered by the core's own rules and told by its number. */
export const makeClient = (parts: Parts, workspace: WorkspaceId, number = 0) =>
  Effect.gen(function* () {
    const now = yield* currentInstant
    const bytes = (length: number, first: number) => {
      const made = new Uint8Array(length).fill(1, 1).fill(first, 0, 1)
      new DataView(made.buffer).setUint32(1, number)
      return made
    }
    const fresh = {
      id: clientIdOf(bytes(idLength, 2)),
      workspaceGrant: grantIdOf(bytes(idLength, 3)),
      secret: bytes(credentialLength, 4),
      registration: bytes(credentialLength, 5)
    }
    const request = {
      client_name: "Benchmark",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
      token_endpoint_auth_method: "client_secret_post"
    } as const
    const made = yield* Effect.fromResult(register(parts, request, parts.policy, now, fresh, "owner"))
    // Another process of the same run may have put it there.
    yield* parts.clients.add(workspace, made.client).pipe(Effect.catchTag("Conflict", () => Effect.void))
    const secret = yield* Effect.fromOption(made.secret)
    const by = yield* Effect.fromResult(authenticate(made.client, true, Result.void, false))
    return { client: made.client, by, secret: Redacted.value(secret) } satisfies Registered
  })
