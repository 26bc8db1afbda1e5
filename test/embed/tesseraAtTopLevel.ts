import * as memory from "../../adapters/memory/Memory.ts"
import { createTessera } from "../../runtimes/tessera.ts"
import { aKey, people } from "./host.ts"

const thrownBy = (): string | null => {
  try {
    createTessera({ issuer: "http://127.0.0.1:3000", storage: memory.layer, keys: aKey, owner: people })
    return null
  } catch (thrown) {
    return String(thrown)
  }
}

const atTopLevel = thrownBy()

/** Tells what was thrown outside of every request, and what is in one. */
export default { fetch: () => Response.json({ atTopLevel, inRequest: thrownBy() }) }
