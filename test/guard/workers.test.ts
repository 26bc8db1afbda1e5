import { expect, test } from "bun:test"
import { join } from "node:path"
import { Effect } from "effect"
import { CompactSign, exportJWK, generateKeyPair } from "jose"
import { holderOf, proofFor } from "../given/dpop.ts"
import { freePort } from "../harness/freePort.ts"
import { workerd } from "../harness/given.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { startWorkers } from "../harness/startWorkers.ts"

/** What the guards are told on Workers. */
export interface Words {
  readonly issuer: string
  readonly resource: string
}

const engine = workerd()
const utf8 = new TextEncoder()
const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true })
const jwk = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256", use: "sig" }

const ada = await holderOf("ES256")

/** An issuer that is asked, and that may keep its callers waiting. */
const slowIssuer = Effect.gen(function* () {
  let isSlow = false
  let arrived = Promise.withResolvers<void>()
  let left = Promise.withResolvers<void>()
  let released = Promise.withResolvers<void>()
  const now = Math.floor(Date.now() / 1000)
  const common = { sub: "ada", client_id: "app", scope: "api", principal: "User", grant: "g", exp: now + 600 }
  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: async (request) => {
          if (isSlow) {
            request.signal.addEventListener("abort", () => left.resolve())
            arrived.resolve()
            await released.promise
          }
          if (request.url.endsWith("/jwks")) return Response.json({ keys: [jwk] })
          const isBound = new URLSearchParams(await request.text()).get("token") === "bound"
          const bearing = isBound ? { token_type: "DPoP", cnf: { jkt: ada.jkt } } : { token_type: "Bearer" }
          return Response.json({ active: true, ...bearing, ...common })
        }
      })
    ),
    (server) => Effect.promise(() => server.stop(true))
  )
  const issuer = `http://127.0.0.1:${server.port}`
  return {
    issuer,
    token: (aud: string, grant: string) => {
      const claims = { ...common, iss: issuer, iat: now, jti: "0011223344556677", ref: "sealed", aud, grant }
      return new CompactSign(utf8.encode(JSON.stringify(claims)))
        .setProtectedHeader({ alg: "ES256", kid: "one", typ: "at+jwt" })
        .sign(privateKey)
    },
    /** While `ask` is under way, requests wait: answers when the first is there. */
    holding: () => {
      isSlow = true
      arrived = Promise.withResolvers()
      left = Promise.withResolvers()
      released = Promise.withResolvers()
      return { arrived: arrived.promise, left: left.promise }
    },
    release: () => {
      isSlow = false
      released.resolve()
    }
  }
})

const scene = Effect.fnUntraced(function* (engine: string) {
  const slow = yield* slowIssuer
  const port = yield* freePort
  const resource = `http://127.0.0.1:${port}`
  const words: Words = { issuer: slow.issuer, resource }
  yield* startWorkers(engine, { module: join(import.meta.dir, "guardsOnWorkers.ts"), env: { ...words }, port })
  const call = (path: string, token: string, signal?: AbortSignal) =>
    fetch(resource + path, {
      headers: { authorization: `Bearer ${token}` },
      ...(signal === undefined ? {} : { signal })
    }).then(({ status }) => status)
  /** A caller that goes away while the issuer is being asked for it: whatever its request had begun ends with it. */
  const leave = async (path: string, token: string) => {
    const { arrived, left } = slow.holding()
    const leaving = new AbortController()
    const gone = call(path, token, leaving.signal).catch(() => "gone")
    await arrived
    leaving.abort()
    expect(await gone).toBe("gone")
    await left
    slow.release()
  }
  return { ...slow, call, leave, resource }
})

if (engine !== undefined) {
  test("on Workers, a caller that goes away leaves no other waiting for what was asked for it", () =>
    Effect.gen(function* () {
      const { call, leave, resource, token } = yield* scene(engine)
      yield* Effect.promise(async () => {
        const [jwt, ofAnother] = [await token(resource, "one"), await token(resource, "another")]
        await leave("/remote", "token")
        expect(await call("/remote", "token")).toBe(200)
        await leave("/keys", jwt)
        expect(await call("/keys", jwt)).toBe(200)
        // With the keys, so that it is the grant that is asked about.
        expect(await call("/standing", ofAnother)).toBe(200)
        await leave("/standing", jwt)
        expect(await call("/standing", jwt)).toBe(200)
      })
    }).pipe(Effect.scoped, Effect.runPromise))

  test("on Workers, a caller that goes away takes up no room among the questions once its time is over", () =>
    Effect.gen(function* () {
      const { call, leave } = yield* scene(engine)
      yield* Effect.promise(() => leave("/one", "token"))
      const isAdmitted = Effect.map(
        Effect.promise(() => call("/one", "other")),
        (status) => status === 200
      )
      expect(yield* pollUntil(isAdmitted, 10_000)).toBe(true)
    }).pipe(Effect.scoped, Effect.runPromise))

  test("on Workers, a storage notes the proofs that were seen", () =>
    Effect.gen(function* () {
      const { resource } = yield* scene(engine)
      const claims = { iat: Math.floor(Date.now() / 1000) }
      const shown = () => Effect.runPromise(proofFor(ada, "GET", `${resource}/seen`, "bound", { claims }))
      const statusWith = async (dpop: string) =>
        (await fetch(`${resource}/seen`, { headers: { authorization: "DPoP bound", dpop } })).status
      yield* Effect.promise(async () => {
        const first = await shown()
        expect([await statusWith(first), await statusWith(first), await statusWith(await shown())]).toEqual([
          200, 401, 200
        ])
      })
    }).pipe(Effect.scoped, Effect.runPromise))
}
