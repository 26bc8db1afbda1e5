import { describe, expect, test } from "bun:test"
import { Clock, Effect, Layer } from "effect"
import { makeClients } from "../../../core/engine/Clients.ts"
import { clientKind, recordsOf } from "../../../core/engine/Records.ts"
import { Limiter } from "../../../core/ports/Limiter.ts"
import { ClientId } from "../../../core/rules/Id.ts"
import { standardPolicy } from "../../../core/rules/Policy.ts"
import { TooManyRequests } from "../../../core/rules/Refusal.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import { authorizeTarget, bearing, header, jsonHeaders, jsonOf, redirectUri, registerClient } from "../../given/flow.ts"
import { inWorld } from "../../given/World.ts"

describe("what is said is so", () => {
  test("whoever reads the log learns which limit was reached", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const client = yield* registerClient(world)
          yield* world.send("GET", authorizeTarget(client), { as: "alice" })
          expect(world.log.join()).toContain('"reason":"account"')
          expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "TooManyRequests", reason: "account" })
        }),
      {
        limiter: Layer.succeed(Limiter, {
          take: ({ allowance }) =>
            allowance.name === "account"
              ? Effect.fail(new TooManyRequests({ limit: allowance.name, retryAfterSeconds: 1 }))
              : Effect.void
        })
      }
    ))

  test("every address of a registration is plain text, as its names are", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        for (const member of ["client_uri", "logo_uri", "tos_uri", "policy_uri"]) {
          for (const odd of ["\u0000", "\u001b[31m", "\ud800", "\u0085"]) {
            const answer = yield* world.send("POST", "/oauth/register", {
              headers: jsonHeaders,
              body: JSON.stringify({ redirect_uris: [redirectUri], [member]: `https://app.example.org/${odd}` })
            })
            expect([member, answer.status, jsonOf(answer).error]).toEqual([member, 400, "invalid_client_metadata"])
          }
        }
      })
    ))

  test("Allow names no method that is then refused", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        for (const path of ["/oauth/authorize", "/oauth/introspect", "/consent", "/healthz"]) {
          const refused = yield* world.send("PATCH", path)
          expect(refused.status).toBe(405)
          for (const method of header(refused, "allow")?.split(", ") ?? []) {
            expect([path, method, (yield* world.send(method, path)).status]).not.toContain(405)
          }
        }
      })
    ))

  test("a secret that an update shows is the one that then works", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { token_endpoint_auth_method: "none" })
        const id = ClientId.make(client.id)
        yield* world.parts.clients.find(world.workspace.id, id)
        // Another process over the same store gives the client a secret; here it is still known without one.
        const clock = yield* Clock.Clock
        const elsewhere = makeClients(recordsOf(world.storage, clientKind), world.parts.entropy, standardPolicy, clock)
        const theirs = digestOf("a secret that the other process showed")
        yield* elsewhere.change(world.workspace.id, id, (found) => ({
          ...found,
          credential: { _tag: "Secret", method: "client_secret_post", digest: theirs }
        }))

        const answer = yield* world.send("PUT", new URL(client.registrationUri).pathname, {
          headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
          body: JSON.stringify({
            client_id: client.id,
            redirect_uris: [redirectUri],
            token_endpoint_auth_method: "client_secret_post"
          })
        })
        expect(jsonOf(answer)).toMatchObject({ token_endpoint_auth_method: "client_secret_post" })
        expect(jsonOf(answer)).not.toHaveProperty("client_secret")
      })
    ))
})
