import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { Limiter } from "../../core/ports/Limiter.ts"
import { TooManyRequests } from "../../core/rules/Refusal.ts"
import { authorizeTarget, form, formHeaders, header, jsonOf, registerClient } from "../given/flow.ts"
import { pageName } from "../given/page.ts"
import { inWorld, type World } from "../given/World.ts"

const exhausted = Layer.succeed(Limiter, {
  take: (key) => Effect.fail(new TooManyRequests({ limit: key.allowance.name, retryAfterSeconds: 17 }))
})

describe("an authorization request that leads nowhere", () => {
  test("shows developers which redirect_uri was sent, spelled out, and never sends a browser there", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const sent = 'https://evil.example/<b>"\u202e'
      const page = yield* world.send("GET", authorizeTarget(client, { redirect_uri: sent }))
      expect(page.status).toBe(400)
      expect(header(page, "location")).toBeUndefined()
      expect(pageName(page)).toBe("error-redirect-uri-mismatch")
      expect(page.body).toContain("https://evil.example/&lt;b&gt;&quot;\\u{202e}")
      expect(page.body).toContain(client.id)
      expect(page.body).not.toContain("<b>")
      expect(page.body).not.toContain('href="https://evil.example')
    }))

  test("says of each fault what it is", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const said: ReadonlyArray<readonly [string, string]> = [
        ["/oauth/authorize", "bad-request"],
        [`/oauth/authorize?client_id=${client.id}&client_id=x`, "bad-request"],
        [`/oauth/authorize?client_id=${client.id}`, "bad-request"],
        [`/oauth/authorize?client_id=${client.id}&redirect_uri=a&redirect_uri=b`, "bad-request"],
        [authorizeTarget({ ...client, id: "A".repeat(22) }), "unknown-client"]
      ]
      for (const [target, name] of said) {
        const page = yield* world.send("GET", target)
        expect(page.status).toBe(400)
        expect(pageName(page)).toBe(`error-${name}`)
      }
    }))

  test("says that no client is known by its address where this server fetches nothing", () =>
    inWorld(function* (world) {
      const client = { ...(yield* registerClient(world)), id: "https://app.example/client.json" }
      const page = yield* world.send("GET", authorizeTarget(client))
      expect([page.status, pageName(page)]).toEqual([400, "error-unknown-client"])
      expect(world.log.join("")).not.toContain("a defect")
    }))
})

const approve = (world: World) =>
  world.send("POST", "/consent", {
    as: "alice",
    headers: formHeaders,
    body: form({ request: "a=b", ticket: "t", decision: "approve" })
  })

describe("a page about a refusal", () => {
  test("says once when to come back after too many requests", () =>
    inWorld(
      function* (world) {
        const page = yield* approve(world)
        expect(page.status).toBe(429)
        expect(page.headers.filter(([name]) => name === "retry-after")).toEqual([["retry-after", "17"]])
        expect(pageName(page)).toBe("rate-limited")
        expect(page.body).toContain("17")
        expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "TooManyRequests", reason: "account" })
      },
      { limiter: exhausted }
    ))

  test("tells attempts to sign in from what else there was too much of", async () => {
    /** What the page says where this limit is reached, whatever the request's id. */
    const saidOf = (limit: string) =>
      inWorld(
        (world) =>
          Effect.map(approve(world), (page) => page.body.replaceAll(header(page, "x-request-id") ?? "no id", "")),
        { limiter: Layer.succeed(Limiter, { take: () => new TooManyRequests({ limit, retryAfterSeconds: 17 }) }) }
      )
    const ofSignIns = ["sign_in", "sign_in_device", "sign_in_login", "sign_in_network", "sign_in_network_region"]
    const [signIns, others] = [
      new Set(await Promise.all([...ofSignIns, "sign_in_pair"].map(saidOf))),
      new Set(await Promise.all(["account", "authorize"].map(saidOf)))
    ]
    expect([signIns.size, others.size, new Set([...signIns, ...others]).size]).toEqual([1, 1, 2])
  })

  test("is for a client that takes pages, and any other is told in JSON that there is nothing", () =>
    inWorld(function* (world) {
      for (const accept of ["application/json", "*/*", "", undefined]) {
        const headers: Record<string, string> = accept === undefined ? {} : { accept }
        const answer = yield* world.send("GET", "/nowhere", { headers })
        expect([answer.status, header(answer, "content-type")]).toEqual([404, "application/json"])
        expect(jsonOf(answer).error).toBe("not_found")
      }
    }))

  test("carries the request's id and the way on", () =>
    inWorld(function* (world) {
      const page = yield* world.send("GET", "/nowhere", { headers: { accept: "text/html" } })
      expect(page.status).toBe(404)
      expect(page.body).toContain(header(page, "x-request-id") ?? "no id")
      expect(page.body).toContain('href="/"')
    }))

  test("of consent does not lead to a page that only applications open", () =>
    inWorld(function* (world) {
      const page = yield* world.send("POST", "/consent", {
        as: "alice",
        headers: formHeaders,
        body: form({ request: "a=b", ticket: "t", decision: "approve", csrf: "no" })
      })
      expect(page.status).toBe(403)
      expect(pageName(page)).toBe("error-form-expired")
      expect(page.body).not.toContain('href="/consent"')
    }))
})
