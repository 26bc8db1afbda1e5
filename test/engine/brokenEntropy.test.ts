import { expect, test } from "bun:test"
import { Effect } from "effect"
import { grantTypes } from "../../core/oauth/grants/table.ts"
import { deviceClient } from "../given/devices.ts"
import { form, formHeaders, jsonOf, registerClient, tokenRequest } from "../given/flow.ts"
import { inWorld } from "../given/World.ts"
import { voucher } from "../oauth/voucher.ts"

const repeats = { bytes: (length: number) => new Uint8Array(length).fill(7) }

test("no key is handed out on an id that is taken: randomness that repeats is as bad as no storage", () =>
  inWorld(
    function* ({ services, workspace }) {
      const asked = { name: "Export", expiresAt: null }
      const first = yield* services.grants.createKey(workspace.id, asked)
      const second = yield* Effect.flip(services.grants.createKey(workspace.id, asked))
      expect(second).toMatchObject({ _tag: "StorageUnavailable", outcome: "not_done" })
      const { values } = yield* services.grants.keys(workspace.id, { after: undefined, limit: 9 })
      expect(values).toEqual([first.grant])
    },
    { entropy: repeats }
  ))

test("nor is a grant begun on one", () =>
  inWorld(
    function* (world) {
      const client = yield* registerClient(world, { redirect_uris: [], grant_types: [voucher.name] })
      const ask = tokenRequest(world, client, { grant_type: voucher.name, voucher: "voucher-of-ada" })
      expect((yield* ask).status).toBe(200)
      world.calls.replace.length = 0
      const second = yield* ask
      expect([second.status, jsonOf(second).error]).toEqual([503, "temporarily_unavailable"])
      expect(world.calls.replace).toEqual([])
    },
    { entropy: repeats, grants: [...grantTypes, voucher] }
  ))

test("nor does a device get the code that another one waits with", () =>
  inWorld(
    function* (world) {
      const { id } = yield* deviceClient(world)
      const ask = world.send("POST", "/oauth/device_authorization", {
        headers: formHeaders,
        body: form({ client_id: id })
      })
      expect((yield* ask).status).toBe(200)
      const second = yield* ask
      expect([second.status, jsonOf(second).error]).toEqual([503, "temporarily_unavailable"])
    },
    { entropy: repeats }
  ))

test("a request for whose id there is no randomness is a defect like any other, without one", () => {
  let isGone = false
  const goes = {
    bytes: (length: number) => {
      if (isGone) throw new Error("no more")
      return new Uint8Array(length).fill(7)
    }
  }
  return inWorld(
    function* (world) {
      isGone = true
      const [answer, guarded] = [yield* world.send("GET", "/healthz"), yield* world.guard("/x", { scopes: [] }, {})]
      if (guarded._tag !== "Refused") throw new Error("admitted")
      for (const { headers, status } of [answer, guarded.response]) {
        expect([status, headers.filter(([name]) => name === "x-request-id")]).toEqual([500, [["x-request-id", ""]]])
      }
      expect(world.log).toHaveLength(2)
    },
    { entropy: goes }
  )
})
