import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer, Scope } from "effect"
import * as memory from "../../adapters/memory/Memory.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { type AuditEntry, BadOption, createTessera, OtherIssuer } from "../../runtimes/tessera.ts"
import { bearer, issuer, machine, options, withHost } from "./host.ts"

const elsewhere = "https://auth.example.com"

/** A store that outlives each server over it. */
const sharedStore = async () =>
  Context.get(await Effect.runPromise(Layer.buildWithScope(memory.layer, Scope.makeUnsafe())), Storage)

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "it did not fail",
    (error) => error
  )

describe("two issuers over one store and ring", () => {
  test("the second is refused: by `ready`, in what the host does itself, at the guard, and over HTTP", async () => {
    const storage = await sharedStore()
    await withHost({ storage }, async (auth) => {
      const token = await (await machine(auth)).token()
      await withHost({ storage, issuer: elsewhere }, async (second) => {
        const refused = await failureOf(second.ready())
        expect(refused).toBeInstanceOf(OtherIssuer)
        expect(refused).toMatchObject({ recorded: issuer, issuer: elsewhere })
        expect(await failureOf(second.apiKeys.create({ name: "Mine" }))).toBeInstanceOf(OtherIssuer)
        expect(await failureOf(second.clients.list())).toBeInstanceOf(OtherIssuer)
        const response = await second.handle(new Request(`${elsewhere}/oauth/register`, { method: "POST", body: "{}" }))
        expect(response.status).toBe(503)
        const guarded = await second.guard(bearer(`${elsewhere}/orders`, token), { scopes: ["api"] })
        expect(guarded).toMatchObject({ _tag: "Refused" })
      })
      await auth.ready()
    })
  })

  test("`movedFrom` names the former issuer; its tokens end, and API keys stay", async () => {
    const storage = await sharedStore()
    let token = ""
    let key = ""
    await withHost({ storage }, async (auth) => {
      token = await (await machine(auth)).token()
      key = (await auth.apiKeys.create({ name: "Mine" })).key
      expect(await auth.guard(bearer(`${issuer}/orders`, token), { scopes: ["api"] })).toMatchObject({
        _tag: "Admitted"
      })
    })
    const events: Array<AuditEntry["event"]> = []
    const moved = { storage, issuer: elsewhere, audit: ({ event }: AuditEntry) => void events.push(event) }
    await withHost({ ...moved, movedFrom: "https://another.example.com" }, async (auth) => {
      expect(await failureOf(auth.ready())).toBeInstanceOf(OtherIssuer)
    })
    await withHost({ ...moved, movedFrom: issuer }, async (auth) => {
      await auth.ready()
      expect<unknown>(events).toEqual([{ _tag: "WorkspaceMoved", from: issuer, to: elsewhere, by: "host program" }])
      expect(await auth.guard(bearer(`${elsewhere}/orders`, token), { scopes: ["api"] })).toMatchObject({
        _tag: "Refused"
      })
      expect(await auth.guard(bearer(`${elsewhere}/orders`, key), { scopes: ["api"] })).toMatchObject({
        _tag: "Admitted"
      })
    })
    // It has moved, so that nothing need be said of it any more.
    await withHost({ storage, issuer: elsewhere }, (auth) => auth.ready())
    await withHost({ storage }, async (auth) => {
      expect(await failureOf(auth.ready())).toBeInstanceOf(OtherIssuer)
    })
  })

  test("`movedFrom` has to be an issuer", () => {
    for (const movedFrom of ["", "shop.example", "https://auth.example.com/"]) {
      expect(() => createTessera(options({ movedFrom }))).toThrow(BadOption)
    }
  })
})
