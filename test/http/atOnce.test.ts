import { describe, expect, test } from "bun:test"
import { Context, Effect, Exit, Layer } from "effect"
import { layerAtOnce } from "../../adapters/memory/MemoryStorage.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { layer as sharedLimits } from "../../core/limits/SharedLimiter.ts"
import { Audit } from "../../core/ports/Audit.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Pages } from "../../core/ports/Pages.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { ResourceOwner } from "../../core/ports/ResourceOwner.ts"
import { Workspaces } from "../../core/ports/Workspaces.ts"
import { grantIdOf, idLength, readClientId, UserId } from "../../core/rules/Id.ts"
import { CodeChallenge } from "../../core/rules/Pkce.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { RedirectTarget } from "../../core/rules/RedirectUri.ts"
import { scopesWithoutUser } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { Tessera } from "../../core/Tessera.ts"
import { Keys } from "../../core/token/KeyRing.ts"
import { keyFrom, requestOf, theWorkspace } from "../given/World.ts"

const nobody = Layer.succeed(
  ResourceOwner,
  ResourceOwner.of({
    current: () => Effect.succeedNone,
    signInAt: () => "/login",
    profile: () => Effect.succeedNone
  })
)

const below = Layer.merge(layerAtOnce, Entropy.layer)
const ports = Layer.mergeAll(
  Keys.layer([keyFrom(1)]),
  Audit.layerNone,
  nobody,
  RegistrationPolicy.layerOpen,
  Pages.layer(),
  Workspaces.layerOne(theWorkspace),
  sharedLimits
).pipe(Layer.provideMerge(below))

const callback = "https://app.example.org/callback"
const verifier = "a-code-verifier-of-at-least-43-characters-~._"
const form = { "content-type": "application/x-www-form-urlencoded", host: "auth.example.com" }

/** A server over a store that answers at once, with its limits on, and what a client of its own asks for. */
const server = Effect.gen(function* () {
  const policy = { ...standardPolicy, workspaceAccess: "registered" as const }
  const tessera = Context.get(yield* Layer.build(Tessera.layer({ policy }).pipe(Layer.provide(ports))), Tessera)
  const workspace = yield* tessera.open(theWorkspace)
  const json = (response: HttpResponse) => JSON.parse(response.body) as Record<string, string>
  const registered = yield* tessera.handle(
    requestOf("POST", "/oauth/register", {
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        redirect_uris: [callback],
        grant_types: ["authorization_code", "refresh_token", "client_credentials"],
        token_endpoint_auth_method: "client_secret_post"
      }),
      peer: "192.0.2.1"
    })
  )
  const { client_id = "", client_secret = "" } = json(registered)
  const { services } = tessera
  const id = yield* Effect.fromOption(readClientId(client_id))
  const approved = {
    client: id,
    user: UserId.make("ann"),
    redirectUri: RedirectTarget.make(callback),
    challenge: CodeChallenge.make(digestOf(verifier)),
    scope: scopesWithoutUser(policy.scopes),
    resources: null
  }
  const code = yield* services.grants.begin(workspace, approved, grantIdOf(services.entropy.bytes(idLength)))
  const begin = (path: string, fields: Record<string, string>) =>
    tessera.begin(
      requestOf("POST", path, {
        headers: form,
        body: new URLSearchParams({ client_id, client_secret, ...fields }).toString(),
        peer: "192.0.2.1"
      })
    )
  return { tessera, begin, json, code }
})

/** What is there already; `undefined` where it has to be waited for. */
const atOnce = <A, E>(answer: Effect.Effect<A, E>): A | undefined =>
  Exit.isExit(answer) && Exit.isSuccess(answer) ? (answer.value as A) : undefined

describe("an answer that waits for nothing is there without a fiber", () => {
  test("at the token and introspection endpoints, limits on", () =>
    Effect.gen(function* () {
      const { begin, code, json } = yield* server
      const owned = { grant_type: "client_credentials" }
      // The first of each reads what the others find at hand.
      yield* begin("/oauth/token", owned)
      const redeemed = yield* begin("/oauth/token", {
        grant_type: "authorization_code",
        code,
        redirect_uri: callback,
        code_verifier: verifier
      })
      const { access_token = "", refresh_token = "" } = json(redeemed)
      yield* begin("/oauth/introspect", { token: access_token })
      const asked = [
        begin("/oauth/token", owned),
        begin("/oauth/introspect", { token: access_token }),
        begin("/oauth/token", { grant_type: "refresh_token", refresh_token })
      ]
      expect(asked.map((answer) => atOnce(answer)?.status)).toEqual([200, 200, 200])
    }).pipe(Effect.scoped, Effect.runPromise))
})
