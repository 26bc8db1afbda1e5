import { floors } from "./floors.ts"
import { growth } from "./growth.ts"
import { lone } from "./lone.ts"
import { memory } from "./memory.ts"
import type { Part } from "./Part.ts"
import { peers } from "./peers.ts"
import { peersPostgres } from "./peersPostgres.ts"
import { processes } from "./processes.ts"
import { sealed, sealedNode } from "./sealed.ts"
import { stores } from "./stores.ts"

export const allParts: ReadonlyArray<Part> = [
  sealed,
  sealedNode,
  peers,
  peersPostgres,
  floors,
  stores,
  lone,
  growth,
  processes,
  memory
]
