import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { readClientKey, sealedPrefix } from "../../core/client/ClientIdentifier.ts"
import { readRegistration } from "../../core/client/RegistrationRequest.ts"
import { registerClient as addClient } from "../../core/engine/administerClients.ts"
import { lookedAtMost, shownMost } from "../../core/engine/lists.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { UserId } from "../../core/rules/Id.ts"
import { byOwner } from "../given/auditContext.ts"
import { header, registerClient, tokenRequest } from "../given/flow.ts"
import { emptyList, noticeOn, typedOn } from "../given/page.ts"
import type { Steps, World } from "../given/World.ts"
import { crowd, follow, idsOn, inSettings, look, post } from "./given.ts"

const owner = UserId.make("owner")

const machine = {
  client_name: "Nightly <b>job</b>",
  client_uri: "https://jobs.example",
  grant_types: ["authorization_code", "client_credentials"]
}

const inApproved = <A>(body: (world: World) => Steps<A>) =>
  inSettings(body, { policy: { workspaceAccess: "approved" } })

/** The part of the page that names those who wait. */
const waitingOn = (page: HttpResponse): string =>
  /<section aria-labelledby="waiting">[\s\S]*?<\/section>/.exec(page.body)?.[0] ?? ""

/** What a form to approve says of the question that was read. */
const askedOn = (page: string): string | undefined => /name="asked" value="([^"]*)"/.exec(page)?.[1]

