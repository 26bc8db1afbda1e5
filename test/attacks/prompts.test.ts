import { describe, expect, test } from "bun:test"
import { TestClock } from "effect/testing"
import type { HttpResponse } from "../../core/http/Http.ts"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import {
  authorizeTarget,
  decide,
  header,
  hiddenFields,
  provenClient,
  registerClient,
  returned,
  type TestClient,
  text
} from "../given/flow.ts"
import { inWorld, keyFrom, type Steps, t0, theWorkspace, type World } from "../given/World.ts"

const minute = 60_000

/** A browser's cookies: who is there, in which session, since when. */
const at = (person: string, session: string, since?: number) =>
  `${person}; session=${session}${since === undefined ? "" : `; since=${since}`}`

const ask = (world: World, target: string, as: string | undefined) =>
  world.send("GET", target, as === undefined ? {} : { as })

/** What an answer is, for a table: the error that the client gets, the sign-in, or a page. */
const outcome = (response: HttpResponse): string => {
  const location = header(response, "location")
  if (location === undefined) return `page ${response.status}`
  const url = new URL(location, theWorkspace.issuer)
  return url.pathname === "/login" ? "sign-in" : (url.searchParams.get("error") ?? "code")
}

const cameTo = (response: HttpResponse): string =>
  text(new URL(text(header(response, "location")), theWorkspace.issuer).searchParams.get("return_to") ?? undefined)

const attacked = (body: (world: World, client: TestClient) => Steps<void>) =>
  inWorld(function* (world) {
    yield* body(world, yield* provenClient(world))
  })

describe("what a request asks of its pages", () => {
  const nobody = undefined
  const alice = at("alice", "a", t0 - minute)
  const rows: ReadonlyArray<readonly [prompt: string, as: string | undefined, outcome: string]> = [
    ["none", nobody, "login_required"],
    ["none", alice, "consent_required"],
    ["none none", alice, "consent_required"],
    [" none ", alice, "consent_required"],
    ["none login", alice, "invalid_request"],
    ["login none", nobody, "invalid_request"],
    ["none consent", alice, "invalid_request"],
    ["none select_account", alice, "invalid_request"],
    ["none create", alice, "invalid_request"],
    ["NONE", alice, "page 200"],
    ["create", alice, "page 200"],
    ["", alice, "page 200"],
    [" ", alice, "page 200"],
    ["consent", alice, "page 200"],
    ["consent", nobody, "sign-in"],
    ["login", nobody, "sign-in"],
    ["login", alice, "sign-in"],
    ["login consent", alice, "sign-in"],
    ["select_account", alice, "sign-in"],
    ["consent select_account login", alice, "sign-in"],
    ["login\tnone", alice, "page 200"],
    ["login,none", alice, "page 200"]
  ]
  for (const [prompt, as, expected] of rows) {
    test(`${JSON.stringify(prompt)}, ${as === undefined ? "no person" : "a person"} signed in: ${expected}`, () =>
      attacked(function* (world, client) {
        expect(outcome(yield* ask(world, authorizeTarget(client, { prompt }), as))).toBe(expected)
      }))
  }

  test("twice is a repeated parameter, and none has no say", () =>
    attacked(function* (world, client) {
      const twice = `${authorizeTarget(client, { prompt: "none" })}&prompt=login`
      expect(outcome(yield* ask(world, twice, alice))).toBe("invalid_request")
    }))

  test("none sends no browser to a client that no person let in: its redirect URI may be an attacker's", () =>
    inWorld(function* (world) {
      const stranger = yield* registerClient(world)
      const response = yield* ask(world, authorizeTarget(stranger, { prompt: "none" }), undefined)
      expect(outcome(response)).toBe("page 400")
    }))

  test("none tells no stranger of a session: not signed in and a bad request look alike without a client", () =>
    attacked(function* (world, client) {
      const elsewhere = authorizeTarget(client, { prompt: "none" }).replace("callback", "callback2")
      const [a, b] = [yield* ask(world, elsewhere, undefined), yield* ask(world, elsewhere, alice)]
      expect([outcome(a), outcome(b)]).toEqual(["page 400", "page 400"])
    }))

  test("is asked for again where the page has to begin anew", () =>
    attacked(function* (world, client) {
      const page = yield* ask(world, authorizeTarget(client, { prompt: "consent" }), alice)
      const fields = { ...hiddenFields(page.body), decision: "approve" }
      const gone = yield* world.send("POST", "/consent", {
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams(fields).toString()
      })
      expect(new URL(cameTo(gone), theWorkspace.issuer).searchParams.get("prompt")).toBe("consent")
    }))
})

