import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { readClientKey } from "../../../core/client/ClientIdentifier.ts"
import { blockClientHost, takeClientDocuments, unblockClientHost } from "../../../core/engine/administerWorkspace.ts"
import { RegistrationPolicy } from "../../../core/ports/RegistrationPolicy.ts"
import { UserId } from "../../../core/rules/Id.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { byOwner } from "../../given/auditContext.ts"
import { DocumentsWeb, documentMembers } from "../../given/documentsWeb.ts"
import {
  authorizeTarget,
  codeFor,
  companies,
  decide,
  header,
  jsonOf,
  redeem,
  redirectUri,
  refresh,
  returned,
  signInToApp,
  type TestClient,
  text,
  tokensOf,
  unregistered
} from "../../given/flow.ts"
import { pageName } from "../../given/page.ts"
import { inWorld, type Steps, t0, theWorkspace, type World, type WorldOptions } from "../../given/World.ts"

const address = "https://app.example.org/client.json"

const clientAt = (id: string = address): TestClient => unregistered(id)

const minutes = (count: number) => TestClock.adjust(count * 60_000)
const days = (count: number) => TestClock.adjust(count * 86_400_000)

const withWeb = <A>(body: (world: World, web: DocumentsWeb) => Steps<A>, options: WorldOptions = {}): Promise<A> => {
  const web = new DocumentsWeb()
  web.publish(address)
  return inWorld((world) => body(world, web), { documents: web.layer(), ...options })
}

const ask = (world: World, client = clientAt(), fields = {}) =>
  world.send("GET", authorizeTarget(client, fields), { as: "alice" })

const clientRows = (world: World) =>
  Effect.map(world.services.clients.list(world.workspace.id, { after: undefined, limit: 100 }), ({ values }) => values)

const writes = ({ calls }: World) => calls.insert.length + calls.replace.length + calls.remove.length

describe("a client that brings the address of its document", () => {
  test("gets in, refreshes, is told by its address, and leaves one row once a person approved", () =>
    withWeb(function* (world, web) {
      const page = yield* ask(world)
      expect(page.status).toBe(200)
      expect(page.body).toContain("app.example.org")
      expect(writes(world)).toBe(0)
      const answer = yield* decide(world, page, "approve")
      const code = text(returned(answer).get("code"))
      const [row, ...more] = yield* clientRows(world)
      expect(more).toEqual([])
      expect(row?.origin).toMatchObject({ identifier: address, document: { host: "app.example.org" } })
      const tokens = tokensOf(yield* redeem(world, clientAt(), code))
      expect((yield* companies(world, tokens.access)).status).toBe(200)
      const principal = yield* world.guard("/x", { scopes: [] }, { authorization: `Bearer ${tokens.access}` })
      expect(principal).toMatchObject({ _tag: "Admitted", principal: { client: address } })
      expect((yield* refresh(world, clientAt(), tokens.refresh)).status).toBe(200)
      expect(web.asked).toEqual([address])
    }))

  test("is told by its host on the page of an answer that was given already, too", () =>
    withWeb(function* (world, web) {
      web.publish(address, { client_name: "Claude" })
      const page = yield* ask(world)
      yield* decide(world, page, "approve")
      const again = yield* decide(world, page, "approve")
      expect(pageName(again)).toBe("consent-waiting")
      expect([again.body.includes("app.example.org"), again.body.includes("Claude")]).toEqual([true, false])
    }))

  test("writes nothing where a person refuses, looks, or reloads", () =>
    withWeb(function* (world) {
      yield* ask(world)
      const page = yield* ask(world)
      const answer = yield* decide(world, page, "deny")
      expect(returned(answer).get("error")).toBe("access_denied")
      expect(yield* clientRows(world)).toEqual([])
      expect(world.calls.insert).toHaveLength(1)
    }))

  test.each([
    ["https://app.example.org/callback", false],
    ["http://127.0.0.1:7777/callback", true],
    ["http://localhost/callback", true]
  ])("is let in by the name of its host, not by its own, which is unverified: %s", (redirect_uri, stays) =>
    withWeb(function* (world, web) {
      web.publish(address, { client_name: "Claude", redirect_uris: [redirect_uri] })
      const { body } = yield* ask(world, clientAt(), { redirect_uri })
      const texts = (tag: string) =>
        [...body.matchAll(new RegExp(`<${tag}\\b[^>]*>(.*?)</${tag}>`, "gs"))].map(([, inner = ""]) =>
          inner.replaceAll(/<[^>]*>/g, "")
        )
      const [heading = "", ...others] = [...texts("h1"), ...texts("title")]
      for (const loud of [heading, ...others]) {
        expect([loud.includes("app.example.org"), loud.includes("Claude")]).toEqual([true, false])
      }
      expect(body).toMatch(/Claude<\/bdi> <span class="badge">unverified</)
      const [, terms = ""] = /<dl class="terms">(.*?)<\/dl>/s.exec(body) ?? []
      expect([terms, body.replace(terms, "")].map((part) => part.includes("this computer"))).toEqual([stays, stays])
    })
  )

  test("is met once by all who ask while its copy is fresh", () =>
    withWeb(function* (world, web) {
      yield* Effect.all(
        Array.from({ length: 20 }, () => ask(world)),
        { concurrency: "unbounded" }
      )
      expect(web.asked).toEqual([address])
    }))

  test("is offered in the metadata, where documents are taken", async () => {
    const told = (options: WorldOptions) =>
      withWeb(
        (world) => Effect.map(world.send("GET", "/.well-known/oauth-authorization-server"), (answer) => jsonOf(answer)),
        options
      )
    expect(await told({})).toMatchObject({ client_id_metadata_document_supported: true })
    for (const registration of [
      RegistrationPolicy.layerClosed,
      RegistrationPolicy.withDocuments(RegistrationPolicy.layerOpen, [])
    ]) {
      expect(await told({ registration })).not.toHaveProperty("client_id_metadata_document_supported")
    }
  })
})

