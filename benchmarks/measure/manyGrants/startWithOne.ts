import { Effect } from "effect"
import { type Executables, tessera } from "../../servers/start.ts"
import { grantIdAt } from "../../servers/tessera/grants.ts"

export const firstGrant = grantIdAt(0)

/**
 * Many grants are made out of one: the server writes the first by its own verbs, and the database takes copies of it
 * with another id and another user in each. By the verbs alone, a million takes minutes.
 */
export const startWithOne = (executables: Executables, store: string) =>
  Effect.scoped(tessera(executables, { store, grants: 1 }))
