import { type AtHand, littleAtHand, muchAtHand } from "../../core/server/AtHand.ts"
import type { DatabaseUrl } from "./DatabaseUrl.ts"

/** Over a file of its own an installation is small and shares its machine, as `runtimes/bun/memorySettings.ts` has it too. */
export const atHandOver = ({ _tag }: DatabaseUrl): AtHand => (_tag === "Sqlite" ? littleAtHand : muchAtHand)
