import { Cause, type Clock, Effect, Exit, Option, Result } from "effect"
import { makeSignatures } from "../../adapters/jose/Signatures.ts"
import { isBoundTo } from "../../core/grant/Binding.ts"
import { secretJson } from "../../core/http/answer.ts"
import { resourceRefusal } from "../../core/http/faults.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import {
  authenticationFault,
  checkReach,
  type Needs,
  readPresented,
  rowsFor
} from "../../core/oauth/presented/guard.ts"
import type { Presented } from "../../core/oauth/presented/Presentation.ts"
import { presentations } from "../../core/oauth/presented/table.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { InvalidDpopProof, InvalidToken } from "../../core/rules/Refusal.ts"
import { resourceMetadataUrl } from "../../core/rules/Resource.ts"
import { type Caller, type Checked, copyOf, type GuardedCall } from "./Check.ts"
import type { Answer } from "./introspect.ts"
import type { Read } from "./RemoteGuardOptions.ts"
import type { SeenProofs } from "./SeenProofs.ts"

type Refused = Extract<Checked<HttpResponse>, { readonly _tag: "Refused" }>

/** The server could not say, so no caller is admitted. */
export const notNow: Refused = {
  _tag: "Refused",
  response: secretJson(
    503,
    { error: "temporarily_unavailable", error_description: "The token could not be checked. Try again." },
    [["retry-after", "2"]]
  )
}

type Fault = Parameters<typeof resourceRefusal>[2]

const differs = new InvalidToken({ reason: "binding_differs" })
const replayed = new InvalidDpopProof({ reason: "proof_replayed" })

const faultOf = <E>(cause: Cause.Cause<E>): E | undefined => Option.getOrUndefined(Cause.findErrorOption(cause))

/** How calls show tokens to a resource server that is none of the authorization server's processes. */
export const makeShown = (
  place: Pick<Read, "issuerMetadata" | "resource" | "resourceMetadata">,
  seen: SeenProofs,
  clock: Clock.Clock
) => {
  const signatures = makeSignatures()

  const metadataFor = ({ resource }: Needs): string => {
    if (resource === undefined) return place.resourceMetadata
    return resource.startsWith("/") ? place.issuerMetadata + resource : resourceMetadataUrl(resource)
  }

  /** In the words of the rows by which this route's callers show what they have. */
  const refuse = (needs: Needs, fault: Fault | undefined): Refused => {
    if (fault === undefined) return notNow
    const rows = rowsFor(presentations, needs)
    return { _tag: "Refused", response: resourceRefusal(rows, metadataFor(needs), fault, needs.scopes) }
  }

  return {
    refuse,
    /** By the rows of the core, each of which is done at once: what it takes to verify a proof is done by `admit`. */
    read: ({ headers, method, path }: GuardedCall, needs: Needs): Presented | Refused => {
      const request = { method, path, query: "", headers, body: "" }
      const rows = rowsFor(presentations, needs)
      const now = Instant.make(clock.currentTimeMillisUnsafe())
      const read = Effect.runSyncExit(readPresented(rows, request, place.resource, now, { signatures }))
      return Exit.isSuccess(read) ? read.value : refuse(needs, faultOf(read.cause))
    },
    /**
     * Whether the caller holds a token's key, and is one for this route. It is asked once the token is known to be good,
     * and so costs strangers nothing.
     */
    admit: async (
      call: GuardedCall,
      needs: Needs,
      { binding, proof }: Presented,
      good: Pick<Answer, "binding" | "implied"> & { readonly caller: Caller },
      now: number
    ): Promise<Checked<HttpResponse>> => {
      if (!isBoundTo(good.binding, binding)) return refuse(needs, differs)
      if (proof !== undefined) {
        const provenAt = clock.currentTimeMillisUnsafe()
        const held = await Effect.runPromiseExit(proof.holds)
        if (Exit.isFailure(held)) return refuse(needs, faultOf(held.cause))
        const isFirst = await seen.take(proof.single.value, proof.single.until, provenAt)
        if (isFirst !== true) return refuse(needs, isFirst === false ? replayed : undefined)
      }
      const { caller, implied } = good
      const enough = needs.scopes.every((name) => caller.scope.includes(name) || implied.includes(name))
      const reached = checkReach(place.resource, call.path, needs, caller, { resources: caller.resources, enough })
      if (Result.isFailure(reached)) return refuse(needs, reached.failure)
      const wanting = authenticationFault(needs, caller, now)
      return wanting === undefined ? { _tag: "Admitted", principal: copyOf(reached.success) } : refuse(needs, wanting)
    }
  }
}
