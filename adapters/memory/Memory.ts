import { Effect } from "effect"
import { freeze } from "../records/freeze.ts"
import { makeMemory } from "./MemoryStorage.ts"

/** A store in the process's memory. It freezes each body that it is given, and gives back the same object. */
export const layer = makeMemory(freeze, Effect.suspend)
