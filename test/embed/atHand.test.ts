import { expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import * as memory from "../../adapters/memory/Memory.ts"
import { littleAtHand } from "../../core/engine/caches.ts"
import { page, pageEndpoint } from "../../core/http/Route.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import type { CreateOptions, Parts } from "../../runtimes/embed/tessera.ts"
import { withHost } from "./host.ts"

const home = WorkspaceId.make("main")

/** How often a grant is read to end it, once as many others were written as a process keeps with little at hand. */
const readsAfterMany = async (over: Pick<CreateOptions, "atHand">): Promise<number> => {
  let reads = 0
  const counting = Layer.effect(
    Storage,
    Effect.map(Storage, (below) => ({
      ...below,
      get: (key) => {
        if (key.kind === "grant") reads++
        return below.get(key)
      }
    }))
  ).pipe(Layer.provide(memory.layer))
  let parts: Parts | undefined
  const keepParts = pageEndpoint("/keep", {
    GET: page((given) => {
      parts = given
      return () => Effect.die("nobody asks for it")
    })
  })
  await withHost({ ...over, storage: counting, endpoints: [keepParts] }, async (auth) => {
    await auth.ready()
    const { grants } = parts ?? expect.unreachable()
    const create = grants.createKey(home, { name: "One of many", expiresAt: null })
    const first = await Effect.runPromise(create)
    for (let written = 0; written < littleAtHand.grants; written++) await Effect.runPromise(create)
    reads = 0
    expect(await Effect.runPromise(grants.revokeGrant(home, first.grant.id, "by_owner"))).toBe("revoked")
  })
  return reads
}

test("a host chooses how many grants are swapped without being read", async () => {
  expect(await readsAfterMany({})).toBe(1)
  expect(await readsAfterMany({ atHand: "little" })).toBe(1)
  expect(await readsAfterMany({ atHand: "much" })).toBe(0)
}, 60_000)
