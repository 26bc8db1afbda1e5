import { Clock, Effect } from "effect"
import { makeRecords } from "../../core/engine/Records.ts"
import { usageKind } from "../../core/engine/Usage.ts"
import type { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { currentInstant, hour, type Instant } from "../../core/rules/Instant.ts"
import type { WorkspaceId } from "../../core/workspace/Workspace.ts"

/** Behind a proxy that is not named, all callers have one address, and share what a limit gives to one. */
const said = Effect.logWarning(
  "X-Forwarded-For came from an address that is not in TRUSTED_PROXIES, and was not read. If a proxy of yours stands in front, name it there"
)

const id = "untrusted-proxy"

/** Any caller may send the header: a process writes no more often than this, and nothing of what was sent. */
const notedEvery = hour
/** What came longer ago than this is no news: the proxy was named, or is not used. */
const newsFor = 24 * notedEvery

const note = Effect.fnUntraced(function* (storage: Storage["Service"], workspace: WorkspaceId) {
  const records = makeRecords(storage, usageKind)
  const use = { id, usedAt: yield* currentInstant }
  const kept = yield* records.get(workspace, id)
  const write =
    kept === undefined ? records.insert(workspace, use, id) : records.replace(workspace, kept.version, use, id)
  // Another process has noted it.
  yield* Effect.catchTag(write, "Conflict", () => Effect.void)
})

/** When an address that is not trusted last sent `X-Forwarded-For`, within an hour; `undefined` where it is no news. */
export const untrustedProxySeen = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace: WorkspaceId
): Effect.fn.Return<Instant | undefined, StorageUnavailable> {
  const kept = yield* makeRecords(storage, usageKind).get(workspace, id)
  const now = yield* currentInstant
  return kept !== undefined && now - kept.value.usedAt < newsFor ? kept.value.usedAt : undefined
})

/** The handler of such a request: warns in the log once, and notes the time in the store, for `tessera doctor`. */
export const onUntrustedProxy = Effect.fnUntraced(function* (
  storage: Storage["Service"],
  workspace: WorkspaceId,
  run: (effect: Effect.Effect<void>) => void
) {
  const clock = yield* Clock.Clock
  let notedAt: number | undefined
  return () => {
    const now = clock.currentTimeMillisUnsafe()
    if (notedAt !== undefined && Math.abs(now - notedAt) < notedEvery) return
    const noting = Effect.ignore(note(storage, workspace), { log: "Warn" })
    run(notedAt === undefined ? Effect.andThen(said, noting) : noting)
    notedAt = now
  }
})
