import { describe, expect, test } from "bun:test"
import { Elysia } from "elysia"
import * as ofElysia from "../../runtimes/elysia.ts"
import * as ofFetch from "../../runtimes/fetch.ts"
import type { Guard } from "../../runtimes/guard.ts"
import { bearer, letIn } from "../embed/host.ts"
import { withRemote } from "./remote.ts"

const needs = { scopes: ["api"], resource: "/orders" }

type Handle = (request: Request) => Response | Promise<Response>

const apps: ReadonlyArray<readonly [name: string, app: (guard: Guard) => Handle]> = [
  ["a fetch handler", (guard) => ofFetch.guard(guard, needs, (_, principal) => Response.json({ of: principal._tag }))],
  [
    "Elysia, as it resolves",
    (guard) =>
      new Elysia()
        .get("/open", () => "open")
        .resolve(ofElysia.guard(guard, needs))
        .get("/orders", ({ principal }) => ({ of: principal._tag })).handle
  ],
  [
    "Elysia, as it derives, before bodies are validated",
    (guard) =>
      new Elysia().derive(ofElysia.guard(guard, needs)).get("/orders", ({ principal }) => ({ of: principal._tag }))
        .handle
  ],
  [
    "Elysia that is not compiled",
    (guard) =>
      new Elysia({ aot: false })
        .resolve(ofElysia.guard(guard, needs))
        .get("/orders", ({ principal }) => ({ of: principal._tag })).handle
  ]
]

describe("a guarded route", () => {
  for (const [name, app] of apps) {
    test(`in ${name} answers as the guard itself does, here and over introspection`, () =>
      withRemote({}, async ({ auth, guard, line, resource }) => {
        const { access } = await letIn(auth, "ada", "profile")
        const { key } = await auth.apiKeys.create({ name: "Script" })
        const requests = [
          () => new Request(`${resource}/orders`),
          () => bearer(`${resource}/orders`, "forged"),
          () => bearer(`${resource}/orders`, access)
        ]
        for (const one of [auth, guard]) {
          const handle = app(one)
          const admitted = await handle(bearer(`${resource}/orders`, key))
          expect(admitted.status).toBe(200)
          expect(await admitted.json()).toEqual({ of: "ApiKey" })
          for (const request of requests) {
            const checked = await one.guard(request(), needs)
            if (checked._tag === "Admitted") throw new Error("it was admitted")
            const refused = await handle(request())
            expect(refused.status).toBe(checked.response.status)
            expect(await refused.text()).toBe(await checked.response.text())
            for (const [header, value] of checked.response.headers) {
              // Each refusal has an id of its own.
              if (header !== "x-request-id") expect([header, refused.headers.get(header)]).toEqual([header, value])
            }
          }
        }
        line.instead = () => Promise.reject(new TypeError("fetch failed"))
        guard.clear()
        const away = await app(guard)(bearer(`${resource}/orders`, key))
        expect(away.status).toBe(503)
        expect(away.headers.get("retry-after")).toBe("2")
      }))
  }
})
