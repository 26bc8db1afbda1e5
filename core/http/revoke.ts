import { Effect } from "effect"
import type { EndpointOf, Named, NameOf } from "../openapi/contract/Contract.ts"
import type { revokeContract } from "../openapi/contract/revoke.ts"
import { grantMark } from "../ports/Audit.ts"
import { secretJson } from "./answer.ts"
import { authenticateClient } from "./clientAuth.ts"
import { need, readForm } from "./form.ts"
import type { Parts } from "./Parts.ts"

/** RFC 7009 §2.2: the same answer for whatever was sent, so that nobody learns what a string is worth. */
export const revokeEndpoint = (parts: Parts): EndpointOf<typeof revokeContract> =>
  Effect.fnUntracedEager(function* (call) {
    const parameters: Named<NameOf<typeof revokeContract>> = yield* Effect.fromResult(readForm(call.request))
    const by = yield* authenticateClient(parts, call, parameters)
    const token = yield* Effect.fromResult(need(parameters, "token"))
    const grant = yield* parts.grants.revokeToken(call.workspace.id, by, token)
    if (grant !== undefined) {
      yield* parts.audit.record({
        at: call.now,
        workspace: call.workspace.id,
        requestId: call.requestId,
        event: { _tag: "TokenRevoked", client: by.client.id, grant: grantMark(grant) }
      })
    }
    return secretJson(200, {})
  })
