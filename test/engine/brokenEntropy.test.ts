import { expect, test } from "bun:test"
import { Effect } from "effect"
import { inWorld } from "../given/World.ts"

test("no key is handed out on an id that is taken: randomness that repeats is as bad as no storage", () =>
  inWorld(
    ({ services, workspace }) =>
      Effect.gen(function* () {
        const asked = { name: "Export", expiresAt: null }
        const first = yield* services.grants.createKey(workspace.id, asked)
        const second = yield* Effect.flip(services.grants.createKey(workspace.id, asked))
        expect(second).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
        const { values } = yield* services.grants.keys(workspace.id, { after: undefined, limit: 9 })
        expect(values).toEqual([first.grant])
      }),
    { entropy: { bytes: (length) => new Uint8Array(length).fill(7) } }
  ))