describe("owners who say whose documents they take", () => {
  const says = (world: World, hosts: "any" | ReadonlyArray<string>) =>
    Effect.flatMap(world.services.openings.open(world.workspace), (workspace) =>
      takeClientDocuments(world.services, byOwner(world), workspace, hosts)
    )

  test.each([
    [[], false, false],
    [["other.example"], true, false],
    [["*.org"], true, true],
    ["any", true, true]
  ] as const)("%s", (hosts, offered, taken) =>
    withWeb(function* (world) {
      const tokens = yield* signInToApp(world, clientAt())
      yield* says(world, hosts)
      expect((yield* ask(world)).status).toBe(taken ? 200 : 400)
      expect((yield* refresh(world, clientAt(), tokens.refresh)).status).toBe(taken ? 200 : 401)
      const metadata = jsonOf(yield* world.send("GET", "/.well-known/oauth-authorization-server"))
      expect(metadata.client_id_metadata_document_supported).toBe(offered)
      yield* says(world, "any")
      expect((yield* ask(world)).status).toBe(200)
    })
  )

  test("take none that the server or the workspace's configuration does not take", async () => {
    for (const options of [
      { registration: RegistrationPolicy.withDocuments(RegistrationPolicy.layerOpen, ["other.example"]) },
      { resolve: () => ({ ...theWorkspace, clientDocuments: ["other.example"] }) }
    ]) {
      const status = await withWeb(
        (world) =>
          Effect.andThen(
            says(world, "any"),
            Effect.map(ask(world), ({ status }) => status)
          ),
        options
      )
      expect(status).toBe(400)
    }
  })

  test("are refused what is no host", () =>
    withWeb(function* (world) {
      expect(yield* Effect.flip(says(world, ["https://app.example.org"]))).toMatchObject({ _tag: "BadHost" })
    }))
})

