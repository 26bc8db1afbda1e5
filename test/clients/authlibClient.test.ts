import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import { deviceGrant } from "../../core/client/Profile.ts"
import { hiddenFields } from "../given/flow.ts"
import { startServer } from "../given/server.ts"
import { companiesStatus, locationOf, register as registerAt, Visitor } from "../given/serverVisitor.ts"
import { python } from "../harness/given.ts"
import { command } from "../runtimes/given/tessera.ts"
import { keyOf, keyServer } from "./signing.ts"

/** Authlib, where the machine has Python. */
const program = python()

interface Answer {
  readonly access?: string
  readonly claims?: Readonly<Record<string, unknown>>
  readonly kid?: string
  readonly kids?: ReadonlyArray<string>
  readonly request?: string
  readonly verifier?: string
  readonly state?: string
  readonly status?: number
  readonly failure?: string
  readonly device?: string
  readonly code?: string
  readonly at?: string
  readonly renewed?: string
  readonly type?: string
  readonly scope?: string
}

/** RFC 8628: the owner enters the code that the device shows, and lets it in. */
const letIn = async (url: string, code: string): Promise<void> => {
  const visitor = new Visitor(url)
  await visitor.signIn()
  const entered = await visitor.submit("/device", { user_code: code })
  const page = await visitor.get(locationOf(entered).href)
  const answer = await visitor.post("/consent", { ...hiddenFields(await page.text()), decision: "approve" })
  expect(answer.status).toBe(200)
}

const opened = (program: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(program, [join(import.meta.dir, "authlibClient.py")], { stdio: ["pipe", "pipe", "inherit"] })
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const ask = (what: object) =>
        Effect.promise(async (): Promise<Answer> => {
          child.stdin.write(`${JSON.stringify(what)}\n`)
          // The lines are those of the script beside this file.
          return JSON.parse(String((await lines.next()).value))
        })
      return { ask, child }
    }),
    ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
  )

