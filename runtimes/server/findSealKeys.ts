import { Effect, Option, Result } from "effect"
import { type KeyRing, parseKeyRing } from "../../core/token/KeyRing.ts"
import { newSealKey, type SealKeysRefused, sealKeyFileOf, sealKeysIn } from "./SealKeyFile.ts"
import type { Settings } from "./Settings.ts"

export interface SealKeys {
  readonly ring: KeyRing
  /** Where they are, for people to read. */
  readonly place: string
  /** They were not there before. */
  readonly made: boolean
}

export const findSealKeys = (settings: Settings): Effect.Effect<SealKeys, SealKeysRefused> => {
  if (Option.isSome(settings.sealKeys)) {
    return Effect.succeed({ ring: settings.sealKeys.value, place: "SEAL_KEYS", made: false })
  }
  if (settings.database._tag !== "Sqlite") {
    // What this process keeps in memory goes with it, so its keys may too. For shared stores the settings insist on keys.
    return Effect.sync(() => ({
      ring: Result.getOrThrow(parseKeyRing(newSealKey())),
      place: "this process's memory",
      made: true
    }))
  }
  const path = sealKeyFileOf(settings.database.path)
  return Effect.map(sealKeysIn(path), (found) => ({ ...found, place: path }))
}
