import { Effect } from "effect"
import type { EndpointOf } from "../openapi/contract/Contract.ts"
import { revokeContract } from "../openapi/contract/revoke.ts"
import { grantMark } from "../rules/Id.ts"
import { secretJson } from "./answer.ts"
import { authenticateClient, besidesClient } from "./clientAuth.ts"
import { sentForm } from "./form.ts"
import { noteOf } from "./occasion.ts"
import type { Parts } from "./Parts.ts"
import { readerOf } from "./readerOf.ts"

const read = readerOf(besidesClient(revokeContract.form.fields))

/** RFC 7009 §2.2: the same answer for whatever was sent, so that nobody learns what a string is worth. */
export const revokeEndpoint = (parts: Parts): EndpointOf<typeof revokeContract> =>
  Effect.fnUntracedEager(function* (call) {
    const sent = yield* Effect.fromResult(sentForm(call.request))
    const by = yield* authenticateClient(parts, call, sent)
    const { token } = yield* Effect.fromResult(read(sent))
    const grant = yield* parts.grants.revokeToken(call.workspace.id, by, token)
    if (grant !== undefined) {
      yield* noteOf(parts, call, { _tag: "TokenRevoked", client: by.client.id, grant: grantMark(grant) })
    }
    return secretJson(200, {})
  })
