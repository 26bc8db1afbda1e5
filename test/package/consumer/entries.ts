import * as tessera from "tessera"
import * as bun from "tessera/runtime/bun"
import * as web from "tessera/runtime/fetch"
import * as memory from "tessera/storage/memory"
import * as testing from "tessera/testing"

/** Every entry that asks for no driver and no framework. */
export const entries = { tessera, bun, web, memory, testing }
