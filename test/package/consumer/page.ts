import { mapStorage } from "./mapStorage.ts"
import { play } from "./play.ts"

export const outcome = () => play(mapStorage)
