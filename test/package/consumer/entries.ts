import * as tessera from "tessera"
import * as guard from "tessera/guard"
import * as bun from "tessera/runtime/bun"
import * as web from "tessera/runtime/fetch"
import * as memory from "tessera/storage/memory"
import * as testing from "tessera/testing"

/** Every entry that asks for no driver and no framework. */
export const entries = { tessera, guard, bun, web, memory, testing }
