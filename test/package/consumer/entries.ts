import * as tessera from "tessera"
import * as bun from "tessera/bun"
import * as core from "tessera/core"
import * as documents from "tessera/documents"
import * as web from "tessera/fetch"
import * as guard from "tessera/guard"
import * as hono from "tessera/hono"
import * as memory from "tessera/storage/memory"
import * as testing from "tessera/testing"

/** Every entry that asks for no driver, no framework and no types of Node. */
export const entries = { tessera, bun, core, documents, web, guard, hono, memory, testing }
