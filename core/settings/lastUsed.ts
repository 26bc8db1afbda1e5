import { Effect, Option } from "effect"
import type { Call } from "../http/Call.ts"
import type { Parts } from "../http/Parts.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Instant } from "../rules/Instant.ts"
import type { UsedThing } from "../server/UnwrittenUses.ts"

/** The rows of a page, each with when its thing was last used. */
export const withLastUse = <Row>(
  parts: Parts,
  call: Call,
  thing: UsedThing,
  rows: ReadonlyArray<{ readonly id: string; readonly row: Row }>
): Effect.Effect<ReadonlyArray<Row | (Row & { readonly lastUsedAt: Instant })>, StorageUnavailable> =>
  Effect.forEach(
    rows,
    ({ id, row }) =>
      Effect.map(parts.usage.lastUse(thing, call.workspace.id, id), (used) =>
        Option.isNone(used) ? row : { ...row, lastUsedAt: used.value }
      ),
    { concurrency: 8 }
  )
