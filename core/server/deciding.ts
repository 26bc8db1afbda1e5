import { Effect, type Result } from "effect"
import type { Decision } from "../grant/Decision.ts"
import type { Grant, Standing } from "../grant/Grant.ts"
import type { Entropy } from "../ports/Entropy.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { GrantId } from "../rules/Id.ts"
import type { Instant } from "../rules/Instant.ts"
import type { Policy } from "../rules/Policy.ts"
import type { Contended } from "../rules/Refusal.ts"
import type { WorkspaceId } from "../workspace/Workspace.ts"
import type { AtHand } from "./AtHand.ts"
import { LastWritten } from "./LastWritten.ts"
import { Recent } from "./Recent.ts"
import type { Records } from "./Records.ts"
import { transact } from "./transact.ts"

type Step<A, E> = (grant: Grant | undefined) => Decision<A, E>
type Decided<A, E> = Effect.Effect<Result.Result<A, E>, StorageUnavailable | Contended>

/** Decisions about grants, each on the grant as it is stored; but for clients' own grants, which are at hand for a moment. */
export interface Deciding {
  readonly decide: <A, E>(workspace: WorkspaceId, id: GrantId, step: Step<A, E>) => Decided<A, E>
  /**
   * About a client's own grant, as it was a moment ago. What is issued by one that ended meanwhile is worth nothing,
   * because every check asks the store.
   */
  readonly decideOwn: <A, E>(workspace: WorkspaceId, id: GrantId, step: Step<A, E>, now: Instant) => Decided<A, E>
  readonly forget: (workspace: WorkspaceId, id: GrantId) => void
}

const keptAtHand = 10_000

const isStanding = (grant: Grant | undefined): grant is Standing => grant?._tag === "Standing"

export const deciding = (
  records: Records<Grant>,
  entropy: Entropy["Service"],
  policy: Policy,
  atHand: AtHand
): Deciding => {
  const standing = new Recent<Standing>(keptAtHand, policy.clientStaleness)
  const written = new LastWritten<Grant>(atHand.grants)
  const forget: Deciding["forget"] = (workspace, id) => {
    standing.forget(workspace, id)
    written.forget(workspace, id)
  }

  const decide: Deciding["decide"] = (workspace, id, step) => {
    let changed = false
    const decided = transact(
      records,
      entropy,
      workspace,
      id,
      (grant) => {
        const decision = step(grant)
        changed = decision.next !== undefined && (isStanding(grant) || isStanding(decision.next))
        if (changed) standing.forget(workspace, id)
        return decision
      },
      written
    )
    // Who read it while it was being written may have read it as it was.
    return Effect.mapEager(decided, (outcome) => {
      if (changed) standing.forget(workspace, id)
      return outcome
    })
  }

  const readAndDecide: Deciding["decideOwn"] = (workspace, id, step, now) => {
    const before = standing.forgotten
    let read: Grant | undefined
    const decided = decide(workspace, id, (grant) => {
      read = grant
      return step(grant)
    })
    return Effect.mapEager(decided, (outcome) => {
      if (isStanding(read)) standing.remember(workspace, id, read, now, before)
      return outcome
    })
  }

  return {
    decide,
    decideOwn: (workspace, id, step, now) => {
      const known = standing.get(workspace, id, now)
      const decision = known === undefined ? undefined : step(known)
      return decision === undefined || decision.next !== undefined
        ? readAndDecide(workspace, id, step, now)
        : Effect.succeed(decision.outcome)
    },
    forget
  }
}
