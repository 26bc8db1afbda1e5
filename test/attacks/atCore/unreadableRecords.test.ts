import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { decodeBody, grantKind } from "../../../core/engine/Records.ts"
import { userGrants } from "../../../core/grant/Grant.ts"
import { UserId } from "../../../core/rules/Id.ts"
import { standardPolicy } from "../../../core/rules/Policy.ts"
import { readResource } from "../../../core/rules/Resource.ts"
import { authorizeTarget, decide, header, registerClient, returned } from "../../given/flow.ts"
import { inWorld, type World } from "../../given/World.ts"

const decode = decodeBody(grantKind(standardPolicy))

/** What is kept of a person's grants, read as a process that did not write it reads it. */
const keptOf = (world: World, person: string) =>
  Effect.map(
    world.storage.list({
      workspace: world.workspace.id,
      kind: "grant",
      owner: userGrants(UserId.make(person)),
      after: undefined,
      limit: 10
    }),
    ({ records }) => records.map(({ body }) => decode(JSON.parse(JSON.stringify(body))))
  )

describe("no request leads to a record that cannot be read back", () => {
  test("a resource that grows when it is written as an address", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const resource = `${world.workspace.issuer}/${"<".repeat(2000)}`
        const target = authorizeTarget(client, { resource })
        const page = yield* world.send("GET", target, { as: "alice" })
        if (page.status === 200) yield* decide(world, page, "approve")
        const kept = yield* keptOf(world, "alice")
        expect(kept.filter(Result.isFailure)).toEqual([])
        expect(returned(page).get("error")).toBe("invalid_target")
        expect(Result.isFailure(readResource(world.workspace.issuer, resource))).toBe(true)
      })
    ))

  test("a loopback redirect URI that grows by its port", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const registered = `http://127.0.0.1/${"a".repeat(2048 - "http://127.0.0.1/".length)}`
        const client = yield* registerClient(world, { redirect_uris: [registered] })
        const presented = registered.replace("127.0.0.1", "127.0.0.1:54321")
        const page = yield* world.send("GET", authorizeTarget(client, { redirect_uri: presented }), { as: "alice" })
        if (page.status === 200) yield* decide(world, page, "approve")
        const kept = yield* keptOf(world, "alice")
        expect(kept.filter(Result.isFailure)).toEqual([])
        expect(page.status).toBe(400)
        expect(header(page, "location")).toBeUndefined()
      })
    ))
})
