import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { layer as sharedLimits } from "../../core/limits/SharedLimiter.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { deviceClient, polledAs, waitingDevice } from "../given/devices.ts"
import {
  authorizeTarget,
  codeFor,
  decide,
  form,
  formHeaders,
  jsonHeaders,
  redeem,
  redirectUri,
  refresh,
  registerClient,
  signInToApp,
  type TestClient,
  tokenRequest,
  tokensOf
} from "../given/flow.ts"
import { signsIn } from "../given/openId.ts"
import { inWorld, type Steps, type World, type WorldOptions } from "../given/World.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"

const publicly = { token_endpoint_auth_method: "none" } as const

/** One address of a network, and how a share names that network. */
const peer = "2001:DB8:1:2::7"
const network = "2001:db8:1:2::/64"
const region = "2001:db8:1::/48"

/** A world in which nothing is refused, and what its requests took since the last look. */
const watched = (
  body: (world: World, took: () => ReadonlyArray<string>) => Steps<void>,
  options: WorldOptions = {}
) => {
  const { limiter, taken } = watchedLimiter()
  return inWorld((world) => body(world, () => taken.splice(0)), { ...options, limiter })
}

/** By a public client. */
const revoke = (world: World, by: TestClient, token: string) =>
  world.send("POST", "/oauth/revoke", { headers: formHeaders, body: form({ client_id: by.id, token }) })

