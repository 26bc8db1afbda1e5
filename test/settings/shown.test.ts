import { expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { createKey } from "../../core/engine/administerGrants.ts"
import { shownMost } from "../../core/engine/lists.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { byOwner } from "../given/auditContext.ts"
import { registerClient, signInToApp } from "../given/flow.ts"
import { idsOn, inSettings, look, sections } from "./given.ts"

/** A store in memory that counts what its lists give. */
const counting = () => {
  const listed: Array<number> = []
  const store = Layer.effect(
    Storage,
    Effect.map(Storage, (below) => ({
      ...below,
      list: (listing: Parameters<typeof below.list>[0]) =>
        Effect.tap(below.list(listing), ({ records }) => Effect.sync(() => void listed.push(records.length)))
    }))
  ).pipe(Layer.provide(Memory.layer))
  return { listed, store }
}

test("a page of settings reads one list, and of it no more than it shows and the one that tells of a next page", () => {
  const { listed, store } = counting()
  return inSettings(
    (world) =>
      Effect.gen(function* () {
        for (let n = 0; n < 2 * shownMost; n++) {
          const client = yield* registerClient(world, { client_name: `Client ${n}` })
          yield* signInToApp(world, client, {}, "owner")
          yield* createKey(world.services, byOwner(world), { name: `Key ${n}`, lasts: undefined })
        }
        for (const section of sections.filter((one) => !["resources", "documents", "issuers"].includes(one))) {
          listed.length = 0
          for (const verb of Object.values(world.calls)) verb.length = 0
          const page = yield* look(world, "owner", section)
          expect(idsOn(page)).toHaveLength(shownMost)
          // Grants of one application are shown as one, so more of them are looked at.
          expect(listed).toEqual([section === "apps" ? 2 * shownMost : shownMost + 1])
          // The last use of each, and for an application its client.
          expect(world.calls.get.length).toBeLessThanOrEqual(2 * (shownMost + 1))
        }
        listed.length = 0
        expect((yield* world.send("GET", "/", { as: "owner" })).status).toBe(200)
        expect(listed).toEqual([])
      }),
    { store }
  )
})