describe("a new sign-in that a request asks for", () => {
  const before = at("alice", "a", t0 - minute)
  const login = (client: TestClient) => authorizeTarget(client, { prompt: "login" })

  test("counts from the arrival of the request, in any session, and for this request alone", () =>
    attacked(function* (world, client) {
      yield* TestClock.adjust("1 second")
      const now = t0 + 1000
      const stamped = cameTo(yield* ask(world, login(client), before))
      const other = cameTo(yield* ask(world, authorizeTarget(client, { prompt: "login", state: "other" }), before))
      const stampOf = (address: string) => /[?&](asked_at=[^&]*)/.exec(address)?.[1] ?? ""
      const [kind, time, session, key, mac] = stampOf(stamped).split(".")
      const rows: ReadonlyArray<readonly [what: string, target: string, as: string, outcome: string]> = [
        ["after it", stamped, at("alice", "b", now + 5), "page 200"],
        ["after it, in the same session", stamped, at("alice", "a", now), "page 200"],
        ["after it, as somebody else", stamped, at("bob", "b", now), "page 200"],
        ["before it: the host sent the browser straight back", stamped, before, "login_required"],
        ["before it, in another session", stamped, at("alice", "b", now - 1000), "login_required"],
        ["after it, without the stamp", login(client), at("alice", "b", now + 5), "sign-in"],
        ["with the stamp of another request", `${login(client)}&${stampOf(other)}`, at("alice", "b", now), "sign-in"],
        ["with another state under the stamp", stamped.replace("state=st", "state=su"), before, "sign-in"],
        ["with a parameter more", `${stamped}&scope=api`, at("alice", "b", now), "sign-in"],
        ["with two stamps", `${stamped}&${stampOf(stamped)}`, at("alice", "b", now), "invalid_request"],
        ["with an earlier time", stamped.replace(`.${time}.`, `.${t0 - 2 * minute}.`), before, "sign-in"],
        ["with another session", stamped.replace(`.${session}.`, "."), before, "sign-in"],
        ["with no session", stamped.replace(`.${session}.`, ".."), before, "sign-in"],
        ["with a key that is none", stamped.replace(`.${key}.`, ".00000000."), before, "sign-in"],
        ["with a MAC of another", stamped.replace(String(mac), "A".repeat(43)), before, "sign-in"],
        ["with the name of a choice", stamped.replace(String(kind), "asked_at=choice"), before, "login_required"],
        ["with a time beyond all numbers", stamped.replace(`.${time}.`, `.${"9".repeat(400)}.`), before, "sign-in"]
      ]
      for (const [what, target, as, expected] of rows) {
        expect([what, outcome(yield* ask(world, target, as))]).toEqual([what, expected])
      }
      yield* TestClock.adjust("15 minutes")
      expect(outcome(yield* ask(world, stamped, at("alice", "b", now + 5)))).toBe("sign-in")
    }))

  test("is of one workspace: the stamp of another is none", () =>
    inWorld(
      function* (world) {
        const client = yield* registerClient(world, {}, { host: "a.example.com" })
        const target = login(client)
        const response = yield* world.send("GET", target, { as: before, host: "a.example.com" })
        const stamp = /asked_at=[^&]*/.exec(cameTo(response))?.[0] ?? ""
        const there = yield* registerClient(world, {}, { host: "b.example.com" })
        const at_b = `${login(there)}&${stamp}`
        expect(outcome(yield* world.send("GET", at_b, { as: before, host: "b.example.com" }))).toBe("sign-in")
      },
      {
        workspaces: ["a", "b"].map((name) => ({
          ...theWorkspace,
          id: WorkspaceId.make(name),
          issuer: Issuer.make(`https://${name}.example.com`)
        }))
      }
    ))

  test("outlives the key of its stamp for as long as the ring has it", () =>
    attacked(function* (world, client) {
      const stamped = cameTo(yield* ask(world, login(client), before))
      world.turnRing(([first, ...rest]) => [keyFrom(2), first, ...rest])
      expect(outcome(yield* ask(world, stamped, at("alice", "b", t0)))).toBe("page 200")
    }))

  test("is asked for once more where the session was seen only on the way back, and then no more", () =>
    attacked(function* (world, client) {
      const unseen = cameTo(yield* ask(world, login(client), undefined))
      const second = yield* ask(world, unseen, before)
      expect(outcome(second)).toBe("sign-in")
      expect(outcome(yield* ask(world, cameTo(second), before))).toBe("login_required")
      expect(outcome(yield* ask(world, cameTo(second), at("alice", "c", t0)))).toBe("page 200")
    }))

  test("is told by another session where the host does not say when it was", () =>
    attacked(function* (world, client) {
      const stamped = cameTo(yield* ask(world, login(client), at("alice", "a")))
      expect(outcome(yield* ask(world, stamped, at("alice", "a")))).toBe("login_required")
      expect(outcome(yield* ask(world, stamped, at("alice", "b")))).toBe("page 200")
      expect(outcome(yield* ask(world, stamped, at("alice", "b", t0 - minute)))).toBe("login_required")
    }))

  test("is the one whose page may be answered: an older session posts no form of it", () =>
    attacked(function* (world, client) {
      const stamped = cameTo(yield* ask(world, login(client), before))
      const page = yield* ask(world, stamped, at("alice", "b", t0))
      expect((yield* decide(world, page, "approve", before)).status).toBe(403)
      expect(returned(yield* decide(world, page, "approve", at("alice", "b", t0))).has("code")).toBe(true)
    }))
})

describe("a choice of account that a request asks for", () => {
  const choose = (client: TestClient) => authorizeTarget(client, { prompt: "select_account" })

  test("is made by going on as a person, the same or another, and only after it was asked for", () =>
    attacked(function* (world, client) {
      const alice = at("alice", "a", t0 - minute)
      const stamped = cameTo(yield* ask(world, choose(client), alice))
      expect(outcome(yield* ask(world, stamped, alice))).toBe("page 200")
      expect(outcome(yield* ask(world, stamped, at("bob", "b", t0 - minute)))).toBe("page 200")
      expect(outcome(yield* ask(world, stamped.replace("state=st", "state=su"), alice))).toBe("sign-in")
      const unseen = cameTo(yield* ask(world, choose(client), undefined))
      expect(outcome(yield* ask(world, unseen, alice))).toBe("sign-in")
      expect(outcome(yield* ask(world, unseen, at("alice", "b", t0)))).toBe("page 200")
    }))

  test("is no sign-in: where both are asked for, going on as the same person is not enough", () =>
    attacked(function* (world, client) {
      const alice = at("alice", "a", t0 - minute)
      const stamped = cameTo(yield* ask(world, authorizeTarget(client, { prompt: "select_account login" }), alice))
      expect(outcome(yield* ask(world, stamped, alice))).toBe("login_required")
    }))
})