describe("a document that changes", () => {
  test("counts from the next fetch, at the token endpoint too", () =>
    withWeb(function* (world, web) {
      const tokens = yield* signInToApp(world, clientAt())
      web.publish(address, { client_name: "Another" })
      expect((yield* ask(world)).body).not.toContain("Another")
      yield* minutes(11)
      expect((yield* refresh(world, clientAt(), tokens.refresh)).status).toBe(200)
      expect(web.asked.length).toBe(2)
      expect((yield* clientRows(world))[0]?.about.client_name).toBe("Another")
      expect(world.audit.map(({ event }) => event)).toContainEqual(
        expect.objectContaining({ _tag: "ClientChanged", change: "document_changed" })
      )
    }))

  test("between page and answer is asked about again", () =>
    withWeb(function* (world, web) {
      const page = yield* ask(world)
      web.publish(address, { client_name: "Another" })
      yield* minutes(11)
      const answer = yield* decide(world, page, "approve")
      expect(answer.status).toBe(403)
      expect(yield* clientRows(world)).toEqual([])
      expect(answer.body).toContain(encodeURIComponent(address))
    }))

  test("in another process meanwhile is asked about again", () =>
    withWeb(function* (world, web) {
      const page = yield* ask(world)
      web.publish(address, { client_name: "Another" })
      yield* minutes(11)
      yield* codeFor(world, clientAt())
      yield* TestClock.adjust(1000)
      expect((yield* decide(world, page, "approve", "alice")).status).toBe(403)
    }))

  test.each([
    ["no-store", 5],
    ["max-age=600", 10],
    ["max-age=31536000", 24 * 60]
  ])("is asked for again when its cache ends, which is between five minutes and a day: %s", (cacheControl, fresh) =>
    withWeb(function* (world, web) {
      web.publish(address, {}, { cacheControl })
      yield* ask(world)
      yield* minutes(fresh - 0.1)
      yield* ask(world)
      expect(web.asked.length).toBe(1)
      yield* minutes(0.2)
      yield* ask(world)
      expect(web.asked.length).toBe(2)
    })
  )

  test.each([
    [5 * 1024, 200],
    [5 * 1024 + 1, 400]
  ])("may be %d bytes long: %d", (length, status) =>
    withWeb(function* (world, web) {
      const document = JSON.stringify({ client_id: address, ...documentMembers, more: "" })
      web.pages.set(address, {
        body: document.replace('"more":""', `"more":"${"m".repeat(length - document.length)}"`)
      })
      expect((yield* ask(world)).status).toBe(status)
    })
  )

  test.each([
    ["stays as it is", {}, false],
    ["has another page of its own", { client_uri: "https://app.example.org/other" }, true],
    ["returns elsewhere too", { redirect_uris: [redirectUri, "https://app.example.org/other"] }, true]
  ])("is asked about again, where a person's yes would count for one that %s", (_, members, asks) =>
    withWeb(
      function* (world, web) {
        yield* signInToApp(world, clientAt())
        web.publish(address, members)
        yield* minutes(11)
        const answer = yield* ask(world)
        expect([answer.status, header(answer, "location") === undefined]).toEqual(asks ? [200, true] : [303, false])
      },
      { policy: { consent: "remember" } }
    )
  )

  test("loses a redirect URI at once, for pages and codes that are out", () =>
    withWeb(function* (world, web) {
      yield* ask(world)
      yield* minutes(9.7)
      const page = yield* ask(world)
      const code = yield* codeFor(world, clientAt())
      web.publish(address, { redirect_uris: ["https://other.example.org/callback"] })
      yield* minutes(0.5)
      expect((yield* ask(world)).status).toBe(400)
      expect(header(yield* decide(world, page, "approve"), "location")).toBeUndefined()
      expect((yield* redeem(world, clientAt(), code)).status).toBe(400)
    }))

  test("that falls back to no proof ends what was granted against one", () =>
    withWeb(function* (world, web) {
      const tokens = yield* signInToApp(world, clientAt())
      const [row] = yield* clientRows(world)
      if (row === undefined) throw new Error("no row")
      yield* world.services.clients.change(world.workspace.id, row.id, (client) => ({
        ...client,
        credential: { _tag: "Keys", method: "private_key_jwt", keys: { _tag: "Fetched", jwksUri: address } }
      }))
      yield* minutes(11)
      web.publish(address)
      const answer = yield* refresh(world, clientAt(), tokens.refresh)
      expect(jsonOf(answer).error).toBe("invalid_grant")
      expect((yield* companies(world, tokens.access)).status).toBe(401)
      expect((yield* signInToApp(world, clientAt())).access).not.toBe("")
    }))
})

