import { Effect } from "effect"
import type { StorageUnavailable } from "../../core/ports/Storage.ts"
import { allScripts } from "./scripts.ts"
import type { Wire } from "./Wire.ts"

/**
 * Every server learns the scripts before the first request. One that refuses, comes later or forgets them is sent a
 * script's text with the first call that needs it.
 */
export const loadScripts = (wire: Wire): Effect.Effect<void, StorageUnavailable> =>
  Effect.forEach(
    wire.masters().flatMap((master) => allScripts.map((script) => master.ask("script", ["LOAD", script.lua]))),
    (loading) => loading,
    { concurrency: "unbounded", discard: true }
  )