describe("a request takes of the share", () => {
  test("of its network, where an application registers", () =>
    watched(function* (world, took) {
      yield* registerClient(world, {}, { peer })
      expect(took()).toEqual([`register ${network}`, `register_region ${region}`])
    }))

  test("of one for all, where the runtime does not know the peer", () =>
    watched(function* (world, took) {
      yield* registerClient(world)
      expect(took()).toEqual(["register "])
    }))

  test("of its network, where an application would register and may not", () =>
    watched(
      function* (world, took) {
        const answer = yield* world.send("POST", "/oauth/register", { peer, headers: jsonHeaders, body: "{}" })
        expect([answer.status, took()]).toEqual([403, [`register ${network}`, `register_region ${region}`]])
      },
      { registration: RegistrationPolicy.layerClosed }
    ))

  test("of its network, where a person is asked, and of who is signed in", () =>
    watched(function* (world, took) {
      const client = yield* registerClient(world)
      took()
      yield* world.send("GET", authorizeTarget(client), { peer })
      expect(took()).toEqual([`authorize ${network}`, `authorize_region ${region}`])
      const page = yield* world.send("GET", authorizeTarget(client), { peer, as: "alice" })
      expect(took()).toEqual([`authorize ${network}`, `authorize_region ${region}`, "account alice"])
      yield* decide(world, page, "approve")
      expect(took()).toEqual(["account alice"])
    }))

  test("of its network, where a consent page of the host's own asks for the browser", () =>
    watched(
      function* (world, took) {
        const client = yield* registerClient(world)
        took()
        const request = authorizeTarget(client).split("?")[1]
        yield* world.send("GET", `/consent/model?${form({ request })}`, { peer, as: "alice" })
        expect(took()).toEqual([`authorize ${network}`, `authorize_region ${region}`, "account alice"])
      },
      { pages: Pages.layer(undefined, { consentAt: "/allow" }) }
    ))

  test("of its network, where a browser is sent to sign out, whatever the hint is worth", () =>
    watched(function* (world, took) {
      for (const as of [undefined, "alice"]) {
        yield* world.send("GET", "/oauth/logout?id_token_hint=x", { peer, ...(as === undefined ? {} : { as }) })
        expect(took()).toEqual([`authorize ${network}`, `authorize_region ${region}`])
      }
    }, signsIn))

  test("of its network, where a client does not show itself", () =>
    watched(function* (world, took) {
      const client = yield* registerClient(world)
      took()
      for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/introspect"]) {
        yield* world.send("POST", path, {
          peer,
          headers: formHeaders,
          body: form({ client_id: client.id, client_secret: "x", grant_type: "client_credentials", token: "x" })
        })
        expect([path, took()]).toEqual([path, [`failed_client ${network}`, `failed_client_region ${region}`]])
      }
    }))

  test("of its client and its grant, where it refreshes; a thief's is the thief's own", () =>
    watched(function* (world, took) {
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
    }))

  test("of its client alone, where one that shows itself revokes", () =>
    watched(function* (world, took) {
      const client = yield* registerClient(world)
      const { access, refresh: refreshToken } = yield* signInToApp(world, client)
      took()
      for (const token of [access, refreshToken]) {
        const body = form({ client_id: client.id, client_secret: client.secret, token })
        yield* world.send("POST", "/oauth/revoke", { headers: formHeaders, body })
        expect(took()).toEqual([`client ${client.id}`])
      }
    }))

  test("of no caller, where the token is none of ours", () =>
    watched(function* (world, took) {
      const client = yield* registerClient(world)
      took()
      yield* tokenRequest(world, client, { grant_type: "refresh_token", refresh_token: "tsr_rt_x" })
      expect(took()).toEqual([`client ${client.id}`])
    }))

  test("of a public client at its network alone, where it shows nothing of the client's own", () =>
    watched(function* (world, took) {
      const client = yield* registerClient(world, publicly)
      const token = yield* codeFor(world, client)
      const ask = (path: string, fields: Readonly<Record<string, string>>) =>
        world.send("POST", path, { peer, headers: formHeaders, body: form({ client_id: client.id, ...fields }) })
      took()
      const unproven: ReadonlyArray<readonly [string, Readonly<Record<string, string>>]> = [
        ["/oauth/token", { grant_type: "unheard_of" }],
        ["/oauth/token", { grant_type: "client_credentials" }],
        ["/oauth/token", { grant_type: "refresh_token" }],
        ["/oauth/token", { grant_type: "refresh_token", refresh_token: "tsr_rt_x" }],
        ["/oauth/token", { grant_type: "authorization_code", code: "tsr_ac_x", redirect_uri: redirectUri }],
        ["/oauth/revoke", {}],
        ["/oauth/revoke", { token: "tsr_rt_x" }],
        ["/oauth/revoke", { token }],
        ["/oauth/introspect", { token: "tsr_rt_x" }]
      ]
      for (const [path, fields] of unproven) {
        yield* ask(path, fields)
        expect([path, fields, took()]).toEqual([
          path,
          fields,
          [`public_client ${client.id} ${network}`, `public_client_region ${client.id} ${region}`]
        ])
      }
    }))

  test("of the grant, where a public client shows what came of it; also of its network, where it is another's", () =>
    watched(function* (world, took) {
      const client = yield* registerClient(world, publicly)
      const thief = yield* registerClient(world, publicly)
      const code = yield* codeFor(world, client)
      took()
      const tokens = tokensOf(yield* redeem(world, client, code))
      const [ofGrant = "", ...others] = took()
      expect([ofGrant, others]).toEqual([expect.stringMatching(new RegExp(`^grant ${client.id} [\\w-]{8}$`)), []])
      yield* refresh(world, client, tokens.refresh)
      expect(took()).toEqual([ofGrant])

      const ofThief = [ofGrant.replace(client.id, thief.id), `public_client ${thief.id} `]
      yield* refresh(world, thief, tokens.refresh)
      expect(took()).toEqual(ofThief)
      yield* revoke(world, thief, tokens.refresh)
      expect(took()).toEqual(ofThief)
      yield* revoke(world, client, tokens.access)
      expect(took()).toEqual([ofGrant])
    }))

  test("of its network too, where a public client shows a token whose grant is gone, and not where it only ended", () =>
    watched(function* (world, took) {
      const client = yield* registerClient(world, publicly)
      const ended = yield* signInToApp(world, client)
      const gone = yield* signInToApp(world, client)
      const { grants } = world.services
      const known = yield* Effect.orDie(grants.examine(world.workspace, gone.refresh))
      if (known.kind !== "refresh") throw new Error("no refresh token")
      yield* Effect.orDie(grants.removeGrant(world.workspace.id, known.token.grant))
      yield* revoke(world, client, ended.refresh)
      took()
      const ofGrant = new RegExp(`^grant ${client.id} [\\w-]{8}$`)
      yield* refresh(world, client, ended.refresh)
      expect(took()).toEqual([expect.stringMatching(ofGrant)])
      for (const ask of [refresh(world, client, gone.refresh), revoke(world, client, gone.refresh)]) {
        yield* ask
        expect(took()).toEqual([expect.stringMatching(ofGrant), `public_client ${client.id} `])
      }
    }))

  test("of its network, where a device asks by a code that no device was given, and not where its own waits", () =>
    watched(function* (world, took) {
      const client = yield* deviceClient(world)
      const told = yield* waitingDevice(world, client)
      took()
      expect(yield* polledAs(world, client, told)).toBe("authorization_pending")
      expect(took().filter((share) => share.startsWith("public_client"))).toEqual([])
      expect(yield* polledAs(world, client, { deviceCode: `${told.deviceCode.slice(0, -2)}AA` })).toBe("invalid_grant")
      expect(took()).toEqual([`public_client ${client.id} `])
    }))

  test("that is no other's, when an attacker floods in the name of a public client", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world, publicly)
        const tokens = yield* signInToApp(world, client)
        const flood = Effect.map(
          world.send("POST", "/oauth/token", {
            peer,
            headers: formHeaders,
            body: form({ client_id: client.id, grant_type: "refresh_token", refresh_token: "tsr_rt_x" })
          }),
          ({ status }) => status
        )
        const answers = new Set<number>()
        for (let count = 0; count < 1300; count++) answers.add(yield* flood)
        expect([...answers]).toEqual([400, 429])
        const rotated = yield* world.send("POST", "/oauth/token", {
          peer,
          headers: formHeaders,
          body: form({ client_id: client.id, grant_type: "refresh_token", refresh_token: tokens.refresh })
        })
        expect(rotated.status).toBe(200)
      },
      { limiter: Layer.provide(sharedLimits, [memory, Entropy.layer]) }
    ))
})
