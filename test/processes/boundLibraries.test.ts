import { describe, expect, test } from "bun:test"
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import { exportJWK } from "jose"
import * as oauth from "oauth4webapi"
import * as openid from "openid-client"
import { sealedPrefix } from "../../core/client/ClientIdentifier.ts"
import { deviceGrant } from "../../core/client/Profile.ts"
import { StorageScan } from "../../core/ports/Storage.ts"
import { form } from "../given/flow.ts"
import { companies, redeem, redirectUri, refresh, register } from "./Application.ts"
import { type Browser, makeBrowser } from "./Browser.ts"
import { field } from "./Reply.ts"
import {
  type Environment,
  environmentOver,
  issuer,
  type ServerProcess,
  sealKeys,
  startTessera,
  tessera
} from "./ServerProcess.ts"
import { everyStore, type Store } from "./Store.ts"

/** A request of a library, as it left. */
interface Sent {
  readonly path: string
  readonly init: RequestInit
}

/** Two processes over one store, and a person at a browser that is signed in. */
interface Scene {
  readonly pushAt: ServerProcess
  readonly redeemAt: ServerProcess
  readonly browser: Browser
  /** What a library sent, newest last. */
  readonly sent: Array<Sent>
}

/** What a library has in the end: a token, and how it calls an API with it. */
interface Had {
  readonly access: string
  readonly call: (server: ServerProcess) => Promise<Response>
}

/** Sends what is meant for the issuer to one of the processes, as a proxy would. */
const to =
  ({ sent }: Scene, server: ServerProcess) =>
  (url: string, init: object) => {
    const { pathname, search } = new URL(url)
    sent.push({ path: pathname + search, init })
    return fetch(server.url + pathname + search, init)
  }

const companiesAt = new URL(`${issuer}/rest/companies`)

/** The person lets the client in, the page drawn by one process and its form read by the other. */
const approve = ({ browser, pushAt, redeemAt }: Scene, asked: URL): Promise<URL> =>
  Effect.gen(function* () {
    const page = yield* browser.open(redeemAt, asked.pathname + asked.search)
    const answer = yield* browser.submit(pushAt, "/consent", page, { decision: "approve" })
    return new URL(answer.headers.get("location") ?? "")
  }).pipe(Effect.runPromise)

const keyOf = async (alg: string) => {
  const { privateKey, publicKey } = await oauth.generateKeyPair(alg)
  return { key: { key: privateKey, kid: "own" }, jwk: { ...(await exportJWK(publicKey)), kid: "own", alg } }
}

const signing = { redirect_uris: [redirectUri], token_endpoint_auth_method: "private_key_jwt" }

/** RFC 9449 §8: a client comes once more with the nonce that it was told. */
const twice = async <A>(ask: () => Promise<A>): Promise<A> => {
  try {
    return await ask()
  } catch (error) {
    if (oauth.isDPoPNonceError(error)) return ask()
    throw error
  }
}

const byOauth4webapi = async (scene: Scene): Promise<Had> => {
  const { pushAt, redeemAt } = scene
  const over = (server: ServerProcess) => ({ [oauth.customFetch]: to(scene, server) })
  const found = await oauth.discoveryRequest(new URL(issuer), { ...over(pushAt), algorithm: "oauth2" })
  const as = await oauth.processDiscoveryResponse(new URL(issuer), found)
  const { jwk, key } = await keyOf("ES256")
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      as,
      { ...signing, jwks: { keys: [jwk] }, security_profile: "fapi2" },
      over(pushAt)
    )
  )
  const auth = oauth.PrivateKeyJwt(key)
  const DPoP = oauth.DPoP({}, await oauth.generateKeyPair("Ed25519"))
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const fields = new URLSearchParams({
    response_type: "code",
    redirect_uri: redirectUri,
    scope: "api",
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state
  })
  const pushed = await twice(async () =>
    oauth.processPushedAuthorizationResponse(
      as,
      client,
      await oauth.pushedAuthorizationRequest(as, client, auth, fields, { ...over(pushAt), DPoP })
    )
  )
  const asked = new URL(String(as.authorization_endpoint))
  asked.search = new URLSearchParams({ client_id: client.client_id, request_uri: pushed.request_uri }).toString()
  const parameters = oauth.validateAuthResponse(as, client, await approve(scene, asked), state)
  const tokens = await twice(async () =>
    oauth.processAuthorizationCodeResponse(
      as,
      client,
      await oauth.authorizationCodeGrantRequest(as, client, auth, parameters, redirectUri, verifier, {
        ...over(redeemAt),
        DPoP
      })
    )
  )
  const renewed = await twice(async () =>
    oauth.processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(as, client, auth, String(tokens.refresh_token), { ...over(pushAt), DPoP })
    )
  )
  // FAPI 2.0 §5.3.2.1: the profile rotates no refresh tokens.
  expect([renewed.token_type, renewed.refresh_token]).toEqual(["dpop", tokens.refresh_token])
  const { access_token: access } = renewed
  return {
    access,
    call: (server) =>
      twice(() =>
        oauth.protectedResourceRequest(access, "GET", companiesAt, undefined, undefined, { ...over(server), DPoP })
      )
  }
}

