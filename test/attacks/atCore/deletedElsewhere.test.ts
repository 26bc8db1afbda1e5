import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { ClientId } from "../../../core/rules/Id.ts"
import { companies, jsonOf, registerClient, text, tokenRequest } from "../../given/flow.ts"
import { inWorld } from "../../given/World.ts"

const own = { grant_type: "client_credentials" }

describe("a client that another process deletes while it asks", () => {
  test("has no new grant made for it, and is known no longer", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
        const access = text(jsonOf(yield* tokenRequest(world, client, own)).access_token)
        const workspace = world.workspace.id
        const stored = yield* world.parts.clients.find(workspace, ClientId.make(client.id))
        const grant = { workspace, kind: "grant", id: stored?.workspaceGrant ?? "" } as const

        yield* world.storage.remove({ workspace, kind: "client", id: client.id })
        yield* world.storage.remove(grant)

        for (const _ of [1, 2]) {
          const answer = yield* tokenRequest(world, client, own)
          expect([answer.status, jsonOf(answer).error]).toEqual([401, "invalid_client"])
        }
        expect(Option.isNone(yield* world.storage.get(grant))).toBe(true)
        expect((yield* companies(world, access)).status).toBe(401)
      })
    ))
})
