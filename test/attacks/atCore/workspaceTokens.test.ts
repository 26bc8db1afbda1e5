import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { ScopeName, ScopeRegistry } from "../../../core/rules/Scope.ts"
import { bearing, jsonHeaders, jsonOf, registerClient, text, tokenRequest } from "../../given/flow.ts"
import { inWorld } from "../../given/World.ts"

const scope = (name: string, byDefault: boolean) => ({
  name: ScopeName.make(name),
  meaning: name,
  needsUser: false,
  byDefault
})

const scopes = ScopeRegistry.make([scope("read", true), scope("write", false)])

describe("a client's own access token", () => {
  test("never gains what the client registered for later", () =>
    inWorld(
      (world) =>
        Effect.gen(function* () {
          const metadata = { grant_types: ["client_credentials"], redirect_uris: [], scope: "read" }
          const client = yield* registerClient(world, metadata)
          const ask = () => tokenRequest(world, client, { grant_type: "client_credentials", scope: "read write" })
          const first = jsonOf(yield* ask())
          expect(first.scope).toBe("read")

          const changed = yield* world.send("PUT", new URL(client.registrationUri).pathname, {
            headers: { ...jsonHeaders, ...bearing(client.registrationToken) },
            body: JSON.stringify({
              ...metadata,
              client_id: client.id,
              token_endpoint_auth_method: "client_secret_post",
              scope: "read write"
            })
          })
          expect(changed.status).toBe(200)
          expect(jsonOf(yield* ask()).scope).toBe("read write")

          const admitted = (needed: string) =>
            Effect.map(
              world.guard("/", { scopes: [needed] }, bearing(text(first.access_token))),
              (guarded) => guarded._tag
            )
          expect(yield* admitted("read")).toBe("Admitted")
          expect(yield* admitted("write")).toBe("Refused")
        }),
      { policy: { scopes } }
    ))
})
