import { expect, test } from "bun:test"
import { Effect, Logger } from "effect"
import type { HttpResponse } from "../../core/http/Http.ts"
import { type Handler, page } from "../../core/http/Route.ts"
import { header, jsonOf } from "../given/flow.ts"
import { inWorld } from "../given/World.ts"

// What hosts without types answer: a forgotten `return`, and headers as other frameworks have them.
const nothings: Readonly<Record<string, unknown>> = {
  "/nothing": undefined,
  "/object": { status: 200, headers: { a: "b" }, body: "" }
}

const answering = (nothing: unknown): Handler => {
  // The very thing that no type allows.
  const answer = nothing as HttpResponse
  return ({ request }) => (request.query === "" ? Effect.succeed(answer) : Effect.as(Effect.yieldNow, answer))
}

test.each(Object.keys(nothings).flatMap((path) => [path, `${path}?later`]))(
  "a host's route that answers with no answer is a 500 with an id, and in the log: %s",
  (target) => {
    const logged: Array<string> = []
    const logger = Logger.make(({ message }) => {
      logged.push(JSON.stringify(message))
    })
    return inWorld(
      (world) =>
        Effect.gen(function* () {
          const response = yield* world.send("GET", target)
          expect([response.status, jsonOf(response).error]).toEqual([500, "server_error"])
          const id = header(response, "x-request-id") ?? "no id"
          expect(logged).toEqual([expect.stringMatching(new RegExp(`a defect.*${id}`))])
        }).pipe(Effect.provide(Logger.layer([logger]))),
      {
        endpoints: Object.entries(nothings).map(([path, nothing]) => ({
          path,
          match: "exact",
          methods: { GET: page(() => answering(nothing)) },
          errors: "oauth",
          cors: false
        }))
      }
    )
  }
)

test.each([
  ["dies", Effect.die(new Error("on purpose")), 500, "server_error"],
  ["is stopped", Effect.interrupt, 503, "temporarily_unavailable"]
] as const)("a host's route that %s is told as that, and in the log as a fault is", (_, ending, status, error) =>
  inWorld(
    function* (world) {
      const response = yield* world.send("GET", "/ends")
      expect([response.status, jsonOf(response).error]).toEqual([status, error])
      const id = header(response, "x-request-id") ?? "no id"
      const line = expect.stringMatching(new RegExp(`a defect.*${id}.*/ends.*on purpose`, "s")) as unknown as string
      expect(world.log).toEqual(status === 500 ? [line] : [])
    },
    {
      endpoints: [
        { path: "/ends", match: "exact", methods: { GET: page(() => () => ending) }, errors: "oauth", cors: false }
      ]
    }
  )
)
