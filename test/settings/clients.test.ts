import { describe, expect, test } from "bun:test"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { layer as memory } from "../../adapters/memory/Memory.ts"
import { readClientKey, sealedPrefix } from "../../core/client/ClientIdentifier.ts"
import { readRegistration } from "../../core/client/RegistrationRequest.ts"
import { registerClient as addClient } from "../../core/engine/administerClients.ts"
import { lookedAtMost, shownMost } from "../../core/engine/lists.ts"
import { clientTitle } from "../../core/pages/Consent.ts"
import { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { ClientId, UserId } from "../../core/rules/Id.ts"
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
import { emptyList, noticeOn, typedOn } from "../given/page.ts"
import { keyOf, signingClient } from "../given/pushing.ts"
import { realSignatures } from "../given/World.ts"
import { allPages, crowd, follow, idsOn, inSettings, look, nextOf, post, shownOn } from "./given.ts"

const owner = UserId.make("owner")

describe("registered clients", () => {
  test("are told with name, id, kind, maker, where they return to, and when they were last used", () =>
    inSettings(function* (world) {
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
    }))

  test("of an owner's making are told as such, and a public one as public", () =>
    inSettings(function* (world) {
      const metadata = { redirect_uris: ["https://own.example/cb"], token_endpoint_auth_method: "none" }
      const request = yield* Effect.fromResult(readRegistration(world.services, JSON.stringify(metadata)))
      yield* addClient(world.services, byOwner(world), request)
      yield* registerClient(world, { token_endpoint_auth_method: "none" })
      yield* registerClient(world)
      const page = yield* look(world, "owner", "clients")
      expect(page.body).toContain(clientTitle(undefined))
      expect(idsOn(page)).toHaveLength(3)
      const kinds = [...page.body.matchAll(/<dl class="row-facts"><div><dt>[^<]*<\/dt><dd>([^<]*)</g)].map(
        ([, kind]) => kind
      )
      expect(new Set(kinds).size).toBe(3)
    }))

  test("one that is disabled cannot connect, its tokens stop, and enabling it gives them back", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      const { access } = yield* signInToApp(world, client)
      const off = yield* post(world, "owner", "clients", { action: "disable", id: client.id }, "?q=app+%26+co")
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
    }))

  test("one with a secret gets another, shown this once; the older one can be dropped", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
      const made = yield* post(world, "owner", "clients", { action: "new-secret", id: client.id })
      expect(made.status).toBe(200)
      const [secret = ""] = /tsr_cs_[A-Za-z0-9_-]+/.exec(made.body) ?? []
      expect(shownOn(made)).toBe(secret)
      // Its client alone is below, found by its id.
      expect([idsOn(made), nextOf(made), made.body.includes('class="pager"')]).toEqual([[client.id], undefined, false])
      expect(typedOn(made)).toMatchObject({ q: client.id, resource: "", profile: "standard" })
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

      // One whose page was lost, as behind a second click.
      const lost = shownOn(yield* post(world, "owner", "clients", { action: "new-secret", id: client.id }))
      const again = yield* post(world, "owner", "clients", { action: "new-secret", id: client.id })
      expect(header(again, "location")).toBe("/settings/clients?done=secret-not-made")
      const undone = yield* post(world, "owner", "clients", { action: "drop-newer-secret", id: client.id })
      expect(header(undone, "location")).toBe("/settings/clients?done=newer-secret-dropped")
      yield* TestClock.adjust("8 days")
      expect([yield* granted(lost), yield* granted(secret)]).toEqual([401, 200])
      const gone = yield* post(world, "owner", "clients", { action: "new-secret", id: "AAAAAAAAAAAAAAAAAAAAAA" })
      expect(header(gone, "location")).toBe("/settings/clients?done=client-gone")
    }))

  test("a new secret is shown though its client cannot be read, and that is a warning without it", () => {
    let isMade = false
    const away = new StorageUnavailable({ outcome: "not_done", message: "gone fishing" })
    const store = Layer.effect(
      Storage,
      Effect.map(Storage, (below) => ({
        ...below,
        get: (key: Parameters<typeof below.get>[0]) =>
          isMade && key.kind === "client" ? Effect.fail(away) : below.get(key),
        replace: (...change: Parameters<typeof below.replace>) =>
          Effect.tap(below.replace(...change), () =>
            Effect.sync(() => {
              isMade = true
            })
          )
      }))
    ).pipe(Layer.provide(memory))
    return inSettings(
      function* (world) {
        const client = yield* registerClient(world, { grant_types: ["client_credentials"] })
        const made = yield* post(world, "owner", "clients", { action: "new-secret", id: client.id })
        const secret = shownOn(made)
        expect([made.status, idsOn(made), emptyList(made)]).toEqual([200, [], "none"])
        expect(secret).toStartWith("tsr_cs_")
        isMade = false
        const granted = yield* tokenRequest(world, { ...client, secret }, { grant_type: "client_credentials" })
        expect(granted.status).toBe(200)
        const warnings = world.log.filter((line) => line.includes("StorageUnavailable"))
        expect([warnings.length, warnings.join().includes(client.id)]).toEqual([1, true])
        expect(warnings.join()).not.toContain(secret.slice(7))
      },
      { store }
    )
  })

  test("one without a secret is offered none", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      expect((yield* look(world, "owner", "clients")).body).not.toContain('value="new-secret"')
      const made = yield* post(world, "owner", "clients", { action: "new-secret", id: client.id })
      expect(header(made, "location")).toBe("/settings/clients?done=secret-not-made")
    }))

  test("one that proves itself may be let exchange the tokens that an API is sent, and not be any more", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      const open = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      const stored = () => world.services.clients.findStored(world.workspace.id, ClientId.make(client.id))
      const save = (id: string, resource: string) =>
        Effect.map(post(world, "owner", "clients", { action: "exchange", id, resource }), (answer) =>
          header(answer, "location")
        )
      const { issuer } = world.workspace
      const offered =
        (yield* look(world, "owner", "clients")).body.match(/<select name="resource">[\s\S]*?<\/select>/g) ?? []
      const values = offered.map((select) => [...select.matchAll(/value="([^"]*)"/g)].map(([, value]) => value))
      // The public one is offered none.
      expect(values).toEqual([["", issuer]])
      expect(yield* save(client.id, issuer)).toBe("/settings/clients?done=exchange-saved")
      expect((yield* stored())?.serves).toBe(Resource.make(issuer))
      expect((yield* look(world, "owner", "clients")).body).toContain(`<option value="${issuer}" selected>`)
      expect(yield* save(client.id, "https://evil.example")).toBe("/settings/clients?done=exchange-impossible")
      expect(yield* save(open.id, issuer)).toBe("/settings/clients?done=exchange-impossible")
      expect(yield* save("A".repeat(22), issuer)).toBe("/settings/clients?done=client-gone")
      const wordy = yield* registerClient(world, { contacts: Array(3).fill("x".repeat(2000)) })
      const long = `${issuer}/${"a".repeat(1500)}`
      expect(yield* save(wordy.id, long)).toBe("/settings/clients?done=exchange-too-long")
      expect(yield* save(client.id, "")).toBe("/settings/clients?done=exchange-saved")
      expect((yield* stored())?.serves).toBeUndefined()
      expect((yield* post(world, "alice", "clients", { action: "exchange", id: client.id })).status).toBe(403)
    }))

  test("one that can keep it is held to a security profile, shown, and taken out of it by an owner alone", () =>
    inSettings(
      function* (world) {
        const signs = yield* Effect.promise(() => keyOf("ES256", "k"))
        const client = yield* signingClient(world, signs, { dpop_bound_access_tokens: true })
        const { clients } = world.services
        const registered = Effect.map(
          clients.findStored(world.workspace.id, ClientId.make(client.id)),
          (found) => found?.members
        )
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
        // What it asked for beside that stays.
        expect(yield* registered).toMatchObject({ dpop_bound_access_tokens: true })
      },
      { signatures: realSignatures }
    ))

  test("no profile is offered where the server holds all its clients to the strictest", () =>
    inSettings(
      function* (world) {
        yield* signingClient(world, yield* Effect.promise(() => keyOf("ES256", "k")))
        expect((yield* look(world, "owner", "clients")).body).not.toContain('value="profile"')
      },
      { signatures: realSignatures, policy: { profile: "fapi2" } }
    ))

  test("one that is deleted is gone with everything that people allowed it; a second click is told so", () =>
    inSettings(function* (world) {
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
    }))

  test("a search is cut where it is longer than anything to be found", () =>
    inSettings(function* (world) {
      const long = "q".repeat(1025)
      const page = yield* look(world, "owner", "clients", `?q=${long}`)
      expect([page.body.includes("q".repeat(1024)), page.body.includes(long)]).toEqual([true, false])
    }))

  test("unknown ones are told as such", () =>
    inSettings(function* (world) {
      const acts = [
        "disable",
        "enable",
        "delete",
        "drop-secret",
        "drop-newer-secret",
        "exchange",
        "profile",
        "approve",
        "refuse",
        "new-secret"
      ]
      for (const action of acts) {
        for (const id of [undefined, "x", "A".repeat(22), "A".repeat(5000)]) {
          const fields = {
            action,
            id,
            resource: world.workspace.issuer,
            profile: "standard"
          }
          const answer = yield* post(world, "owner", "clients", fields, "?q=a+%26+b&done=client-enabled")
          const location = "/settings/clients?done=client-gone&q=a+%26+b"
          expect([action, header(answer, "location")]).toEqual([action, location])
        }
      }
      expect(
        (yield* post(world, "owner", "clients", { action: "profile", id: "A".repeat(22), profile: "x" })).status
      ).toBe(403)
    }))

  test("that were forgotten for never having been used are not listed, even before they are swept", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      yield* TestClock.adjust("30 days")
      expect((yield* look(world, "owner", "clients")).body).not.toContain(client.id)
      expect(idsOn(yield* look(world, "owner", "clients", `?q=${client.id}`))).toEqual([])
    }))

  test("are searched by a part of the name, the id or the host, whatever the case", () =>
    inSettings(function* (world) {
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
    }))

  test("of 250, every one is on one page and on one only, and so are those that a search finds", () =>
    inSettings(function* (world) {
      const ids = yield* crowd(world, 250, (n) => (n % 2 === 0 ? `Even ${n}` : `Odd ${n}`))
      const pages = yield* allPages(world, "owner", "clients")
      expect(pages.length).toBe(250 / shownMost)
      expect(pages.flatMap(idsOn)).toEqual([...ids].sort())
      const found = yield* allPages(world, "owner", "clients", "?q=even")
      expect(found.flatMap(idsOn)).toEqual(ids.filter((_, n) => n % 2 === 0).sort())
      expect(found.length).toBe(125 / shownMost)
      for (const page of found.slice(0, -1)) expect(nextOf(page)).toContain("q=even&after=")
    }))

  test("a search looks at a bounded number of clients for one request, and goes on where it stopped", () =>
    inSettings(function* (world) {
      const ids = yield* crowd(world, lookedAtMost + 20, (n) => `Client ${n}`)
      const last = [...ids].sort().at(-1) ?? ""
      const host = `host-${ids.indexOf(last)}.example`
      world.calls.list.length = 0
      const first = yield* look(world, "owner", "clients", `?q=${host}`)
      expect(world.calls.list.length).toBe(12)
      expect(emptyList(first)).toBe("more")
      expect((yield* allPages(world, "owner", "clients", `?q=${host}`)).flatMap(idsOn)).toEqual([last])
    }))

  test("that brought their identifier are found by it as it is pasted, and by a part of it", () => {
    const web = new DocumentsWeb()
    const address = web.publish("https://app.example.org/client.json")
    return inSettings(
      function* (world) {
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
      },
      { documents: web.layer(), policy: { registrationRows: "at_consent" } }
    )
  })

  test("that bring a document are shown by its host and address, and what it calls itself is said to be that", () => {
    const web = new DocumentsWeb()
    const address = web.publish("https://app.example.org/client.json", { client_name: "Northwind Official" })
    return inSettings(
      function* (world) {
        yield* codeFor(world, { ...(yield* registerClient(world)), id: address, secret: undefined })
        const page = yield* look(world, "owner", "clients", `?${new URLSearchParams({ q: address })}`)
        const titles = [...page.body.matchAll(/<h3>(.*?)<\/h3>/gs)].map(([, title]) => title)
        expect(titles).toEqual(["<bdi>app.example.org</bdi>"])
        expect(page.body.replaceAll("<wbr>", "")).toContain(`<code>${address}</code>`)
        expect(page.body.split("Northwind Official")).toHaveLength(2)
        expect(page.body).toContain("<dd><bdi>Northwind Official</bdi></dd>")
        // Its key is what the forms name it by, and nothing that a person reads.
        const key = Option.getOrThrow(readClientKey(address))
        expect(idsOn(page)).toEqual([key])
        expect(page.body).not.toContain(`>${key}<`)
      },
      { documents: web.layer() }
    )
  })

  test("a search for a client's whole id does not look through the others", () =>
    inSettings(function* (world) {
      const [id = ""] = yield* crowd(world, 3, (n) => `Client ${n}`)
      world.calls.list.length = 0
      expect(idsOn(yield* look(world, "owner", "clients", `?q=${id}`))).toEqual([id])
      expect(world.calls.list).toEqual([])
      expect(idsOn(yield* look(world, "owner", "clients", `?q=${id}&after=${id}`))).toEqual([])
    }))
})
