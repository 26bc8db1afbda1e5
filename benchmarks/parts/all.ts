import { growth } from "./growth.ts"
import { lone } from "./lone.ts"
import { memory } from "./memory.ts"
import type { Part } from "./Part.ts"
import { peers, peersPostgres } from "./peers.ts"
import { processes } from "./processes.ts"
import { proofs } from "./proofs.ts"
import { audit, floors, sealed, sealedNode } from "./sealed.ts"
import { signatures } from "./signatures.ts"
import { stores } from "./stores.ts"
import { strangers } from "./strangers.ts"
import { workspaces } from "./workspaces.ts"

export const allParts: ReadonlyArray<Part> = [
  sealed,
  sealedNode,
  audit,
  signatures,
  proofs,
  peers,
  peersPostgres,
  floors,
  stores,
  lone,
  growth,
  workspaces,
  processes,
  strangers,
  memory
]