describe("an answer to the page of a client, by the document as it is then", () => {
  /** A page that a person reads until the document is to be read anew. */
  const late = Effect.fnUntraced(function* (world: World, web: DocumentsWeb) {
    const page = yield* ask(world)
    yield* minutes(11)
    web.asked.length = 0
    return page
  })

  test("fetches nothing for a no, which is on record by the client's own id", () =>
    withWeb(function* (world, web) {
      const page = yield* late(world, web)
      web.pages.delete(address)
      expect(returned(yield* decide(world, page, "deny")).get("error")).toBe("access_denied")
      expect(web.asked).toEqual([])
      const key = Option.getOrThrow(readClientKey(address))
      expect(world.audit.at(-1)?.event).toEqual({ _tag: "ConsentDenied", client: key, user: UserId.make("alice") })
    }))

  test.each([
    ["that its document names only since", 11, "https://app.example.org/moved"],
    ["after its record's time was over", 32 * 24 * 60, redirectUri]
  ])("tells a no to the client at an address %s", (_, later, redirect_uri) =>
    withWeb(function* (world, web) {
      yield* signInToApp(world, clientAt())
      yield* minutes(later)
      web.publish(address, { redirect_uris: [redirect_uri] })
      const page = yield* ask(world, clientAt(), { redirect_uri })
      const answer = yield* decide(world, page, "deny")
      expect(header(answer, "location")).toStartWith(redirect_uri)
      expect(returned(answer).get("error")).toBe("access_denied")
    })
  )

  test("reads it anew for a yes, and keeps when that was", () =>
    withWeb(function* (world, web) {
      const page = yield* late(world, web)
      expect(returned(yield* decide(world, page, "approve")).get("code")).not.toBeNull()
      expect(web.asked).toEqual([address])
      const [row] = yield* clientRows(world)
      expect(row?.origin?.document?.fetchedAt).toBe(Instant.make(t0 + 11 * 60_000))
    }))

  test.each([
    ["{", "document_malformed"],
    [JSON.stringify({ client_id: "https://app.example.org/other.json" }), "document_mismatch"]
  ] as const)("is told why no client comes of it any more: %s", (body, reason) =>
    withWeb(function* (world, web) {
      const page = yield* late(world, web)
      web.pages.set(address, { body })
      const answer = yield* decide(world, page, "approve")
      expect([answer.status, header(answer, "location")]).toEqual([400, undefined])
      expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "UntrustedRequest", reason })
      expect(yield* clientRows(world)).toEqual([])
    })
  )
})

describe("a document that is not there", () => {
  test("gets a page before consent, and 503 from the token endpoint", () =>
    withWeb(function* (world, web) {
      web.pages.clear()
      const page = yield* ask(world)
      expect([page.status, header(page, "retry-after")]).toEqual([503, "30"])
      expect(header(page, "location")).toBeUndefined()
      const token = yield* refresh(world, clientAt(), "tsr_rt_x")
      expect([token.status, header(token, "retry-after")]).toEqual([503, "30"])
      expect(writes(world)).toBe(0)
    }))

  test("keeps what people granted for seven days, and asks no person anew", () =>
    withWeb(function* (world, web) {
      let tokens = yield* signInToApp(world, clientAt())
      web.pages.set(address, "unreachable")
      yield* days(6.9)
      expect((yield* ask(world)).status).toBe(503)
      tokens = tokensOf(yield* refresh(world, clientAt(), tokens.refresh))
      const asked = web.asked.length
      tokens = tokensOf(yield* refresh(world, clientAt(), tokens.refresh))
      expect(web.asked.length).toBe(asked)
      yield* days(0.2)
      expect((yield* refresh(world, clientAt(), tokens.refresh)).status).toBe(503)
      web.pages.set(address, { body: "{}" })
      yield* minutes(1)
      expect(jsonOf(yield* refresh(world, clientAt(), tokens.refresh)).error).toBe("invalid_client")
      web.publish(address)
      yield* minutes(1)
      expect((yield* refresh(world, clientAt(), tokens.refresh)).status).toBe(200)
    }))
})

test("what is refreshed while a document is away lasts as long as what is refreshed at any other time", () =>
  withWeb(function* (world, web) {
    const { refresh: first } = yield* signInToApp(world, clientAt())
    web.pages.clear()
    yield* days(6.9)
    const { refresh: second } = tokensOf(yield* refresh(world, clientAt(), first))
    web.publish(address)
    yield* days(29.9)
    expect((yield* refresh(world, clientAt(), second)).status).toBe(200)
  }))

