import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { decodeJwt } from "jose"
import * as sqlite from "../../adapters/sqlite/Sqlite.ts"
import { logoutKind } from "../../core/engine/logoutCalls.ts"
import { makeRecords } from "../../core/engine/Records.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { selfSigned } from "../adapters/selfSigned.ts"
import { challenge, form, verifier } from "../given/flow.ts"
import { owner, type RunningServer, startServer } from "../given/server.ts"
import { postToken, register, Visitor } from "../given/serverVisitor.ts"
import { pollUntil } from "../harness/pollUntil.ts"
import { command } from "../runtimes/given/tessera.ts"

const sessions = 4

/** An application that hears of logouts. It leaves the calls at these places in their order without an answer. */
const listening = (tls: { readonly key: string; readonly cert: string }, unanswered: ReadonlyArray<number>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const heard: Array<Readonly<Record<string, unknown>>> = []
        const server = Bun.serve({
          hostname: "127.0.0.1",
          port: 0,
          tls,
          fetch: async (request) => {
            const token = new URLSearchParams(await request.text()).get("logout_token") ?? ""
            heard.push(decodeJwt(token))
            return unanswered.includes(heard.length) ? new Promise<Response>(() => undefined) : new Response()
          }
        })
        return { heard, server }
      }),
      ({ server }) => Effect.promise(() => server.stop(true))
    ),
    ({ heard, server }) => ({ heard, origin: `https://localhost:${server.port}` })
  )

/** The ID token of a session of its own. */
const signIn = async (url: string, client: Awaited<ReturnType<typeof register>>, redirectUri: string) => {
  const visitor = new Visitor(url)
  await visitor.signIn()
  const back = await visitor.decide(
    `/oauth/authorize?${form({
      response_type: "code",
      client_id: client.client_id,
      redirect_uri: redirectUri,
      scope: "openid",
      code_challenge: challenge,
      code_challenge_method: "S256"
    })}`
  )
  const answer = await postToken(url, {
    grant_type: "authorization_code",
    client_id: client.client_id,
    client_secret: String(client.client_secret),
    code: back.searchParams.get("code") ?? "",
    redirect_uri: redirectUri,
    code_verifier: verifier
  })
  const { id_token } = (await answer.json()) as { readonly id_token: string }
  return { visitor, hint: id_token }
}

/** As if the lease of a minute had run out; answers whether there was one. */
const endLeases = ({ folder }: RunningServer) =>
  Effect.gen(function* () {
    const storage = Context.get(yield* Layer.build(sqlite.layer({ path: join(folder, "tessera.db") })), Storage)
    const records = makeRecords(storage, logoutKind)
    const home = WorkspaceId.make("default")
    const { values } = yield* records.list(home, "queues", { after: undefined, limit: 10 })
    let leased = false
    for (const queue of values) {
      const ended = Effect.gen(function* () {
        const kept = yield* records.get(home, logoutKind.id(queue))
        if (kept?.value._tag !== "Queue" || kept.value.lease === null) return false
        const { lease, ...rest } = kept.value
        const over = { ...rest, lease: { ...lease, until: rest.dueAt } }
        yield* records.replace(home, kept.version, over, "a minute later")
        return true
      })
      // The server that was started anew writes to it, too.
      if (yield* Effect.retry(ended, { times: 16, while: ({ _tag }) => _tag === "Conflict" })) leased = true
    }
    return leased
  }).pipe(Effect.scoped, Effect.orDie)

/** The application that hears of sign-outs. */
const registerAt = (url: string, origin: string) =>
  register(url, {
    redirect_uris: [`${origin}/callback`],
    token_endpoint_auth_method: "client_secret_post",
    id_token_signed_response_alg: "ES256",
    backchannel_logout_uri: `${origin}/logout`
  })

test("kill -9 of the process that delivers logout calls: another process delivers them all, in their order", () =>
  Effect.gen(function* () {
    const files = yield* selfSigned()
    const tls = { key: readFileSync(files.key, "utf8"), cert: readFileSync(files.cert, "utf8") }
    // Killed with the first call at the application, and again with the third behind it.
    const { heard, origin } = yield* listening(tls, [1, 4])
    const server = yield* startServer({
      env: { RATE_LIMITS: "off", FETCH_ALLOW: new URL(origin).host, FETCH_CA: files.cert }
    })
    const redirectUri = `${origin}/callback`
    const client = yield* Effect.promise(() => registerAt(server.url, origin))
    const sids: Array<unknown> = []
    const people: Array<Awaited<ReturnType<typeof signIn>>> = []
    for (let n = 0; n < sessions; n++) {
      people.push(yield* Effect.promise(() => signIn(server.url, client, redirectUri)))
    }
    for (const { hint, visitor } of people) {
      const answer = yield* Effect.promise(() => visitor.get(`/oauth/logout?${form({ id_token_hint: hint })}`))
      expect(answer.status).toBe(200)
      sids.push(decodeJwt(hint).sid)
    }
    for (const calls of [1, 4]) {
      expect(
        yield* pollUntil(
          Effect.sync(() => heard.length === calls),
          20_000
        )
      ).toBe(true)
      yield* server.kill
      expect(yield* endLeases(server)).toBe(true)
      yield* server.start
    }
    expect(
      yield* pollUntil(
        Effect.sync(() => heard.length === sessions + 2),
        20_000
      )
    ).toBe(true)
    expect(heard.map(({ sid }) => sid)).toEqual([sids[0], sids[0], sids[1], sids[2], sids[2], sids[3]])
    expect(new Set(heard.map(({ jti }) => jti)).size).toBe(sessions)
    // And nothing is left behind.
    expect(
      yield* pollUntil(
        Effect.map(endLeases(server), (leased) => !leased),
        20_000
      )
    ).toBe(true)
    expect(heard).toHaveLength(sessions + 2)
  }).pipe(Effect.scoped, Effect.runPromise))

test("an owner ends sessions on the command line while no server runs: the next one tells the applications", () =>
  Effect.gen(function* () {
    const files = yield* selfSigned()
    const tls = { key: readFileSync(files.key, "utf8"), cert: readFileSync(files.cert, "utf8") }
    const { heard, origin } = yield* listening(tls, [])
    const server = yield* startServer({ env: { FETCH_ALLOW: new URL(origin).host, FETCH_CA: files.cert } })
    const redirectUri = `${origin}/callback`
    const client = yield* Effect.promise(() => registerAt(server.url, origin))
    const { hint, visitor } = yield* Effect.promise(() => signIn(server.url, client, redirectUri))
    yield* server.stop
    const env = { DATABASE_URL: `sqlite:${join(server.folder, "tessera.db")}`, BASE_URL: server.url }
    const ended = yield* command(["session", "end", owner.email], { cwd: server.folder, env })
    expect(ended.status).toBe(0)
    expect(heard).toEqual([])
    yield* server.start
    expect(
      yield* pollUntil(
        Effect.sync(() => heard.length > 0),
        20_000
      )
    ).toBe(true)
    expect(heard.map(({ aud, sid }) => [aud, sid])).toEqual([[client.client_id, decodeJwt(hint).sid]])
    expect((yield* Effect.promise(() => visitor.get("/settings/profile"))).status).toBe(303)
  }).pipe(Effect.scoped, Effect.runPromise))
