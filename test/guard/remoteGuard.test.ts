import { describe, expect, test } from "bun:test"
import * as memory from "../../adapters/memory/MemoryStorage.ts"
import { clientKey, DocumentAddress } from "../../core/client/ClientIdentifier.ts"
import { ClientId, GrantId, PlaceId, UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { noScopes } from "../../core/rules/Scope.ts"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { type Guard, localGuard } from "../../runtimes/guard.ts"
import { lineOf } from "../../runtimes/observe/audit.ts"
import type { AuditEntry, CreateOptions, EmbeddedTessera } from "../../runtimes/tessera.ts"
import { bearer, letIn, letInAs, machine, registersItself } from "../embed/host.ts"
import { t0, theWorkspace } from "../given/World.ts"
import { withRemote } from "./remote.ts"

const needs = { scopes: ["api"] }

const statusOf = async (guard: Guard, url: string, token?: string, scopes = needs) => {
  const checked = await guard.guard(token === undefined ? new Request(url) : bearer(url, token), scopes)
  return checked._tag === "Admitted" ? 200 : checked.response.status
}

/** An application whose id holds its registration, so that its record has another. */
const letInItself = async (auth: EmbeddedTessera) => letInAs(auth, "carol", await registersItself(auth))

const { promise: forever } = Promise.withResolvers<never>()

describe("a guard in another process", () => {
  test("admits each of the three kinds of caller, in the words of the guard in the same process", () =>
    withRemote({}, async ({ auth, guard, resource }) => {
      const { access } = await letIn(auth, "ada", "api profile")
      const { token } = await machine(auth)
      const { key } = await auth.apiKeys.create({ name: "Script" })
      const ending = await auth.apiKeys.create({ name: "Script that ends", expiresIn: "1 day" })
      for (const text of [access, await token(), await token(`${resource}/orders`), key, ending.key]) {
        const request = () => bearer(`${resource}/orders`, text)
        const here = await auth.guard(request(), needs)
        expect(here._tag).toBe("Admitted")
        expect(await guard.guard(request(), needs)).toEqual(here)
      }
    }))

  test("tells each request anew who calls, as that in the same process does, whatever the last one made of it", () =>
    withRemote({ host: { storage: memory.layerAtOnce } }, async ({ auth, guard, resource }) => {
      const { access } = await letIn(auth, "ada")
      const { token } = await machine(auth)
      const { key } = await auth.apiKeys.create({ name: "Script" })
      for (const text of [access, await token(), key]) {
        for (const each of [auth, guard]) {
          const told = async () => {
            const checked = await each.guard(bearer(`${resource}/orders`, text), needs)
            if (checked._tag === "Refused") throw new Error("it was refused")
            return checked.principal
          }
          const first = await told()
          const before = structuredClone(first)
          Object.assign(first.scope, ["everything", "api"])
          Object.assign(first, { grant: "changed" })
          expect(await told()).toEqual(before)
        }
      }
    }))

  test("and that in the same process give a narrow key what its scopes open, and a key for introspection nothing", () =>
    withRemote({}, async ({ auth, guard, guardOf, resource }) => {
      const narrow = await auth.apiKeys.create({ name: "Profiles", scopes: ["profile"] })
      const asks = await auth.apiKeys.create({ name: "Guard", introspectOnly: true })
      const statuses = async (token: string, scopes: ReadonlyArray<string>) => [
        await statusOf(auth, `${resource}/orders`, token, { scopes: [...scopes] }),
        await statusOf(guard, `${resource}/orders`, token, { scopes: [...scopes] })
      ]
      expect(await statuses(narrow.key, ["profile"])).toEqual([200, 200])
      expect(await statuses(narrow.key, [])).toEqual([200, 200])
      expect(await statuses(narrow.key, ["api"])).toEqual([403, 403])
      expect(await statuses(asks.key, ["api"])).toEqual([403, 403])
      expect(await statuses(asks.key, [])).toEqual([403, 403])
      // What has no business with tokens of others is told of none.
      expect(await statusOf(guardOf({ apiKey: narrow.key }), `${resource}/orders`, narrow.key)).toBe(503)
    }))

  test("refuses in the very words of the guard in the same process", () =>
    withRemote({}, async ({ auth, guard, resource }) => {
      const { access } = await letIn(auth, "ada")
      const { token } = await machine(auth)
      const requests: ReadonlyArray<[() => Request, number, typeof needs]> = [
        [() => new Request(`${resource}/orders`), 401, needs],
        [() => new Request(`${resource}/orders`, { headers: { authorization: "Basic abc" } }), 401, needs],
        [() => bearer(`${resource}/orders`, "two tokens"), 401, needs],
        [() => bearer(`${resource}/orders`, "forged"), 401, needs],
        [() => bearer(`${resource}/orders`, `${access.slice(0, -1)}${access.endsWith("A") ? "B" : "A"}`), 401, needs],
        [() => bearer(`${resource}/orders`, access), 403, { scopes: ["api", "profile"] }]
      ]
      const elsewhere = await token(`${resource}/invoices`)
      for (const [request, status, wants] of [
        ...requests,
        [() => bearer(`${resource}/orders`, elsewhere), 401, needs] as const
      ]) {
        const here = await auth.guard(request(), wants)
        const there = await guard.guard(request(), wants)
        if (here._tag === "Admitted" || there._tag === "Admitted") throw new Error("it was admitted")
        expect(there.response.status).toBe(status)
        expect(here.response.status).toBe(status)
        for (const name of ["www-authenticate", "cache-control", "pragma", "content-type"]) {
          expect([name, there.response.headers.get(name)]).toEqual([name, here.response.headers.get(name)])
        }
        expect(await there.response.text()).toBe(await here.response.text())
      }
    }))

  test("says where its own metadata is, if it has some", () =>
    withRemote({ resourceMetadata: "https://api.example/.well-known/oauth-protected-resource" }, async ({ guard }) => {
      const checked = await guard.guard(new Request("https://api.example/orders"), needs)
      expect(checked._tag === "Refused" && checked.response.headers.get("www-authenticate")).toStartWith(
        'Bearer resource_metadata="https://api.example/.well-known/oauth-protected-resource", scope="api", DPoP '
      )
    }))

  test("leads there by an address that a header can hold, however it was written", () =>
    withRemote({ resourceMetadata: 'https://api.example/a "b"\r\nx: y' }, async ({ guard }) => {
      const checked = await guard.guard(new Request("https://api.example/orders"), needs)
      expect(checked._tag === "Refused" && checked.response.headers.get("www-authenticate")).toStartWith(
        'Bearer resource_metadata="https://api.example/a%20%22b%22x:%20y", scope="api", DPoP '
      )
    }))

  test("asks no server where there is no token, or none that could be one", () =>
    withRemote({}, async ({ guard, line, resource }) => {
      expect(await statusOf(guard, resource)).toBe(401)
      expect(await statusOf(guard, resource, "a".repeat(9000))).toBe(401)
      expect(line.asked).toBe(0)
    }))

  test("takes no refresh token, live as it is", () =>
    withRemote({}, async ({ auth, guard, resource }) => {
      const { refresh } = await letIn(auth, "ada")
      expect(await statusOf(guard, resource, refresh)).toBe(401)
    }))

  test("tells all that there is to tell of an application for a person, in the words of the guard in the same process", () =>
    withRemote({}, async ({ guard, line, resource }) => {
      const [last, first] = [ClientId.make(`${"B".repeat(21)}A`), ClientId.make("A".repeat(22))]
      const principal = {
        _tag: "User",
        user: UserId.make("ada"),
        place: PlaceId.make("mill"),
        authenticatedAt: Instant.make(t0 - 5000),
        acr: "gold",
        client: last,
        actors: [last, first],
        expiresAt: Instant.make(t0 + 60_000),
        workspace: theWorkspace.id,
        scope: noScopes,
        grant: GrantId.make(`${"G".repeat(21)}A`),
        resources: null
      } as const
      const here = localGuard(async () => ({
        _tag: "Admitted",
        principal,
        workspace: { ...theWorkspace, issuer: Issuer.make(resource) }
      }))
      line.instead = async () =>
        Response.json({
          active: true,
          token_type: "Bearer",
          principal: "User",
          sub: "ada",
          place: "mill",
          auth_time: t0 / 1000 - 5,
          acr: "gold",
          client_id: last,
          act: { sub: last, act: { sub: first } },
          exp: t0 / 1000 + 60,
          grant: "GGGGGGGG"
        })
      for (const each of [here, guard]) {
        const told = async () => {
          const checked = await each.guard(bearer(resource, "token"), { scopes: [], callers: ["User"] })
          if (checked._tag === "Refused") throw new Error("it was refused")
          return checked.principal
        }
        const { scope: _, issuer: at, ...before } = structuredClone(await told())
        expect([at, before]).toEqual([
          resource,
          {
            _tag: "User",
            user: "ada",
            place: "mill",
            authenticatedAt: t0 - 5000,
            acr: "gold",
            client: last,
            actors: [last, first],
            expiresAt: t0 + 60_000,
            grant: "GGGGGGGG",
            resources: null
          }
        ])
        // What is known of a token is asked again, and a host may do as it likes with what it was told.
        Object.assign((await told()).actors ?? [], ["changed"])
        expect((await told()).actors).toEqual([last, first])
      }
    }))

  test("tells at which of their places a person allowed it", () =>
    withRemote({}, async ({ guard, line, resource }) => {
      const said = { active: true, sub: "a", client_id: "c", exp: 4e9, token_type: "Bearer", scope: "api", grant: "g" }
      const callerAt = async (where: object) => {
        line.instead = async () => Response.json({ ...said, principal: "User", ...where })
        guard.clear()
        const checked = await guard.guard(bearer(resource, "token"), needs)
        return checked._tag === "Admitted" ? checked.principal : checked.response.status
      }
      expect(await callerAt({ place: "mill" })).toMatchObject({ user: "a", place: "mill" })
      const nowhere = await callerAt({})
      expect(nowhere).toMatchObject({ user: "a" })
      expect(nowhere).not.toHaveProperty("place")
    }))

  test("takes no token of another server's, nor one that is for another resource", () =>
    withRemote({}, async ({ guard, line, resource }) => {
      const active = {
        active: true,
        sub: "a",
        client_id: "c",
        exp: 4e9,
        token_type: "Bearer",
        principal: "User",
        grant: "g"
      }
      const answer = async (over: object) => {
        line.instead = async () => Response.json({ ...active, scope: "api", iss: resource, ...over })
        guard.clear()
        return statusOf(guard, `${resource}/orders`, "token")
      }
      expect(await answer({})).toBe(200)
      expect(await answer({ iss: "https://elsewhere.example" })).toBe(401)
      expect(await answer({ aud: [resource] })).toBe(200)
      expect(await answer({ aud: [resource, "https://elsewhere.example"] })).toBe(200)
      expect(await answer({ aud: ["https://elsewhere.example", `${resource}/ord`] })).toBe(401)
      expect(await answer({ aud: [] })).toBe(401)
      expect(await answer({ aud: "https://elsewhere.example" })).toBe(401)
      expect(await answer({ aud: `${resource}/ord` })).toBe(401)
      expect(await answer({ exp: 1 })).toBe(401)
      // A token is over from its last moment on, here as at the server.
      expect(await answer({ exp: t0 / 1000 })).toBe(401)
      // Of a person or an application, a token that never ends is none of Tessera's.
      expect(await answer({ exp: undefined })).toBe(401)
      expect(await answer({ exp: undefined, principal: "Workspace" })).toBe(401)
      expect(await answer({ token_type: undefined })).toBe(401)
      expect(await answer({ scope: undefined })).toBe(403)
    }))
})

describe("what it remembers", () => {
  test("is believed for 5 seconds unless it is told otherwise, from when it was asked for: no revoked token works longer", () =>
    withRemote({}, async ({ auth, guard, line, resource, wait }) => {
      const { revoke, token } = await machine(auth)
      const access = await token()
      expect(await statusOf(guard, resource, access)).toBe(200)
      await revoke(access)
      await wait(4999)
      expect(await statusOf(guard, resource, access)).toBe(200)
      expect(line.asked).toBe(1)
      await wait(1)
      expect(await statusOf(guard, resource, access)).toBe(401)
      expect(line.asked).toBe(2)
    }))

  test("is believed from the question on, however long the answer was on its way", () =>
    withRemote({ cache: { ttl: "5 seconds" }, timeout: "1 minute" }, async ({ auth, guard, line, resource, wait }) => {
      const { revoke, token } = await machine(auth)
      const access = await token()
      const { promise, resolve } = Promise.withResolvers<void>()
      line.gate = promise
      const answered = line.answered()
      const first = statusOf(guard, resource, access)
      await answered
      await revoke(access)
      line.gate = undefined
      await wait(4999)
      resolve()
      expect(await first).toBe(200)
      expect(await statusOf(guard, resource, access)).toBe(200)
      await wait(1)
      expect(await statusOf(guard, resource, access)).toBe(401)
    }))

  test("is nothing where `ttl` is 0: each check is a question, and a revocation counts at once", () =>
    withRemote({ cache: { ttl: 0 } }, async ({ auth, guard, line, resource }) => {
      const { revoke, token } = await machine(auth)
      const access = await token()
      for (const asked of [1, 2, 3]) {
        expect(await statusOf(guard, resource, access)).toBe(200)
        expect(line.asked).toBe(asked)
      }
      await revoke(access)
      expect(await statusOf(guard, resource, access)).toBe(401)
    }))

  test("never outlives the token", () =>
    withRemote(
      { cache: { ttl: "1 hour" }, host: { lifetimes: { access: "10 seconds" } } },
      async ({ auth, guard, line, resource, wait }) => {
        const access = await (await machine(auth)).token()
        expect(await statusOf(guard, resource, access)).toBe(200)
        await wait(9999)
        expect(await statusOf(guard, resource, access)).toBe(200)
        expect(line.asked).toBe(1)
        await wait(1)
        expect(await statusOf(guard, resource, access)).toBe(401)
      }
    ))

  test("is shorter for what was turned away", () =>
    withRemote({}, async ({ guard, line, resource, wait }) => {
      for (let count = 0; count < 3; count++) expect(await statusOf(guard, resource, "forged")).toBe(401)
      expect(line.asked).toBe(1)
      await wait(1000)
      expect(await statusOf(guard, resource, "forged")).toBe(401)
      expect(line.asked).toBe(2)
    }))

  test("is never longer for what was turned away than for what was not", () =>
    withRemote({ cache: { ttl: 500, negativeTtl: "1 second" } }, async ({ guard, line, resource, wait }) => {
      expect(await statusOf(guard, resource, "forged")).toBe(401)
      await wait(500)
      expect(await statusOf(guard, resource, "forged")).toBe(401)
      expect(line.asked).toBe(2)
    }))

  test("is shorter where the server says so, and never longer", () =>
    withRemote({ cache: { ttl: "5 seconds" } }, async ({ guard, line, resource, wait }) => {
      const answer = {
        active: true,
        sub: "a",
        client_id: "c",
        exp: 4e9,
        token_type: "Bearer",
        principal: "User",
        grant: "g"
      }
      const hinted = (hint: string) => async () =>
        Response.json({ ...answer, scope: "api", iss: resource }, { headers: { "cache-control": hint } })
      line.instead = hinted("private, max-age=2")
      expect(await statusOf(guard, resource, "one")).toBe(200)
      await wait(1999)
      expect(await statusOf(guard, resource, "one")).toBe(200)
      expect(line.asked).toBe(1)
      await wait(1)
      expect(await statusOf(guard, resource, "one")).toBe(200)
      expect(line.asked).toBe(2)
      line.instead = hinted("max-age=3600")
      expect(await statusOf(guard, resource, "two")).toBe(200)
      await wait(5000)
      expect(await statusOf(guard, resource, "two")).toBe(200)
      expect(line.asked).toBe(4)
    }))

  test("is one question for all who ask at once", () =>
    withRemote({}, async ({ auth, guard, line, resource }) => {
      const { key } = await auth.apiKeys.create({ name: "Herd" })
      const herd = Array.from({ length: 100 }, () => statusOf(guard, resource, key))
      expect(new Set(await Promise.all(herd))).toEqual(new Set([200]))
      expect(line.asked).toBe(1)
    }))

  test("joins no call to a question that is older than `ttl`", () =>
    withRemote({ cache: { ttl: "1 second" }, timeout: "1 minute" }, async ({ auth, guard, line, resource, wait }) => {
      const { revoke, token } = await machine(auth)
      const access = await token()
      const { promise, resolve } = Promise.withResolvers<void>()
      line.gate = promise
      const answered = line.answered()
      const early = statusOf(guard, resource, access)
      await answered
      await wait(1000)
      await revoke(access)
      line.gate = undefined
      expect(await statusOf(guard, resource, access)).toBe(401)
      resolve()
      expect(await early).toBe(200)
      // The late answer is stale for later calls.
      expect(await statusOf(guard, resource, access)).toBe(401)
      expect(line.asked).toBe(2)
    }))

  test("is forgotten by token, by caller, or as a whole, and what is under way is not remembered then", () =>
    withRemote({ cache: { ttl: "1 hour" } }, async ({ auth, guard, line, resource }) => {
      const { client, revoke, token } = await machine(auth)
      const forget: ReadonlyArray<(access: string) => void> = [
        (access) => guard.forget(access),
        () => guard.forgetWhere((caller) => caller._tag === "Workspace" && caller.client === client.id),
        () => guard.clear()
      ]
      for (const forgetting of forget) {
        const access = await token()
        expect(await statusOf(guard, resource, access)).toBe(200)
        await revoke(access)
        expect(await statusOf(guard, resource, access)).toBe(200)
        forgetting(access)
        expect(await statusOf(guard, resource, access)).toBe(401)

        const other = await token()
        const { promise, resolve } = Promise.withResolvers<void>()
        line.gate = promise
        const answered = line.answered()
        const under = statusOf(guard, resource, other)
        await answered
        await revoke(other)
        line.gate = undefined
        forgetting(other)
        resolve()
        expect(await under).toBe(200)
        expect(await statusOf(guard, resource, other)).toBe(401)
      }
      const kept = await token()
      await statusOf(guard, resource, kept)
      const { asked } = line
      guard.forgetWhere(() => false)
      expect(await statusOf(guard, resource, kept)).toBe(200)
      expect(line.asked).toBe(asked)
    }))

  test("ends with what the audit stream says, at once, whatever ended it", async () => {
    const heard: { by: (entry: AuditEntry) => void } = { by: () => undefined }
    const host: Partial<CreateOptions> = {
      audit: (entry: AuditEntry) => heard.by(entry),
      registrationRows: "at_consent"
    }
    await withRemote({ cache: { ttl: "1 hour" }, host }, async ({ auth, guard, resource }) => {
      const endings: ReadonlyArray<readonly [text: string, end: () => Promise<unknown>]> = await Promise.all([
        machine(auth).then(async ({ revoke, token }) => {
          const text = await token()
          return [text, () => revoke(text)] as const
        }),
        machine(auth).then(
          async ({ client, token }) => [await token(), () => auth.clients.disable(client.id)] as const
        ),
        machine(auth).then(async ({ client, token }) => [await token(), () => auth.clients.delete(client.id)] as const),
        auth.apiKeys.create({ name: "Key" }).then(({ id, key }) => [key, () => auth.apiKeys.revoke(id)] as const),
        letIn(auth, "ada").then(({ access }) => [access, () => auth.grants.revokeAll("ada")] as const),
        letIn(auth, "bob").then(({ access, code, redeem }) => [access, () => redeem(code)] as const),
        letInItself(auth).then(({ access, client }) => [access, () => auth.clients.disable(client.id)] as const),
        letInItself(auth).then(({ access, client }) => [access, () => auth.clients.delete(client.id)] as const)
      ])
      const bystander = (await auth.apiKeys.create({ name: "Bystander" })).key
      for (const [text, end] of endings) {
        expect(await statusOf(guard, resource, text)).toBe(200)
        expect(await statusOf(guard, resource, bystander)).toBe(200)
        const events: Array<AuditEntry["event"]> = []
        heard.by = ({ event }) => events.push(event)
        await end()
        expect(await statusOf(guard, resource, text)).toBe(200)
        for (const event of events) guard.hear(event)
        expect(await statusOf(guard, resource, text)).toBe(401)
      }
    })
  })

  test("is asked for anew where an event of the audit stream may have ended it, and nowhere else", () =>
    withRemote({ cache: { ttl: "1 hour" } }, async ({ guard, line, resource }) => {
      const [app, api] = [DocumentAddress.make("https://app.example/client.json"), ClientId.make("a".repeat(22))]
      const person = { principal: "User", sub: "ada" }
      const answers: Readonly<Record<string, object>> = {
        person: { ...person, client_id: app, grant: "one" },
        exchanged: { ...person, client_id: api, act: { sub: api }, grant: "two" },
        machine: { principal: "Workspace", sub: api, client_id: api, grant: "three" },
        script: { principal: "ApiKey", sub: "main", grant: "four" }
      }
      line.instead = async ({ body }) => {
        const token = new URLSearchParams(String(body)).get("token") ?? ""
        return Response.json({ active: true, scope: "api", token_type: "Bearer", exp: 4e9, ...answers[token] })
      }
      const all = Object.keys(answers)
      const askedAnew = async () => {
        const names: Array<string> = []
        for (const name of all) {
          const { asked } = line
          expect(await statusOf(guard, resource, name)).toBe(200)
          if (line.asked > asked) names.push(name)
        }
        return names
      }
      expect([await askedAnew(), await askedAnew()]).toEqual([all, []])
      const by = "command line"
      const rows: ReadonlyArray<readonly [AuditEntry["event"], ReadonlyArray<string>]> = [
        [{ _tag: "GrantRevoked", grant: "one", why: "by_user" }, ["person"]],
        [{ _tag: "KeyRevoked", grant: "four", by }, ["script"]],
        [{ _tag: "ClientChanged", client: clientKey(app), change: "document_changed" }, ["person", "exchanged"]],
        [{ _tag: "ClientDeleted", client: api }, ["exchanged", "machine"]],
        // The grant of the exchanged one may be of this client.
        [{ _tag: "ClientDeleted", client: "b".repeat(22) }, ["exchanged"]],
        [{ _tag: "IssuerTrusted", issuer: "https://idp.example", by }, []],
        [{ _tag: "IssuerChanged", issuer: "https://idp.example", by }, ["person", "exchanged"]],
        [{ _tag: "IssuerRemoved", issuer: "https://idp.example", by }, ["person", "exchanged"]],
        [{ _tag: "SigningKeysChanged", change: "rotated", key: "one", by }, []],
        [{ _tag: "SigningKeysChanged", change: "retired", key: "one", by }, []],
        [{ _tag: "SigningKeysChanged", change: "withdrawn", key: "one", by }, ["person", "exchanged", "machine"]],
        [{ _tag: "WorkspaceChanged", change: "changed", by }, []],
        [{ _tag: "WorkspaceChanged", change: "enabled", by }, []],
        [{ _tag: "WorkspaceChanged", change: "disabled", by }, all],
        [{ _tag: "WorkspaceMoved", from: resource, to: "https://elsewhere.example", by }, all],
        [{ _tag: "SignedOut", account: "ada" }, []]
      ]
      for (const [event, names] of rows) {
        const entry = { at: t0, workspace: WorkspaceId.make("main"), requestId: "one", event }
        // As hosts hand it on: the event alone, all that they are told, or what stands in a server's file.
        for (const heard of [event, entry, JSON.parse(JSON.stringify(lineOf(entry)))]) {
          guard.hear(heard)
          expect<unknown>([heard, await askedAnew()]).toEqual([heard, names])
        }
      }
      guard.hear({ event: "EventsLost" })
      expect(await askedAnew()).toEqual(all)
    }))

  test("is bounded, and made-up tokens push no good one out", () =>
    withRemote(
      { cache: { ttl: "1 hour", negativeTtl: "1 hour", maxEntries: 3 } },
      async ({ auth, guard, line, resource }) => {
        const { token } = await machine(auth)
        const tokens = [await token(), await token(), await token(), await token()]
        const askedFor = async (text: string | undefined) => {
          const before = line.asked
          await statusOf(guard, resource, text)
          return line.asked - before
        }
        for (const text of tokens.slice(0, 3)) expect(await askedFor(text)).toBe(1)
        for (let count = 0; count < 10; count++) expect(await askedFor(`made-up-${count}`)).toBe(1)
        for (const text of tokens.slice(0, 3)) expect(await askedFor(text)).toBe(0)
        // One more than fits: the one that was not asked for for longest makes room.
        expect(await askedFor(tokens[3])).toBe(1)
        expect(await askedFor(tokens[1])).toBe(0)
        expect(await askedFor(tokens[0])).toBe(1)
        expect(await askedFor("made-up-9")).toBe(0)
        expect(await askedFor("made-up-0")).toBe(1)
      }
    ))
})

describe("what it asks at once", () => {
  test("is bounded: who comes on top is sent away with 503, and what is known needs no question", () =>
    withRemote({ questionsAtOnce: 3 }, async ({ auth, failures, guard, line, resource }) => {
      const access = await (await machine(auth)).token()
      expect(await statusOf(guard, resource, access)).toBe(200)
      const { promise, resolve } = Promise.withResolvers<Response>()
      line.instead = async () => (await promise).clone()
      const asked = line.asked
      const within = ["one", "two", "three"].map((text) => statusOf(guard, resource, text))
      const joined = ["one", "three"].map((text) => statusOf(guard, resource, text))
      const flood = Array.from({ length: 100 }, (_, count) => statusOf(guard, resource, `made-up-${count}`))
      expect(new Set(await Promise.all(flood))).toEqual(new Set([503]))
      expect(line.asked - asked).toBe(3)
      expect(failures).toEqual(flood.map(() => ({ _tag: "TooMany" })))
      expect(await statusOf(guard, resource, access)).toBe(200)
      // Forgetting ends no question: those stay under way, and count.
      guard.forgetWhere(() => false)
      expect(await statusOf(guard, resource, "one")).toBe(503)

      resolve(Response.json({ active: false }))
      expect(await Promise.all([...within, ...joined])).toEqual([401, 401, 401, 401, 401])
      line.instead = undefined
      expect(await statusOf(guard, resource, "made-up-0")).toBe(401)
    }))

  test("makes room when a question fails, or is not answered in time", () =>
    withRemote({ questionsAtOnce: 1, timeout: "3 seconds" }, async ({ guard, line, resource, wait }) => {
      line.instead = () => Promise.reject(new TypeError("fetch failed"))
      expect(await statusOf(guard, resource, "one")).toBe(503)
      line.instead = () => forever
      const hanging = statusOf(guard, resource, "two")
      const { asked } = line
      expect(await statusOf(guard, resource, "three")).toBe(503)
      expect(line.asked).toBe(asked)
      await wait(3000)
      expect(await hanging).toBe(503)
      line.instead = undefined
      expect(await statusOf(guard, resource, "three")).toBe(401)
    }))

  test("is 100 unless it is told otherwise", () =>
    withRemote({}, async ({ guard, line, resource }) => {
      const { promise, resolve } = Promise.withResolvers<Response>()
      line.instead = async () => (await promise).clone()
      const all = Array.from({ length: 150 }, (_, count) => statusOf(guard, resource, `made-up-${count}`))
      expect(await Promise.all(all.slice(100))).toEqual(Array.from({ length: 50 }, () => 503))
      expect(line.asked).toBe(100)
      resolve(Response.json({ active: false }))
      expect(await Promise.all(all.slice(0, 100))).toEqual(Array.from({ length: 100 }, () => 401))
    }))
})

describe("while the server cannot say", () => {
  const troubles: ReadonlyArray<readonly [string, (init: RequestInit) => Promise<Response>, object]> = [
    ["the server is away", () => Promise.reject(new TypeError("fetch failed")), { _tag: "Unreachable" }],
    ["the server has trouble", async () => new Response("no", { status: 500 }), { _tag: "Status", status: 500 }],
    ["the key is not good", async () => Response.json({}, { status: 401 }), { _tag: "Status", status: 401 }],
    [
      "it is sent elsewhere",
      async () => new Response(null, { status: 307, headers: { location: "https://elsewhere.example" } }),
      { _tag: "Status", status: 307 }
    ],
    ["the answer is no JSON", async () => new Response("<html>"), { _tag: "Unreadable" }],
    ["the answer says nothing", async () => Response.json({}), { _tag: "Unreadable" }],
    ["the answer says too little", async () => Response.json({ active: true }), { _tag: "Unreadable" }],
    ["the answer is not quite yes", async () => Response.json({ active: "true" }), { _tag: "Unreadable" }]
  ]
  for (const [trouble, instead, failure] of troubles) {
    test(`no caller is admitted, 503 says when to come again: ${trouble}`, () =>
      withRemote({}, async ({ auth, failures, guard, line, resource }) => {
        const access = await (await machine(auth)).token()
        line.instead = instead
        const checked = await guard.guard(bearer(resource, access), needs)
        if (checked._tag === "Admitted") throw new Error("it was admitted")
        expect(checked.response.status).toBe(503)
        expect(checked.response.headers.get("retry-after")).toBe("2")
        expect(checked.response.headers.get("cache-control")).toBe("no-store")
        expect(failures).toMatchObject([failure])
        expect(JSON.stringify(failures)).not.toContain(access)
        // Failures are not remembered.
        line.instead = undefined
        expect(await statusOf(guard, resource, access)).toBe(200)
      }))
  }

  test("no other server is told the token or the key: where the server points to is not asked", async () => {
    let asked = 0
    const elsewhere = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => {
        asked++
        return Response.json({ active: false })
      }
    })
    const pointing = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => Response.redirect(elsewhere.url.href, 307)
    })
    try {
      await withRemote(
        { introspectionEndpoint: pointing.url.href, fetch: (url, init) => fetch(url, init) },
        async ({ failures, guard, resource }) => {
          expect(await statusOf(guard, resource, "token")).toBe(503)
          expect(failures).toEqual([{ _tag: "Status", status: 307 }])
          expect(asked).toBe(0)
        }
      )
    } finally {
      await pointing.stop(true)
      await elsewhere.stop(true)
    }
  })

  test("a server that does not answer in time is one that can't say, and is not waited for", () =>
    withRemote({}, async ({ failures, guard, line, resource, wait }) => {
      let aborted = false
      line.instead = (init) => {
        init.signal?.addEventListener("abort", () => {
          aborted = true
        })
        return forever
      }
      const checked = statusOf(guard, resource, "token")
      await wait(2999)
      expect(failures).toEqual([])
      await wait(1)
      expect(await checked).toBe(503)
      expect(failures).toEqual([{ _tag: "TimedOut" }])
      expect(aborted).toBe(true)
    }))

  test("what is remembered still holds, and no longer than it would", () =>
    withRemote({ cache: { ttl: "5 seconds" } }, async ({ auth, guard, line, resource, wait }) => {
      const access = await (await machine(auth)).token()
      expect(await statusOf(guard, resource, access)).toBe(200)
      line.instead = () => Promise.reject(new TypeError("fetch failed"))
      await wait(4999)
      expect(await statusOf(guard, resource, access)).toBe(200)
      await wait(1)
      expect(await statusOf(guard, resource, access)).toBe(503)
    }))

  test("a revoked API key of its own is told to the operator", () =>
    withRemote({}, async ({ auth, failures, guard, resource }) => {
      const [own] = (await auth.apiKeys.list()).items
      await auth.apiKeys.revoke(own?.id ?? "")
      expect(await statusOf(guard, resource, "token")).toBe(503)
      expect(failures).toEqual([{ _tag: "Status", status: 401 }])
    }))

  test("an operator's function that fails later changes nothing either", async () => {
    const onFailure = async () => {
      await null
      throw new Error("the host's own trouble, which is logged")
    }
    await withRemote({ onFailure }, async ({ guard, line, resource }) => {
      line.instead = () => Promise.reject(new TypeError("fetch failed"))
      expect(await statusOf(guard, resource, "token")).toBe(503)
      // An unhandled rejection comes after the turn in which it is rejected, and fails the test.
      for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve))
    })
  })

  test("an operator's function that throws changes nothing", () =>
    withRemote(
      {
        onFailure: () => {
          throw new Error("the host's own trouble, which is logged")
        }
      },
      async ({ guard, line, resource }) => {
        line.instead = () => Promise.reject(new TypeError("fetch failed"))
        expect(await statusOf(guard, resource, "token")).toBe(503)
      }
    ))
})