describe("clients that ask for access without a person", () => {
  test("wait on a list of their own, with name, hosts, when and from where", () =>
    inApproved(function* (world) {
      expect(waitingOn(yield* look(world, "owner", "clients"))).toBe("")
      const client = yield* registerClient(world, machine, { peer: "203.0.113.9" })
      const person = yield* registerClient(world)
      yield* TestClock.adjust("2 hours")
      const list = waitingOn(yield* look(world, "owner", "clients"))
      for (const words of [
        "Nightly &lt;b&gt;job",
        client.id,
        "app.example.org",
        "jobs.example",
        "2 hours ago",
        "203.0.113.9"
      ]) {
        expect(list.replaceAll("<wbr>", "")).toContain(words)
      }
      expect(list).not.toContain(person.id)
      expect(waitingOn(yield* look(world, "owner", "clients", "?q=nightly"))).toBe("")
      // Forgotten for never having been used, even before it is swept.
      yield* TestClock.adjust("30 days")
      expect(waitingOn(yield* look(world, "owner", "clients"))).toBe("")
    }))

  test("leave it by an owner's answer, which can be taken back", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      const token = tokenRequest(world, client, { grant_type: "client_credentials" })
      const say = Effect.fnUntraced(function* (action: "approve" | "refuse", done: string) {
        const answer = yield* post(world, "owner", "clients", { action, id: client.id })
        expect(header(answer, "location")).toBe(`/settings/clients?done=${done}`)
        const page = yield* follow(world, "owner", answer)
        expect(noticeOn(page)).toBe("done")
        expect(waitingOn(page)).toBe("")
        return page.body
      })
      const offered = ['value="approve"', 'value="refuse"']
      const shows = (page: string) => offered.map((action) => page.includes(action))
      expect(shows((yield* look(world, "owner", "clients")).body)).toEqual([true, true])
      expect(shows(yield* say("refuse", "client-refused"))).toEqual([true, false])
      expect((yield* token).status).toBe(400)
      expect(shows(yield* say("approve", "client-approved"))).toEqual([false, true])
      expect((yield* token).status).toBe(200)
      expect(world.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "ClientChanged")).toEqual([
        { _tag: "ClientChanged", client: client.id, change: "refused", by: owner },
        { _tag: "ClientChanged", client: client.id, change: "approved", by: owner }
      ])
    }))

  test("are approved as the owner read them, and not as what they have become since", () =>
    inApproved(function* (world) {
      const modest = { ...machine, scope: "profile", redirect_uris: ["https://app.example.org/callback"] }
      const client = yield* registerClient(world, modest)
      const page = yield* look(world, "owner", "clients")
      expect(waitingOn(page)).toContain("<dt>Scopes</dt><dd>None</dd>")
      yield* TestClock.adjust("1 second")
      const grown = yield* world.send("PUT", new URL(client.registrationUri).pathname, {
        headers: { "content-type": "application/json", authorization: `Bearer ${client.registrationToken}` },
        body: JSON.stringify({ ...modest, scope: "api profile", client_id: client.id })
      })
      expect(grown.status).toBe(200)
      const approve = (asked: string | undefined) =>
        post(world, "owner", "clients", { action: "approve", id: client.id, asked })
      const late = yield* approve(askedOn(page.body))
      expect(header(late, "location")).toBe("/settings/clients?done=client-asked-anew")
      const again = yield* follow(world, "owner", late)
      expect(noticeOn(again)).toBe("problem")
      expect(waitingOn(again)).toContain("<dt>Scopes</dt><dd><code>api</code></dd>")
      expect((yield* tokenRequest(world, client, { grant_type: "client_credentials" })).status).toBe(400)
      expect(header(yield* approve(askedOn(again.body)), "location")).toBe("/settings/clients?done=client-approved")
      expect((yield* tokenRequest(world, client, { grant_type: "client_credentials" })).status).toBe(200)
    }))

  test("are answered by owners only, and only where they ask and are there", () =>
    inApproved(function* (world) {
      const client = yield* registerClient(world, machine)
      const person = yield* registerClient(world)
      expect((yield* post(world, "alice", "clients", { action: "approve", id: client.id })).status).toBe(403)
      for (const [id, done] of [
        [person.id, "client-not-asked"],
        ["A".repeat(22), "client-gone"]
      ] as const) {
        const answer = yield* post(world, "owner", "clients", { action: "approve", id })
        expect(header(answer, "location")).toBe(`/settings/clients?done=${done}`)
        expect(noticeOn(yield* follow(world, "owner", answer))).toBe("problem")
      }
    }))

  test("are not those that an owner made, nor any that asks for no such access", () =>
    inApproved(function* (world) {
      const metadata = { ...machine, redirect_uris: ["https://own.example/cb"] }
      const request = yield* Effect.fromResult(readRegistration(world.services, JSON.stringify(metadata)))
      yield* addClient(world.services, byOwner(world), request)
      yield* registerClient(world)
      const page = yield* look(world, "owner", "clients")
      expect(idsOn(page)).toHaveLength(2)
      expect([waitingOn(page), /value="(?:approve|refuse)"/.test(page.body)]).toEqual(["", false])
    }))

  test("are looked for among a bounded number of clients for one request", () =>
    inApproved(function* (world) {
      yield* crowd(world, lookedAtMost + 1, (n) => `Client ${n}`)
      const list = waitingOn(yield* look(world, "owner", "clients"))
      expect([emptyList({ body: list }), /\?waiting=/.test(list)]).toEqual(["more", true])
    }))

  test("are told a page at a time", () =>
    inApproved(function* (world) {
      const ids: Array<string> = []
      const { client_uri: _, ...homeless } = machine
      for (let n = 0; n < shownMost + 3; n++) ids.push((yield* registerClient(world, homeless)).id)
      const waiting = (page: HttpResponse) => [
        ...new Set([...waitingOn(page).matchAll(/name="id" value="([^"]*)"/g)].map(([, id]) => id))
      ]
      const first = yield* look(world, "owner", "clients")
      expect(waiting(first)).toHaveLength(shownMost)
      const next = /href="[^"]*(\?waiting=[^"]*)"/.exec(waitingOn(first))?.[1] ?? ""
      const second = yield* look(world, "owner", "clients", next)
      expect([...waiting(first), ...waiting(second)]).toEqual([...ids].sort())
      // They are on the first page of all clients alone.
      const other = yield* look(world, "owner", "clients", `?after=${[...ids].sort()[0]}`)
      expect([waitingOn(other), idsOn(other).length]).toEqual(["", shownMost])
    }))

  describe("and whose registration is no record yet", () => {
    const inRowless = <A>(body: (world: World) => Steps<A>) =>
      inSettings(body, { policy: { workspaceAccess: "approved", registrationRows: "at_consent" } })

    const namedOn = (page: HttpResponse): string =>
      /<section aria-labelledby="named">[\s\S]*?<\/section>/.exec(page.body)?.[0] ?? ""

    const lookAt = (world: World, id: string) =>
      Effect.map(look(world, "owner", "clients", `?${new URLSearchParams({ client_id: id })}`), namedOn)

    const writes = ({ calls }: World) => [...calls.insert, ...calls.replace, ...calls.remove]

    test("are looked at and answered by their id", () =>
      inRowless(function* (world) {
        const client = yield* registerClient(world, machine, { peer: "203.0.113.9" })
        expect(client.id).toStartWith(sealedPrefix)
        yield* TestClock.adjust("2 hours")
        const list = yield* look(world, "owner", "clients")
        expect(waitingOn(list)).toBe("")
        expect(namedOn(list)).toContain('name="client_id"')
        const found = (yield* lookAt(world, ` ${client.id}\n`)).replaceAll("<wbr>", "")
        for (const words of ["Nightly &lt;b&gt;job", "app.example.org", "jobs.example", "2 hours ago"]) {
          expect(found).toContain(words)
        }
        expect([...found.matchAll(/name="action" value="([^"]*)"/g)].map(([, action]) => action)).toEqual([
          "approve",
          "refuse"
        ])
        expect([...found.matchAll(/name="id" value="([^"]*)"/g)].map(([, id]) => id)).toEqual([client.id, client.id])
        expect(writes(world)).toEqual([])
        const asked = askedOn(found)
        const answer = yield* post(world, "owner", "clients", { action: "approve", id: client.id, asked })
        expect(noticeOn(yield* follow(world, "owner", answer))).toBe("done")
        expect((yield* tokenRequest(world, client, { grant_type: "client_credentials" })).status).toBe(200)
        const key = Option.getOrThrow(readClientKey(client.id))
        expect(world.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "ClientChanged")).toEqual([
          { _tag: "ClientChanged", client: key, change: "approved", by: owner }
        ])
        // By its id it is found as it is in the list, where it stands now.
        expect(idsOn(yield* look(world, "owner", "clients"))).toEqual([key])
        expect(yield* lookAt(world, client.id)).toContain('value="refuse"')
        const taken = yield* post(world, "owner", "clients", { action: "refuse", id: client.id })
        expect(header(taken, "location")).toBe("/settings/clients?done=client-refused")
        expect((yield* tokenRequest(world, client, { grant_type: "client_credentials" })).status).toBe(400)
      }))

    test("are not found where the id is none of theirs", () =>
      inRowless(function* (world) {
        const client = yield* registerClient(world, machine)
        const person = yield* registerClient(world)
        const forged = `${client.id.slice(0, 100)}${client.id[100] === "A" ? "B" : "A"}${client.id.slice(101)}`
        for (const id of ["x", forged, client.id.slice(0, -4), person.id, "https://app.example/client.json"]) {
          const found = yield* lookAt(world, id)
          expect(found).toContain('aria-invalid="true"')
          expect(typedOn({ body: found })).toEqual({ client_id: id })
          expect(found).not.toContain('value="approve"')
          const answer = yield* post(world, "owner", "clients", { action: "approve", id })
          const done = id === person.id ? "client-not-asked" : "client-gone"
          expect(header(answer, "location")).toBe(`/settings/clients?done=${done}`)
        }
        expect(writes(world)).toEqual([])
        expect(typedOn({ body: yield* lookAt(world, "a".repeat(1100)) })).toEqual({ client_id: "a".repeat(1024) })
        expect((yield* post(world, "alice", "clients", { action: "approve", id: client.id })).status).toBe(403)
        expect(writes(world)).toEqual([])
      }))

    test("have no form where all that wait are in the list", () =>
      inApproved(function* (world) {
        const client = yield* registerClient(world, machine)
        expect(yield* lookAt(world, client.id)).toBe("")
      }))

    test("have no form where no client has to wait", () =>
      inSettings(
        function* (world) {
          const client = yield* registerClient(world, machine)
          expect(yield* lookAt(world, client.id)).toBe("")
        },
        { policy: { workspaceAccess: "registered", registrationRows: "at_consent" } }
      ))
  })

  test("wait nowhere where all that register may, or none but an owner's", () =>
    Effect.runPromise(
      Effect.forEach(["registered", "owner"] as const, (workspaceAccess) =>
        Effect.promise(() =>
          inSettings(
            function* (world) {
              yield* registerClient(world, machine)
              const page = yield* look(world, "owner", "clients")
              expect([waitingOn(page), /value="(?:approve|refuse)"/.test(page.body)]).toEqual(["", false])
            },
            { policy: { workspaceAccess } }
          )
        )
      )
    ))
})
