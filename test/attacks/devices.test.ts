import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { layer as sharedLimits } from "../../core/limits/SharedLimiter.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { ClientId } from "../../core/rules/Id.ts"
import { answerAs, deviceClient, enterCode, poll, polledAs, waitingDevice } from "../given/devices.ts"
import { companies, decide, form, formHeaders, hiddenFields, jsonOf, refresh, tokensOf } from "../given/flow.ts"
import { pageName } from "../given/page.ts"
import { inWorld, type World } from "../given/World.ts"

const attack = (what: string, body: (world: World) => Effect.Effect<void>) =>
  test(what, () => inWorld((world) => body(world)))

/** RFC 8628 §5: programs without a browser, and who is in their way. */
describe("a device code", () => {
  attack("of another client is refused, and still good for its own", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const thief = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      expect(yield* polledAs(world, thief, told)).toBe("invalid_grant")
      yield* answerAs(world, told.userCode, "approve")
      expect(yield* polledAs(world, thief, told)).toBe("invalid_grant")
      expect(yield* polledAs(world, tv, told)).toBe("tokens")
    })
  )

  attack("that is changed by one character anywhere opens nothing", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      yield* answerAs(world, told.userCode, "approve")
      const { deviceCode } = told
      for (const at of deviceCode.split("").keys()) {
        const other = deviceCode[at] === "A" ? "B" : "A"
        const changed = `${deviceCode.slice(0, at)}${other}${deviceCode.slice(at + 1)}`
        expect([at, yield* polledAs(world, tv, { deviceCode: changed })]).toEqual([at, "invalid_grant"])
      }
      expect(yield* polledAs(world, tv, told)).toBe("tokens")
    })
  )

  attack("that comes twice ends what the first one got", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      yield* answerAs(world, told.userCode, "approve")
      const { access, refresh: refreshToken } = tokensOf(yield* poll(world, tv, told))
      expect(yield* polledAs(world, tv, told)).toBe("invalid_grant")
      expect((yield* companies(world, access)).status).toBe(401)
      expect(jsonOf(yield* refresh(world, tv, refreshToken)).error).toBe("invalid_grant")
    })
  )

  attack("brings tokens to one of two polls at once", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      yield* answerAs(world, told.userCode, "approve")
      const there = yield* world.elsewhere
      const came = yield* Effect.all([polledAs(world, tv, told), polledAs(there, tv, told)], {
        concurrency: "unbounded"
      })
      expect(came.filter((one) => one === "tokens").length).toBeLessThanOrEqual(1)
      expect(came).toContain("invalid_grant")
    })
  )

  attack("opens nothing once its client is deleted", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      yield* answerAs(world, told.userCode, "approve")
      yield* Effect.orDie(world.services.clients.remove(world.workspace.id, ClientId.make(tv.id)))
      expect(yield* polledAs(world, tv, told)).toBe("invalid_client")
    })
  )

  attack("is no code of authorization, and no refresh token", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      yield* answerAs(world, told.userCode, "approve")
      expect(jsonOf(yield* refresh(world, tv, told.deviceCode)).error).not.toBeUndefined()
      expect((yield* companies(world, told.deviceCode)).status).toBe(401)
      expect(yield* polledAs(world, tv, told)).toBe("tokens")
    })
  )

  attack("that a person approved too late brings nothing", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      const page = yield* enterCode(world, told.userCode)
      yield* TestClock.adjust("10 minutes")
      expect(pageName(yield* decide(world, page, "approve"))).not.toBe("consent-approved")
      expect(yield* polledAs(world, tv, told)).toBe("expired_token")
    })
  )
})

describe("the page that a code leads to", () => {
  attack("cannot be sent by another person than it was drawn for", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      const page = yield* enterCode(world, told.userCode, "alice")
      expect((yield* decide(world, page, "approve", "bob")).status).toBe(403)
      expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
      expect(pageName(yield* decide(world, page, "approve", "alice"))).toBe("consent-approved")
      expect(yield* polledAs(world, tv, told)).toBe("tokens")
    })
  )

  attack("takes no approval without the tick that the code stands on the person's device", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      const page = yield* enterCode(world, told.userCode)
      const { acknowledged: _, ...fields } = hiddenFields(page.body)
      const sent = { as: "alice", headers: formHeaders, body: form({ ...fields, decision: "approve" }) }
      expect(pageName(yield* world.send("POST", "/consent", sent))).not.toBe("consent-approved")
      expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
    })
  )

  attack("makes one grant of two approvals, of one person or of two", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      const pages = [yield* enterCode(world, told.userCode, "alice"), yield* enterCode(world, told.userCode, "bob")]
      const [first, second] = pages
      if (first === undefined || second === undefined) throw new Error("two pages were drawn")
      yield* decide(world, first, "approve", "alice")
      expect(pageName(yield* decide(world, second, "approve", "bob"))).not.toBe("consent-approved")
      yield* decide(world, second, "deny", "bob")
      const { access } = tokensOf(yield* poll(world, tv, told))
      expect((yield* companies(world, access)).status).toBe(200)
    })
  )

  attack("leaves denied what was denied", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      const page = yield* enterCode(world, told.userCode)
      yield* answerAs(world, told.userCode, "deny")
      expect(pageName(yield* decide(world, page, "approve"))).not.toBe("consent-approved")
      expect(yield* polledAs(world, tv, told)).toBe("access_denied")
    })
  )

  attack("is not passed over by a link that brings the code", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      const linked = yield* world.send("GET", new URL(told.complete).pathname + new URL(told.complete).search, {
        as: "alice"
      })
      expect([linked.status, pageName(linked) === "consent"]).toEqual([200, false])
      expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
    })
  )
})

describe("with limits", () => {
  const limited = (what: string, body: (world: World) => Effect.Effect<void>) =>
    test(what, () => inWorld(body, { limiter: Layer.provide(sharedLimits, [memory, Entropy.layer]) }))

  limited("a device that polls too fast is told so, and gets its tokens at its pace", (world) =>
    Effect.gen(function* () {
      const tv = yield* deviceClient(world)
      const told = yield* waitingDevice(world, tv)
      expect(yield* polledAs(world, tv, told)).toBe("authorization_pending")
      expect(yield* polledAs(world, tv, told)).toBe("slow_down")
      yield* answerAs(world, told.userCode, "approve")
      expect(yield* polledAs(world, tv, told)).toBe("slow_down")
      yield* TestClock.adjust("5 seconds")
      expect(yield* polledAs(world, tv, told)).toBe("tokens")
    })
  )

  limited("an account that guesses codes is stopped, and another one is not", (world) =>
    Effect.gen(function* () {
      const statuses: Array<number> = []
      for (let guess = 0; guess < 21; guess++) {
        statuses.push((yield* enterCode(world, "BBBB-BBBB", "mallory", "203.0.113.9")).status)
      }
      expect([statuses.at(19), statuses.at(20)]).toEqual([400, 429])
      expect((yield* enterCode(world, "BBBB-BBBB", "alice", "198.51.100.7")).status).toBe(400)
    })
  )

  limited("one address that guesses for many accounts is stopped", (world) =>
    Effect.gen(function* () {
      const name = (at: number) =>
        `m${String.fromCharCode(97 + (at % 26))}${String.fromCharCode(97 + Math.floor(at / 26))}`
      let stopped = 0
      for (let guess = 0; guess < 105; guess++) {
        const { status } = yield* enterCode(world, "BBBB-BBBB", name(Math.floor(guess / 10)), "203.0.113.9")
        if (status === 429) stopped++
      }
      expect(stopped).toBe(5)
    })
  )
})
