import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { bearing, registerClient, signInToApp } from "../../given/flow.ts"
import { inWorld } from "../../given/World.ts"

describe("a token that is bound to a part of the API", () => {
  test("is not let in where the path only spells that part's address", () =>
    inWorld((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const resource = `${world.workspace.issuer}/rest/companies`
        const { access } = yield* signInToApp(world, client, { resource })
        const knock = (path: string) =>
          Effect.map(world.guard(path, { scopes: ["api"] }, bearing(access)), (g) => g._tag)
        expect(yield* knock("/rest/companies")).toBe("Admitted")
        expect(yield* knock("/rest/companies/1")).toBe("Admitted")
        const strange = [
          "//auth.example.com/rest/companies",
          "/\\auth.example.com/rest/companies",
          "//:99999/",
          "/rest/companies/../people",
          "/rest/companies/%2e%2e/people",
          "/rest/companies/.%2E/people",
          "/rest/companies\\..\\people",
          "/rest/companiesx"
        ]
        for (const path of strange) expect([path, yield* knock(path)]).toEqual([path, "Refused"])
      })
    ))
})