describe("an owner", () => {
  test("who deletes such a client ends its grants, also where a person lets it in again", () =>
    withWeb(function* (world) {
      const tokens = yield* signInToApp(world, clientAt())
      const [row] = yield* clientRows(world)
      if (row === undefined) throw new Error("no row")
      yield* minutes(1)
      yield* world.services.clients.remove(world.workspace.id, row.id)
      expect((yield* companies(world, tokens.access)).status).toBe(401)
      yield* signInToApp(world, clientAt(), {}, "bob")
      expect((yield* companies(world, tokens.access)).status).toBe(401)
      expect(jsonOf(yield* refresh(world, clientAt(), tokens.refresh)).error).toBe("invalid_grant")
    }))

  test("who deletes such a client ends what people said of it: a yes does not count again when others let it in", () =>
    withWeb(
      function* (world) {
        yield* signInToApp(world, clientAt())
        expect((yield* ask(world)).status).toBe(303)
        const [row] = yield* clientRows(world)
        if (row === undefined) throw new Error("no row")
        yield* minutes(1)
        yield* world.services.clients.remove(world.workspace.id, row.id)
        yield* signInToApp(world, clientAt(), {}, "bob")
        expect((yield* ask(world)).status).toBe(200)
      },
      { policy: { consent: "remember" } }
    ))

  test("finds no second name of such a client in the id of its record", () =>
    withWeb(function* (world) {
      const tokens = yield* signInToApp(world, clientAt())
      const [row] = yield* clientRows(world)
      const alias = clientAt(row?.id)
      expect((yield* ask(world, alias)).status).toBe(400)
      expect(jsonOf(yield* refresh(world, alias, tokens.refresh)).error).toBe("invalid_client")
    }))

  test("who blocks a host ends what its clients have, and lets in no other from there until it is unblocked", () =>
    withWeb(function* (world, web) {
      const elsewhere = clientAt(web.publish("https://other.example.com/client.json"))
      const [tokens, others] = [yield* signInToApp(world, clientAt()), yield* signInToApp(world, elsewhere)]
      const page = yield* ask(world)
      const owner = { workspace: world.workspace.id, requestId: "test", by: "command line" } as const
      expect(yield* blockClientHost(world.services, owner, world.workspace, "*.example.org")).toBe(1)
      yield* minutes(0.5)
      expect((yield* companies(world, tokens.access)).status).toBe(401)
      expect(jsonOf(yield* refresh(world, clientAt(), tokens.refresh)).error).toBe("invalid_client")
      expect((yield* ask(world)).status).toBe(400)
      expect((yield* decide(world, page, "approve")).status).toBe(400)
      expect((yield* companies(world, others.access)).status).toBe(200)
      expect(yield* unblockClientHost(world.services, owner, world.workspace, "*.example.org")).toBe(true)
      yield* minutes(0.5)
      yield* signInToApp(world, clientAt(), {}, "bob")
      expect((yield* companies(world, tokens.access)).status).toBe(401)
    }))

  test.each([
    ["app.example.org", true, true],
    ["*.example.org", true, true],
    ["app.example.org:8443", false, true]
  ])("who blocks %s blocks each of its ports, unless one is named", (host, usual, other) =>
    withWeb(function* (world, web) {
      const clients = [clientAt(), clientAt(web.publish("https://app.example.org:8443/client.json"))] as const
      const tokens = yield* Effect.forEach(clients, (client) => signInToApp(world, client))
      const owner = { workspace: world.workspace.id, requestId: "test", by: "command line" } as const
      yield* blockClientHost(world.services, owner, world.workspace, host)
      yield* minutes(0.5)
      const ended = yield* Effect.forEach(tokens, ({ access }) => companies(world, access))
      expect(ended.map(({ status }) => status === 401)).toEqual([usual, other])
      const asked = yield* Effect.forEach(clients, (client) => ask(world, client))
      expect(asked.map(({ status }) => status === 400)).toEqual([usual, other])
    })
  )

  test("who blocks a host while a person approves leaves no client of it", () =>
    withWeb(function* (world) {
      const page = yield* ask(world)
      const owner = { workspace: world.workspace.id, requestId: "test", by: "command line" } as const
      const another = yield* world.elsewhere
      yield* blockClientHost(another.services, owner, world.workspace, "app.example.org")
      // This process goes on with what it read of the workspace a moment ago.
      expect((yield* decide(world, page, "approve")).status).toBe(400)
      expect(yield* clientRows(world)).toEqual([])
    }))
})
