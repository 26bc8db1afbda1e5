import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import {
  authorizeTarget,
  decide,
  form,
  formHeaders,
  jsonHeaders,
  refresh,
  registerClient,
  signInToApp,
  tokenRequest
} from "../given/flow.ts"
import { inWorld, type World, type WorldOptions } from "../given/World.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"

/** One address of a network, and how a share names that network. */
const peer = "2001:DB8:1:2::7"
const network = "2001:db8:1:2::/64"

/** A world in which nothing is refused, and what its requests took since the last look. */
const watched = (
  body: (world: World, took: () => ReadonlyArray<string>) => Effect.Effect<void>,
  options: WorldOptions = {}
) => {
  const { limiter, taken } = watchedLimiter()
  return inWorld((world) => body(world, () => taken.splice(0)), { ...options, limiter })
}

describe("a request takes of the share", () => {
  test("of its network, where an application registers", () =>
    watched((world, took) =>
      Effect.gen(function* () {
        yield* registerClient(world, {}, { peer })
        expect(took()).toEqual([`register ${network}`])
      })
    ))

  test("of its network, where an application would register and may not", () =>
    watched(
      (world, took) =>
        Effect.gen(function* () {
          const answer = yield* world.send("POST", "/oauth/register", { peer, headers: jsonHeaders, body: "{}" })
          expect([answer.status, took()]).toEqual([403, [`register ${network}`]])
        }),
      { registration: RegistrationPolicy.layerClosed }
    ))

  test("of its network, where somebody is asked, and of who is signed in", () =>
    watched((world, took) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        took()
        yield* world.send("GET", authorizeTarget(client), { peer })
        expect(took()).toEqual([`authorize ${network}`])
        const page = yield* world.send("GET", authorizeTarget(client), { peer, as: "alice" })
        expect(took()).toEqual([`authorize ${network}`, "account alice"])
        yield* decide(world, page, "approve")
        expect(took()).toEqual(["account alice"])
      })
    ))

  test("of its network, where a consent page of the host's own asks for the browser", () =>
    watched(
      (world, took) =>
        Effect.gen(function* () {
          const client = yield* registerClient(world)
          took()
          const request = authorizeTarget(client).split("?")[1]
          yield* world.send("GET", `/consent/model?${form({ request })}`, { peer, as: "alice" })
          expect(took()).toEqual([`authorize ${network}`, "account alice"])
        }),
      { pages: Pages.layer(undefined, { consentAt: "/allow" }) }
    ))

  test("of its network, where a client does not show itself", () =>
    watched((world, took) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        took()
        for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/introspect"]) {
          yield* world.send("POST", path, {
            peer,
            headers: formHeaders,
            body: form({ client_id: client.id, client_secret: "x", grant_type: "client_credentials", token: "x" })
          })
          expect([path, took()]).toEqual([path, [`failed_client ${network}`]])
        }
      })
    ))

  test("of its client and its grant, where it refreshes; a thief's is the thief's own", () =>
    watched((world, took) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const thief = yield* registerClient(world)
        const tokens = yield* signInToApp(world, client)
        took()
        yield* refresh(world, client, tokens.refresh)
        const [ofClient, ofGrant = ""] = took()
        expect(ofClient).toBe(`client ${client.id}`)
        expect(ofGrant).toMatch(new RegExp(`^grant ${client.id} [\\w-]{8}$`))
        yield* refresh(world, thief, tokens.refresh)
        expect(took()).toEqual([`client ${thief.id}`, ofGrant.replace(client.id, thief.id)])
      })
    ))

  test("of nobody, where the token is none of ours", () =>
    watched((world, took) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        took()
        yield* tokenRequest(world, client, { grant_type: "refresh_token", refresh_token: "tsr_rt_x" })
        expect(took()).toEqual([`client ${client.id}`])
      })
    ))
})