if (program !== undefined) {
  test("Authlib signs for itself through a rotation of its keys, reads our tokens through one of ours, pushes and redeems with a key, and gets a device its tokens, which an API exchanges", () =>
    Effect.gen(function* () {
      const keys = yield* keyServer
      const { env } = keys
      const server = yield* startServer({ env: { ...env, RATE_LIMITS: "off" } })
      const { ask } = yield* opened(program)
      const rsa = yield* keyOf("PS256", "rsa")
      const first = yield* keyOf("ES256", "first")
      const second = yield* keyOf("EdDSA", "second")
      keys.served.keys = [first.told]
      const metadata = {
        grant_types: ["client_credentials"],
        redirect_uris: [],
        token_endpoint_auth_method: "private_key_jwt"
      }
      const register = (more: object) =>
        Effect.map(
          Effect.promise(() => registerAt(server.url, { ...metadata, ...more })),
          ({ client_id }) => client_id
        )
      const byValue = yield* register({ jwks: { keys: [rsa.told] } })
      const byAddress = yield* register({ jwks_uri: `https://${keys.host}/keys` })
      const endpoint = `${server.url}/oauth/token`
      const tokenOf = (client: string, key: object, audience = server.url) =>
        ask({ do: "token", client, key, endpoint, audience })
      const refused = { failure: "invalid_client" }

      // Its own way, with the endpoint as the audience, and that of RFC 7523's revision.
      expect((yield* tokenOf(byValue, rsa.own, endpoint)).access).toStartWith("tsr_at_")
      expect((yield* tokenOf(byValue, rsa.own)).access).toStartWith("tsr_at_")
      expect(yield* tokenOf(byValue, first.own)).toEqual(refused)

      expect((yield* tokenOf(byAddress, first.own)).access).toStartWith("tsr_at_")
      keys.served.keys = [first.told, second.told]
      expect((yield* tokenOf(byAddress, second.own)).access).toStartWith("tsr_at_")
      expect((yield* tokenOf(byAddress, first.own)).access).toStartWith("tsr_at_")
      expect(yield* tokenOf(byAddress, rsa.own)).toEqual(refused)

      const operator = {
        cwd: server.folder,
        env: { ...env, DATABASE_URL: `sqlite:${join(server.folder, "tessera.db")}`, BASE_URL: server.url }
      }
      const run = (...args: ReadonlyArray<string>) => Effect.map(command(args, operator), ({ status }) => status)
      const read = (access = "") => ask({ do: "read", access, jwks_uri: `${server.url}/oauth/jwks` })
      expect(yield* run("client", "access-tokens", byValue, "jwt")).toBe(0)
      const before = yield* tokenOf(byValue, rsa.own)
      const seen = yield* read(before.access)
      expect(seen).toMatchObject({ claims: { sub: byValue, iss: server.url } })
      expect(yield* run("signing-keys", "rotate")).toBe(0)
      expect(yield* run("signing-keys", "retire", seen.kid ?? "", "--compromised")).toBe(0)
      // What it has of its keys in memory is a few seconds old at most: a new start has nothing.
      yield* server.stop
      yield* server.start
      const after = yield* tokenOf(byValue, rsa.own)
      const told = yield* read(after.access)
      expect([told.claims?.sub, told.kid === seen.kid, told.kids?.length]).toEqual([byValue, false, 2])
      expect((yield* read(before.access)).failure).toBeDefined()

      // FAPI 2.0, as far as a library goes that makes no proofs by itself.
      const holder = yield* keyOf("ES256", "holder")
      const redirect_uri = "https://app.example/callback"
      const strict = yield* register({
        grant_types: ["authorization_code", "refresh_token"],
        redirect_uris: [redirect_uri],
        jwks: { keys: [rsa.told] },
        security_profile: "fapi2"
      })
      const authorize = `${server.url}/oauth/authorize`
      const flow = { client: strict, key: rsa.own, holder: holder.own, audience: server.url, redirect_uri }
      const pushed = yield* ask({ do: "push", par: `${server.url}/oauth/par`, authorize, ...flow })
      expect(pushed.request).toStartWith("urn:ietf:params:oauth:request_uri:")
      const query = new URLSearchParams({ client_id: strict, request_uri: pushed.request ?? "" })
      const back = yield* Effect.promise(() => new Visitor(server.url).decide(`${authorize}?${query}`))
      const { state, verifier } = pushed
      const called = `${server.url}/rest/companies`
      const bound = yield* ask({ do: "redeem", endpoint, api: called, back: back.href, state, verifier, ...flow })
      expect(bound).toMatchObject({ type: "DPoP", status: 200 })
      expect(yield* Effect.promise(() => companiesStatus(server.url, bound.access ?? ""))).toBe(401)

      // A television, and an API that it sends its token to.
      const none = { token_endpoint_auth_method: "none", redirect_uris: undefined }
      const tv = yield* register({ ...none, grant_types: [deviceGrant, "refresh_token"] })
      const waits = yield* ask({ do: "device", client: tv, endpoint: `${server.url}/oauth/device_authorization` })
      expect(waits).toMatchObject({ at: `${server.url}/device` })
      const poll = ask({ do: "poll", client: tv, endpoint, device: waits.device })
      expect(yield* poll).toEqual({ failure: "authorization_pending" })
      yield* Effect.promise(() => letIn(server.url, waits.code ?? ""))
      const got = yield* poll
      const opens = (access = "") => Effect.promise(() => companiesStatus(server.url, access))
      expect([yield* opens(got.access), yield* opens(got.renewed)]).toEqual([200, 200])

      const api = yield* Effect.promise(() =>
        registerAt(server.url, { ...metadata, token_endpoint_auth_method: "client_secret_post" })
      )
      const secret = String(api.client_secret)
      const exchange = (scope: string) =>
        ask({ do: "exchange", client: api.client_id, secret, endpoint, access: got.renewed, scope })
      expect(yield* exchange("api")).toEqual({ failure: "unauthorized_client" })
      expect(yield* run("client", "exchange", api.client_id, server.url)).toBe(0)
      const passedOn = yield* exchange("api")
      expect(passedOn).toMatchObject({ type: "urn:ietf:params:oauth:token-type:access_token", scope: "api" })
      expect(yield* opens(passedOn.access)).toBe(200)
      expect(yield* exchange("api profile")).toEqual({ failure: "invalid_scope" })
    }).pipe(Effect.scoped, Effect.runPromise))
}