const byOpenidClient = async (scene: Scene): Promise<Had> => {
  const { pushAt, redeemAt } = scene
  const { jwk, key } = await keyOf("EdDSA")
  const config = await openid.dynamicClientRegistration(
    new URL(issuer),
    {
      ...signing,
      jwks: { keys: [jwk] },
      dpop_bound_access_tokens: true,
      require_pushed_authorization_requests: true
    },
    openid.PrivateKeyJwt(key),
    { algorithm: "oauth2", [openid.customFetch]: to(scene, redeemAt) }
  )
  const from = (server: ServerProcess) => {
    config[openid.customFetch] = to(scene, server)
    return config
  }
  const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair("ES256"))
  const pkceCodeVerifier = openid.randomPKCECodeVerifier()
  const expectedState = openid.randomState()
  const fields = {
    redirect_uri: redirectUri,
    scope: "api",
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: "S256",
    state: expectedState
  }
  const asked = await openid.buildAuthorizationUrlWithPAR(from(pushAt), fields, { DPoP })
  const checks = { pkceCodeVerifier, expectedState }
  const back = await approve(scene, asked)
  const tokens = await openid.authorizationCodeGrant(from(redeemAt), back, checks, undefined, { DPoP })
  const renewed = await openid.refreshTokenGrant(from(pushAt), String(tokens.refresh_token), undefined, { DPoP })
  expect(renewed.token_type).toBe("dpop")
  const { access_token: access } = renewed
  return {
    access,
    call: (server) => openid.fetchProtectedResource(from(server), access, companiesAt, "GET", null, undefined, { DPoP })
  }
}

const programs = { oauth4webapi: byOauth4webapi, "openid-client": byOpenidClient } as const

/** Every request that was answered well, once more at both processes: what is good once is so for all of them. */
const replayed = async ({ pushAt, redeemAt }: Scene, sent: ReadonlyArray<Sent>) => {
  const statuses: Array<number> = []
  for (const server of [pushAt, redeemAt]) {
    for (const { init, path } of sent) statuses.push((await fetch(server.url + path, init)).status)
  }
  return statuses
}

const clientsIn = ({ layer }: Store) =>
  Effect.flatMap(StorageScan, ({ scan }) => Effect.map(scan("client", undefined, 1000), ({ records }) => records)).pipe(
    Effect.provide(layer),
    Effect.orDie
  )

/** Programs that register without a row: one gets in, and has one from then on. */
const zeroRowsAt = Effect.fnUntraced(function* ({ browser, pushAt, redeemAt }: Scene, store: Store) {
  const before = (yield* clientsIn(store)).length
  const [application, ...others] = yield* Effect.forEach([pushAt, redeemAt, pushAt], (server) => register(server))
  if (application === undefined) throw new Error("none registered")
  expect([application, ...others].map(({ id }) => id.startsWith(sealedPrefix))).toEqual([true, true, true])
  expect((yield* clientsIn(store)).length).toBe(before)
  // The other process never heard of it.
  const code = yield* browser.approve(redeemAt, application)
  expect((yield* clientsIn(store)).length).toBe(before + 1)
  const tokens = yield* redeem(pushAt, application, code)
  expect((yield* companies(redeemAt, field(tokens, "access_token"))).status).toBe(200)
  expect((yield* refresh(redeemAt, application, field(tokens, "refresh_token"))).status).toBe(200)
})

