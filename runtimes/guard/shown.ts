import { Cause, Effect, Exit, Option } from "effect"
import { makeSignatures } from "../../adapters/jose/Signatures.ts"
import { type Binding, isBoundTo } from "../../core/grant/Binding.ts"
import { secretJson } from "../../core/http/answer.ts"
import { resourceRefusal } from "../../core/http/faults.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { type Needs, readPresented, rowsFor } from "../../core/oauth/presented/guard.ts"
import type { Presented } from "../../core/oauth/presented/Presentation.ts"
import { presentations } from "../../core/oauth/presented/table.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { InvalidDpopProof, InvalidToken } from "../../core/rules/Refusal.ts"
import type { GuardedCall } from "./Check.ts"
import type { SeenProofs } from "./SeenProofs.ts"

/** The server could not say, so no caller is admitted. */
export const notNow: HttpResponse = secretJson(
  503,
  { error: "temporarily_unavailable", error_description: "The token could not be checked. Try again." },
  [["retry-after", "2"]]
)

type Fault = Parameters<typeof resourceRefusal>[2]

/** A refusal in the words of the rows by which this route's callers show what they have. */
export const refusalTo = (needs: Needs, metadataUrl: string, fault: Fault) =>
  ({
    _tag: "Refused",
    response: resourceRefusal(rowsFor(presentations, needs), metadataUrl, fault, needs.scopes)
  }) as const

/** How calls show tokens to a resource server that is none of the authorization server's processes. */
export interface Shown {
  /** By the rows of the core, each of which is done at once: what it takes to verify a proof is done by `isProven`. */
  readonly read: (call: GuardedCall, needs: Needs, base: string, now: number) => Presented | Fault | undefined
  /**
   * Whether the caller holds a token's key; otherwise why it is refused, or `undefined` where the store cannot say.
   * It is asked once the token is known to be good, and so costs strangers nothing.
   */
  readonly prove: (presented: Presented, bound: Binding | null, now: number) => Promise<true | Fault | undefined>
}

const differs = new InvalidToken({ reason: "binding_differs" })
const replayed = new InvalidDpopProof({ reason: "proof_replayed" })

export const isFault = (read: Presented | Fault): read is Fault => "_tag" in read

const faultOf = <E>(cause: Cause.Cause<E>): E | undefined => Option.getOrUndefined(Cause.findErrorOption(cause))

export const makeShown = (seen: SeenProofs): Shown => {
  const signatures = makeSignatures()
  return {
    read: ({ headers, method, path }, needs, base, now) => {
      const request = { method, path, query: "", headers, body: "" }
      const rows = rowsFor(presentations, needs)
      const read = Effect.runSyncExit(readPresented(rows, request, base, Instant.make(now), { signatures }))
      return Exit.isSuccess(read) ? read.value : faultOf(read.cause)
    },
    prove: async ({ binding, proof }, bound, now) => {
      if (!isBoundTo(bound, binding)) return differs
      if (proof === undefined) return true
      const held = await Effect.runPromiseExit(proof.holds)
      if (Exit.isFailure(held)) return faultOf(held.cause)
      const isFirst = await seen.take(proof.single.value, proof.single.until, now)
      return isFirst === false ? replayed : isFirst
    }
  }
}
