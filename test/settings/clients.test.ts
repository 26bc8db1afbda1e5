import { describe, expect, test } from "bun:test"
import { Effect, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { readClientKey, sealedPrefix } from "../../core/client/ClientIdentifier.ts"
import { readRegistration } from "../../core/client/RegistrationRequest.ts"
import { register } from "../../core/client/register.ts"
import { registerClient as addClient, drawClient } from "../../core/engine/administerClients.ts"
import { lookedAtMost, shownMost } from "../../core/engine/lists.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { clientTitle } from "../../core/pages/Consent.ts"
import { ClientId, UserId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { byOwner } from "../given/auditContext.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import {
  authorizeTarget,
  codeFor,
  companies,
  header,
  registerClient,
  signInToApp,
  tokenRequest
} from "../given/flow.ts"
import { emptyList, noticeOn } from "../given/page.ts"
import { keyOf, signingClient } from "../given/pushing.ts"
import { realSignatures, type World } from "../given/World.ts"
import { allPages, follow, idsOn, inSettings, look, nextOf, post } from "./given.ts"

const owner = UserId.make("owner")

/** Clients as they are kept, without the requests before them. */
const crowd = Effect.fnUntraced(function* (world: World, count: number, name: (n: number) => string) {
  const ids: Array<string> = []
  for (let n = 0; n < count; n++) {
    const metadata = { client_name: name(n), redirect_uris: [`https://host-${n}.example/cb`] }
    const request = Result.getOrThrow(readRegistration(world.services, JSON.stringify(metadata)))
    const fresh = drawClient(world.services.entropy)
    const made = Result.getOrThrow(
      register(world.services, request, world.services.policy, yield* currentInstant, fresh, "itself")
    )
    yield* world.services.clients.add(world.workspace.id, made.client)
    ids.push(made.client.id)
  }
  return ids
})

const machine = {
  client_name: "Nightly <b>job</b>",
  client_uri: "https://jobs.example",
  grant_types: ["authorization_code", "client_credentials"]
}

const inApproved = <A, E>(body: (world: World) => Effect.Effect<A, E>) =>
  inSettings(body, { policy: { workspaceAccess: "approved" } })

/** The part of the page that names those who wait. */
const waitingOn = (page: HttpResponse): string =>
  /<section aria-labelledby="waiting">[\s\S]*?<\/section>/.exec(page.body)?.[0] ?? ""

describe("clients that ask for access without a person", () => {
  test("wait on a list of their own, with name, hosts, when and from where", () =>
    inApproved((world) =>
      Effect.gen(function* () {
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
      })
    ))

  test("leave it by an owner's answer, which can be taken back", () =>
    inApproved((world) =>
      Effect.gen(function* () {
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
      })
    ))

  test("are answered by owners only, and only where they ask and are there", () =>
    inApproved((world) =>
      Effect.gen(function* () {
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
      })
    ))

  test("are told a page at a time", () =>
    inApproved((world) =>
      Effect.gen(function* () {
        const ids: Array<string> = []
        for (let n = 0; n < shownMost + 3; n++) ids.push((yield* registerClient(world, machine)).id)
        const waiting = (page: HttpResponse) => [
          ...new Set([...waitingOn(page).matchAll(/name="id" value="([^"]*)"/g)].map(([, id]) => id))
        ]
        const first = yield* look(world, "owner", "clients")
        expect(waiting(first)).toHaveLength(shownMost)
        const next = /href="[^"]*(\?waiting=[^"]*)"/.exec(waitingOn(first))?.[1] ?? ""
        const second = yield* look(world, "owner", "clients", next)
        expect([...waiting(first), ...waiting(second)]).toEqual([...ids].sort())
      })
    ))

  describe("and whose registration is no record yet", () => {
    const inRowless = <A, E>(body: (world: World) => Effect.Effect<A, E>) =>
      inSettings(body, { policy: { workspaceAccess: "approved", registrationRows: "at_consent" } })

    const namedOn = (page: HttpResponse): string =>
      /<section aria-labelledby="named">[\s\S]*?<\/section>/.exec(page.body)?.[0] ?? ""

    const lookAt = (world: World, id: string) =>
      Effect.map(look(world, "owner", "clients", `?${new URLSearchParams({ client_id: id })}`), namedOn)

    const writes = ({ calls }: World) => [...calls.insert, ...calls.replace, ...calls.remove]

    test("are looked at and answered by their id", () =>
      inRowless((world) =>
        Effect.gen(function* () {
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
          const answer = yield* post(world, "owner", "clients", { action: "approve", id: client.id, q: "" })
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
        })
      ))

    test("are nobody where the id is none of theirs", () =>
      inRowless((world) =>
        Effect.gen(function* () {
          const client = yield* registerClient(world, machine)
          const person = yield* registerClient(world)
          const forged = `${client.id.slice(0, 100)}${client.id[100] === "A" ? "B" : "A"}${client.id.slice(101)}`
          for (const id of ["x", forged, client.id.slice(0, -4), person.id, "https://app.example/client.json"]) {
            const found = yield* lookAt(world, id)
            expect(found).toContain('aria-invalid="true"')
            expect(found).not.toContain('value="approve"')
            const answer = yield* post(world, "owner", "clients", { action: "approve", id })
            const done = id === person.id ? "client-not-asked" : "client-gone"
            expect(header(answer, "location")).toBe(`/settings/clients?done=${done}`)
          }
          expect(writes(world)).toEqual([])
          expect((yield* post(world, "alice", "clients", { action: "approve", id: client.id })).status).toBe(403)
          expect(writes(world)).toEqual([])
        })
      ))

    test("have no form where all that wait are in the list", () =>
      inApproved((world) =>
        Effect.gen(function* () {
          const client = yield* registerClient(world, machine)
          expect(yield* lookAt(world, client.id)).toBe("")
        })
      ))
  })

  test("wait nowhere where all that register may, or none but an owner's", () =>
    Effect.runPromise(
      Effect.forEach(["registered", "owner"] as const, (workspaceAccess) =>
        Effect.promise(() =>
          inSettings(
            (world) =>
              Effect.gen(function* () {
                yield* registerClient(world, machine)
                const page = yield* look(world, "owner", "clients")
                expect([waitingOn(page), page.body.includes('value="approve"')]).toEqual(["", false])
              }),
            { policy: { workspaceAccess } }
          )
        )
      )
    ))
})

describe("registered clients", () => {
  test("are told with name, id, kind, maker, where they return to, and when they were last used", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, {
          client_name: "Numbers",
          redirect_uris: [
            "https://numbers.example/cb",
            "http://127.0.0.1:8080/cb",
            "com.example.numbers:/cb",
            "vscode://numbers.sums/auth"
          ]
        })
        const before = yield* look(world, "owner", "clients")
        for (const words of [
          "Numbers",
          client.id,
          "Confidential, registered itself",
          "numbers.example",
          "127.0.0.1:8080",
          "com.example.numbers:",
          "vscode://numbers.sums",
          "<dd>Never</dd>"
        ]) {
          expect(before.body.replaceAll("<wbr>", "")).toContain(words)
        }
        yield* signInToApp(world, client)
        yield* TestClock.adjust("4 hours")
        const after = yield* look(world, "owner", "clients")
        expect(after.body).not.toContain("<dd>Never</dd>")
        expect(after.body).toContain("4 hours ago")
      })
    ))

  test("of an owner's making are told as such, and a public one as public", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const metadata = { redirect_uris: ["https://own.example/cb"], token_endpoint_auth_method: "none" }
        const request = yield* Effect.fromResult(readRegistration(world.services, JSON.stringify(metadata)))
        yield* addClient(world.services, byOwner(world), request)
        const page = yield* look(world, "owner", "clients")
        expect(page.body).toContain(clientTitle(undefined))
        expect(idsOn(page)).toHaveLength(1)
      })
    ))

  test("one that is disabled cannot connect, its tokens stop, and enabling it gives them back", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const { access } = yield* signInToApp(world, client)
        const off = yield* post(world, "owner", "clients", { action: "disable", id: client.id, q: "app & co" })
        expect(header(off, "location")).toBe("/settings/clients?done=client-disabled&q=app+%26+co")
        expect((yield* companies(world, access)).status).toBe(401)
        expect((yield* world.send("GET", authorizeTarget(client), { as: "alice" })).status).toBe(400)
        const page = yield* look(world, "owner", "clients", "?done=client-disabled")
        expect(noticeOn(page)).toBe("done")
        expect(page.body).toContain("badge-danger")
        expect(page.body).toContain('value="enable"')

        const on = yield* post(world, "owner", "clients", { action: "enable", id: client.id })
        expect(header(on, "location")).toBe("/settings/clients?done=client-enabled")
        expect((yield* companies(world, access)).status).toBe(200)
        expect(world.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "ClientChanged")).toEqual([
          { _tag: "ClientChanged", client: client.id, change: "disabled", by: owner },
          { _tag: "ClientChanged", client: client.id, change: "enabled", by: owner }
        ])
      })
    ))

  test("one with a secret gets another, shown this once; the older one can be dropped", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
        const made = yield* post(world, "owner", "clients", { action: "new-secret", id: client.id })
        expect(made.status).toBe(200)
        const [secret = ""] = /tsr_cs_[A-Za-z0-9_-]+/.exec(made.body) ?? []
        const granted = (text: string) =>
          Effect.map(
            tokenRequest(world, { ...client, secret: text }, { grant_type: "client_credentials" }),
            ({ status }) => status
          )
        expect([yield* granted(client.secret ?? ""), yield* granted(secret)]).toEqual([200, 200])
        const page = yield* look(world, "owner", "clients")
        expect(page.body).not.toContain(secret)
        expect(page.body).toContain('value="drop-secret"')
        expect(page.body).not.toContain('value="new-secret"')

        const third = yield* post(world, "owner", "clients", { action: "new-secret", id: client.id })
        expect(header(third, "location")).toBe("/settings/clients?done=secret-not-made")
        const dropped = yield* post(world, "owner", "clients", { action: "drop-secret", id: client.id })
        expect(header(dropped, "location")).toBe("/settings/clients?done=secret-dropped")
        expect([yield* granted(client.secret ?? ""), yield* granted(secret)]).toEqual([401, 200])
        const gone = yield* post(world, "owner", "clients", { action: "new-secret", id: "AAAAAAAAAAAAAAAAAAAAAA" })
        expect(header(gone, "location")).toBe("/settings/clients?done=client-gone")
      })
    ))

  test("one without a secret is offered none", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world, { token_endpoint_auth_method: "none" })
        expect((yield* look(world, "owner", "clients")).body).not.toContain('value="new-secret"')
        const made = yield* post(world, "owner", "clients", { action: "new-secret", id: client.id })
        expect(header(made, "location")).toBe("/settings/clients?done=secret-not-made")
      })
    ))

  test("one that proves itself may be let exchange the tokens that an API is sent, and not be any more", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const open = yield* registerClient(world, { token_endpoint_auth_method: "none" })
        const stored = () => world.services.clients.findStored(world.workspace.id, ClientId.make(client.id))
        const save = (id: string, resource: string) =>
          Effect.map(post(world, "owner", "clients", { action: "exchange", id, resource }), (answer) =>
            header(answer, "location")
          )
        const { issuer } = world.workspace
        expect(yield* save(client.id, issuer)).toBe("/settings/clients?done=exchange-saved")
        expect((yield* stored())?.serves).toBe(Resource.make(issuer))
        expect((yield* look(world, "owner", "clients")).body).toContain(`<option value="${issuer}" selected>`)
        expect(yield* save(client.id, "https://evil.example")).toBe("/settings/clients?done=exchange-impossible")
        expect(yield* save(open.id, issuer)).toBe("/settings/clients?done=exchange-impossible")
        expect(yield* save("A".repeat(22), issuer)).toBe("/settings/clients?done=client-gone")
        expect(yield* save(client.id, "")).toBe("/settings/clients?done=exchange-saved")
        expect((yield* stored())?.serves).toBeUndefined()
        expect((yield* post(world, "alice", "clients", { action: "exchange", id: client.id })).status).toBe(403)
      })
    ))

  test("one that can keep it is held to a security profile, shown, and taken out of it by an owner alone", () =>
    inSettings(
      (world) =>
        Effect.gen(function* () {
          const client = yield* signingClient(world, yield* Effect.promise(() => keyOf("ES256", "k")))
          const secretive = yield* registerClient(world)
          const open = yield* registerClient(world, { token_endpoint_auth_method: "none" })
          const save = (id: string, profile: string, as = "owner") =>
            post(world, as, "clients", { action: "profile", id, profile })
          const saved = (id: string, profile: string) =>
            Effect.map(save(id, profile), (answer) => header(answer, "location"))
          const shown = Effect.map(look(world, "owner", "clients", `?q=${client.id}`), ({ body }) => [
            body.includes("<dt>Held to</dt>"),
            body.includes('<option value="fapi2" selected>')
          ])
          expect(yield* shown).toEqual([false, false])
          expect(yield* saved(client.id, "fapi2")).toBe("/settings/clients?done=profile-saved")
          expect(yield* shown).toEqual([true, true])
          // It has to push what it asks for from now on.
          const asked = yield* world.send("GET", authorizeTarget({ ...client, secret: undefined }), { as: "alice" })
          expect(header(asked, "location")).toContain("error=invalid_request")
          expect((yield* save(client.id, "standard", "alice")).status).toBe(403)
          expect(yield* shown).toEqual([true, true])
          expect(yield* saved(secretive.id, "fapi2")).toBe("/settings/clients?done=profile-impossible")
          expect(yield* saved(open.id, "fapi2")).toBe("/settings/clients?done=profile-impossible")
          expect(yield* saved("A".repeat(22), "fapi2")).toBe("/settings/clients?done=client-gone")
          expect((yield* save(client.id, "none at all")).status).toBe(403)
          expect(yield* saved(client.id, "standard")).toBe("/settings/clients?done=profile-saved")
          expect(yield* shown).toEqual([false, false])
          const changes = world.audit.flatMap(({ event }) => (event._tag === "ClientChanged" ? [event.change] : []))
          expect(changes).toEqual(["fapi2_profile", "standard_profile"])
        }),
      { signatures: realSignatures }
    ))

  test("no profile is offered where the server holds all its clients to the strictest", () =>
    inSettings(
      (world) =>
        Effect.gen(function* () {
          yield* signingClient(world, yield* Effect.promise(() => keyOf("ES256", "k")))
          expect((yield* look(world, "owner", "clients")).body).not.toContain('value="profile"')
        }),
      { signatures: realSignatures, policy: { profile: "fapi2" } }
    ))

  test("one that is deleted is gone with everything that people allowed it; a second click is told so", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        const { access } = yield* signInToApp(world, client)
        const answer = yield* post(world, "owner", "clients", { action: "delete", id: client.id })
        expect(header(answer, "location")).toBe("/settings/clients?done=client-deleted")
        expect(noticeOn(yield* follow(world, "owner", answer))).toBe("done")
        expect((yield* companies(world, access)).status).toBe(401)
        expect(emptyList(yield* look(world, "owner", "clients"))).toBe("none")
        expect(emptyList(yield* look(world, "alice", "apps"))).toBe("none")
        const again = yield* post(world, "owner", "clients", { action: "delete", id: client.id })
        const page = yield* follow(world, "owner", again)
        expect(noticeOn(page)).toBe("problem")
        expect(page.body).toContain('<div class="notice notice-problem" role="alert">')
        expect(world.audit.filter(({ event }) => event._tag === "ClientDeleted").map(({ event }) => event)).toEqual([
          { _tag: "ClientDeleted", client: client.id, by: owner }
        ])
      })
    ))

  test("a search is cut where it is longer than anything to be found", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const long = "q".repeat(1025)
        const page = yield* look(world, "owner", "clients", `?q=${long}`)
        expect([page.body.includes("q".repeat(1024)), page.body.includes(long)]).toEqual([true, false])
        const answer = yield* post(world, "owner", "clients", { action: "delete", id: "x", q: long })
        expect(header(answer, "location")).toBe(`/settings/clients?done=client-gone&q=${"q".repeat(1024)}`)
      })
    ))

  test("unknown ones are told as such", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        for (const action of ["disable", "enable", "delete"]) {
          for (const id of [undefined, "x", "A".repeat(22), "A".repeat(5000)]) {
            const answer = yield* post(world, "owner", "clients", { action, id })
            expect(header(answer, "location")).toBe("/settings/clients?done=client-gone")
          }
        }
      })
    ))

  test("that were forgotten for never having been used are not listed, even before they are swept", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const client = yield* registerClient(world)
        yield* TestClock.adjust("30 days")
        expect((yield* look(world, "owner", "clients")).body).not.toContain(client.id)
        expect(idsOn(yield* look(world, "owner", "clients", `?q=${client.id}`))).toEqual([])
      })
    ))

  test("are searched by a part of the name, the id or the host, whatever the case", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const ids = yield* crowd(world, 60, (n) => (n === 17 ? "Ünïcode Reports" : `Client number ${n}`))
        const [needle = ""] = ids.slice(17, 18)
        for (const q of ["REPORTS", "ünïcode", "U\u0308ni\u0308code", "host-17.example", needle, needle.slice(3, 19)]) {
          const page = yield* look(world, "owner", "clients", `?${new URLSearchParams({ q })}`)
          expect(idsOn(page)).toEqual([needle])
          expect(nextOf(page)).toBeUndefined()
        }
        const none = yield* look(world, "owner", "clients", "?q=%3Cb%3Enobody")
        expect(emptyList(none)).toBe("none")
        expect(none.body).toContain("&lt;b&gt;nobody")
        expect(idsOn(none)).toEqual([])
      })
    ))

  test("of 250, every one is on one page and on one only, and so are those that a search finds", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const ids = yield* crowd(world, 250, (n) => (n % 2 === 0 ? `Even ${n}` : `Odd ${n}`))
        const pages = yield* allPages(world, "owner", "clients")
        expect(pages.length).toBe(250 / shownMost)
        expect(pages.flatMap(idsOn)).toEqual([...ids].sort())
        const found = yield* allPages(world, "owner", "clients", "?q=even")
        expect(found.flatMap(idsOn)).toEqual(ids.filter((_, n) => n % 2 === 0).sort())
        expect(found.length).toBe(125 / shownMost)
        for (const page of found.slice(0, -1)) expect(nextOf(page)).toContain("q=even&after=")
      })
    ))

  test("a search looks at a bounded number of clients for one request, and goes on where it stopped", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const ids = yield* crowd(world, lookedAtMost + 20, (n) => `Client ${n}`)
        const last = [...ids].sort().at(-1) ?? ""
        const host = `host-${ids.indexOf(last)}.example`
        world.calls.list.length = 0
        const first = yield* look(world, "owner", "clients", `?q=${host}`)
        expect(world.calls.list.length).toBe(12)
        expect(emptyList(first)).toBe("more")
        expect((yield* allPages(world, "owner", "clients", `?q=${host}`)).flatMap(idsOn)).toEqual([last])
      })
    ))

  test("that brought their identifier are found by it as it is pasted, and by a part of it", () => {
    const web = new DocumentsWeb()
    const address = web.publish("https://app.example.org/client.json")
    return inSettings(
      (world) =>
        Effect.gen(function* () {
          const sealed = yield* registerClient(world, { client_name: "Sealed" })
          expect(sealed.id).toStartWith(sealedPrefix)
          const brought = { ...sealed, id: address, secret: undefined }
          yield* codeFor(world, sealed)
          yield* codeFor(world, brought)
          for (const { id } of [sealed, brought]) {
            for (const q of [id, ` ${id}\n`, id.slice(8, -2)]) {
              const found = yield* look(world, "owner", "clients", `?${new URLSearchParams({ q })}`)
              expect([q, idsOn(found)]).toEqual([q, [Option.getOrThrow(readClientKey(id))]])
            }
          }
        }),
      { documents: web.layer(), policy: { registrationRows: "at_consent" } }
    )
  })

  test("a search for a client's whole id does not look through the others", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        const [id = ""] = yield* crowd(world, 3, (n) => `Client ${n}`)
        world.calls.list.length = 0
        expect(idsOn(yield* look(world, "owner", "clients", `?q=${id}`))).toEqual([id])
        expect(world.calls.list).toEqual([])
      })
    ))
})