/** RFC 8628, whose requests each come to another process. */
const devicesAt = Effect.fnUntraced(function* ({ browser, pushAt, redeemAt }: Scene) {
  const television = { grant_types: [deviceGrant], token_endpoint_auth_method: "none", redirect_uris: undefined }
  const { id: client_id } = yield* register(pushAt, television)
  expect(client_id).toStartWith(sealedPrefix)
  const told = yield* redeemAt.post("/oauth/device_authorization", form({ client_id }))
  const [device_code, user_code] = [field(told, "device_code"), field(told, "user_code")]
  const polled = (server: ServerProcess) =>
    server.post("/oauth/token", form({ grant_type: deviceGrant, client_id, device_code }))
  expect(field(yield* polled(pushAt), "error")).toBe("authorization_pending")

  const asks = yield* browser.open(pushAt, "/device")
  const { headers } = yield* browser.submit(pushAt, "/device", asks, { user_code })
  const { pathname, search } = new URL(headers.get("location") ?? "", issuer)
  const page = yield* browser.open(pushAt, pathname + search)
  expect((yield* browser.submit(redeemAt, "/consent", page, { decision: "approve" })).status).toBe(200)
  const tokens = yield* polled(pushAt)
  const access = field(tokens, "access_token")
  expect((yield* companies(redeemAt, access)).status).toBe(200)
  // A code that comes twice ends what came of it, wherever it comes.
  expect(field(yield* polled(redeemAt), "error")).toBe("invalid_grant")
  for (const server of [pushAt, redeemAt]) expect((yield* companies(server, access)).status).toBe(401)
})

/** The doctor counts who goes by an id under each seal key, once another came in front of it. */
const findings = Effect.fnUntraced(function* (store: Store, settings: Environment) {
  const newer = randomBytes(32).toString("base64url")
  const sealed = (yield* clientsIn(store)).filter(({ body }) => JSON.stringify(body).includes(sealedPrefix)).length
  const ended = yield* tessera(["doctor", "--json"], {
    ...environmentOver(store),
    ...settings,
    SEAL_KEYS: `${newer},${sealKeys}`
  })
  // The shape is the doctor's; where it is not, the assertions fail.
  const all = JSON.parse(ended.stdout) as ReadonlyArray<{ readonly what: string; readonly state: string }>
  const found = all.find(({ what }) => what === "registrations")
  expect(sealed).toBeGreaterThan(0)
  expect(found).toMatchObject({ state: "doubtful" })
  expect(
    JSON.stringify(found)
      .match(/\b\d+(?= clients)/g)
      ?.map(Number)
  ).toEqual([0, sealed])
})

describe("a client that signs, pushes and holds a key goes from process to process, and a thief of what it sent nowhere", () => {
  test.each(everyStore)("over %s", (_, open) =>
    Effect.gen(function* () {
      const store = yield* open
      const settings = { DPOP_NONCE: "all", REGISTRATION_ROWS: "at_consent" }
      const [pushAt, redeemAt] = yield* Effect.all([startTessera(store, settings), startTessera(store, settings)], {
        concurrency: 2
      })
      const browser = makeBrowser()
      const [, link = ""] = /\/set-up\?token=([A-Za-z0-9_-]+)/.exec(pushAt.log()) ?? []
      const setUp = yield* browser.open(pushAt, `/set-up?token=${link}`)
      const typed = { name: "Ada", email: "ada@example.com", password: "correct horse battery staple" }
      expect((yield* browser.submit(pushAt, "/set-up", setUp, typed)).status).toBe(303)

      for (const [name, play] of Object.entries(programs)) {
        const scene: Scene = { pushAt, redeemAt, browser, sent: [] }
        const { access, call } = yield* Effect.promise(() => play(scene))
        expect([name, (yield* Effect.promise(() => call(redeemAt))).status]).toEqual([name, 200])
        const proven = scene.sent.filter(({ init }) => new Headers(init.headers).has("dpop"))
        // With the answers that asked for a nonce: pushed, redeemed, refreshed, opened.
        expect(proven.length).toBeGreaterThanOrEqual(4)
        for (const status of yield* Effect.promise(() => replayed(scene, proven))) {
          expect([400, 401]).toContain(status)
        }
        for (const server of [pushAt, redeemAt]) {
          const bare = yield* server.get("/rest/companies", { authorization: `Bearer ${access}` })
          const keyless = yield* server.get("/rest/companies", { authorization: `DPoP ${access}` })
          expect([bare.status, keyless.status]).toEqual([401, 401])
        }
        // None of that was the client's, so none of it ended what the client has.
        expect([name, (yield* Effect.promise(() => call(pushAt))).status]).toEqual([name, 200])
      }
      const scene: Scene = { pushAt, redeemAt, browser, sent: [] }
      yield* zeroRowsAt(scene, store)
      yield* devicesAt(scene)
      if (store.name === "SQLite") yield* findings(store, settings)
    }).pipe(Effect.scoped, Effect.runPromise)
  )
})
