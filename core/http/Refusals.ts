import { Effect, Option, Scope } from "effect"
import { note } from "../engine/AuditContext.ts"
import type { Audit } from "../ports/Audit.ts"
import type { TooManyRequests } from "../rules/Refusal.ts"
import { auditContextOf, refused } from "./audit.ts"
import type { Fault } from "./Fault.ts"
import type { Call } from "./Route.ts"

/** Records each refusal; of those by a limit, a line for the first and then one a second with their number. */
export type Refusals = (call: Call, fault: Fault) => Effect.Effect<void>

/** Refusals by one limit at one endpoint since its last line. */
interface Gathered {
  readonly fault: TooManyRequests
  /** The latest, which stands for all of them. */
  call: Call
  count: number
}

/** Kinds of refusals that are gathered at once. Where there are more, all are written before their second is over. */
export const kindsGathered = 1000

const kindOf = ({ endpoint, workspace }: Call, { limit }: TooManyRequests): string =>
  `${workspace.id} ${endpoint} ${limit}`

/** What is gathered is written when its second is over, and at the latest when the scope ends, if there is one. */
export const makeRefusals = Effect.fnUntraced(function* (audit: Audit["Service"]): Effect.fn.Return<Refusals> {
  const gathered = new Map<string, Gathered>()
  let ticking = false

  const write = ({ call, count, fault }: Gathered): Effect.Effect<void> => {
    if (count === 0) return Effect.void
    const { _tag: refusal, limit: reason } = fault
    const { endpoint, requestId } = call
    return Effect.andThen(
      Effect.logInfo("refused", { requestId, endpoint, refusal, reason, count }),
      note(audit, auditContextOf(call), { _tag: "Refused", endpoint, refusal, reason, count })
    )
  }

  /** A limit that refused no request for a second begins anew, with a line at once. */
  const writeAll = Effect.suspend(() => {
    const due = [...gathered]
    gathered.clear()
    for (const [kind, { call, count, fault }] of due) if (count > 0) gathered.set(kind, { call, fault, count: 0 })
    return Effect.forEach(due, ([, each]) => write(each))
  })

  const tick: Effect.Effect<void> = Effect.suspend(() => {
    ticking = gathered.size > 0
    return ticking ? Effect.andThen(Effect.andThen(Effect.sleep("1 second"), writeAll), tick) : Effect.void
  })

  const scope = Option.getOrUndefined(yield* Effect.serviceOption(Scope.Scope))
  if (scope !== undefined) yield* Scope.addFinalizer(scope, writeAll)
  const startTicking = scope === undefined ? Effect.forkDetach(tick) : Effect.forkIn(tick, scope)

  return (call, fault) => {
    if (fault._tag !== "TooManyRequests") return refused(audit, call, fault)
    const kind = kindOf(call, fault)
    const known = gathered.get(kind)
    if (known !== undefined) {
      known.call = call
      known.count++
      return Effect.void
    }
    const makeRoom =
      gathered.size < kindsGathered
        ? Effect.void
        : Effect.andThen(
            writeAll,
            Effect.sync(() => gathered.clear())
          )
    return Effect.andThen(
      makeRoom,
      Effect.suspend(() => {
        gathered.set(kind, { call, fault, count: 0 })
        const begin = ticking ? Effect.void : startTicking
        ticking = true
        return Effect.andThen(begin, refused(audit, call, fault))
      })
    )
  }
})
