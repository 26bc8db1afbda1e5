import { describe, expect, test } from "bun:test"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { mostForAsker, mostOf } from "../../adapters/documents/makeDocuments.ts"
import { blockClientHost, unblockClientHost } from "../../core/engine/administerWorkspace.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { assertionType } from "../../core/oauth/clients/assertion.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { byOwner } from "../given/auditContext.ts"
import { DocumentsWeb, documentMembers, hangs, type Page } from "../given/documentsWeb.ts"
import { bring, claimsFor, inCompany, login, own, signed } from "../given/enterprise.ts"
import {
  authorizeTarget,
  codeFor,
  decide,
  header,
  jsonOf,
  redeem,
  redirectUri,
  refresh,
  registerClient,
  returned,
  type TestClient,
  text,
  unregistered
} from "../given/flow.ts"
import { inWorld, realSignatures, type Steps, theWorkspace, type World, type WorldOptions } from "../given/World.ts"

/** draft-ietf-oauth-client-id-metadata-document §6: unregistered programs, and what they say of themselves. */

const host = "https://app.example.org"
const address = `${host}/client.json`

const clientAt = (id: string): TestClient => unregistered(id)

const withWeb = <A>(body: (world: World, web: DocumentsWeb) => Steps<A>, options: WorldOptions = {}): Promise<A> => {
  const web = new DocumentsWeb()
  web.publish(address)
  return inWorld((world) => body(world, web), { documents: web.layer(), signatures: realSignatures, ...options })
}

const ask = (world: World, id: string, fields = {}) =>
  world.send("GET", authorizeTarget(clientAt(id), fields), { as: "alice" })

/** What is written and sent on because of a request: nothing, where it is turned away. */
const traces = Effect.fnUntraced(function* (world: World, id: string, fields = {}) {
  const before = world.calls.insert.length + world.calls.replace.length
  const answer = yield* ask(world, id, fields)
  return {
    status: answer.status,
    to: header(answer, "location"),
    writes: world.calls.insert.length + world.calls.replace.length - before
  }
})

const nothing = (status: number) => ({ status, to: undefined, writes: 0 })

/** Each has a document that says it of itself, and would be fetched if the rule on addresses did not stand before it. */
const addresses: ReadonlyArray<string> = [
  "http://app.example.org/client.json",
  "HTTPS://app.example.org/client.json",
  "https://APP.example.org/client.json",
  "https://app.example.org",
  "https://app.example.org/",
  "https://app.example.org?client.json",
  "https://app.example.org/client.json#",
  "https://app.example.org/client.json#x",
  "https://mallory@app.example.org/client.json",
  "https://mallory:x@app.example.org/client.json",
  "https://:x@app.example.org/client.json",
  "https://:@app.example.org/client.json",
  "https://app.example.org:443/client.json",
  "https://app.example.org:0443/client.json",
  "https://app.example.org:/client.json",
  "https://app.example.org:99999/client.json",
  "https://app.example.org./client.json",
  "https://app.example.org/a/../client.json",
  "https://app.example.org/./client.json",
  "https://app.example.org/%2e%2e/client.json",
  "https://app.example.org/a/%2E%2e/client.json",
  "https://app.example.org/..",
  "https:/app.example.org/client.json",
  "https:app.example.org/client.json",
  "https:///app.example.org/client.json",
  "https:\\\\app.example.org\\client.json",
  "https://app.example.org\\client.json",
  " https://app.example.org/client.json",
  "https://app.example.org/client.json ",
  "https://app.example.org/cli\tent.json",
  "https://app.example.org/client.json\n",
  "https://app.example.org/client\u0000.json",
  "https://\uff41pp.example.org/client.json",
  "https://b\u00fccher.example/client.json",
  "https://app%2eexample.org/client.json",
  "https://%61pp.example.org/client.json",
  "https://app.example.org/\u00fc.json",
  "//app.example.org/client.json",
  "javascript://app.example.org/client.json",
  "data:application/json,{}",
  "file:///etc/passwd",
  "ftp://app.example.org/client.json",
  "https://127.1/client.json",
  "https://0x7f.1/client.json",
  "https://2130706433/client.json",
  "https://0177.0.0.1/client.json",
  "https://[0:0:0:0:0:0:0:1]/client.json",
  "https://[::ffff:10.0.0.1]/client.json",
  "http://127.0.0.1:9000/client.json",
  "http://localhost/client.json",
  "http://[::1]:9000/client.json",
  `https://app.example.org/client.json?${"q".repeat(513)}`,
  `https://app.example.org/${"p".repeat(1024)}`
]

/** They are addresses, and of no place that strangers may send the server to. */
const places: ReadonlyArray<readonly [string, number]> = [
  ["https://127.0.0.1/client.json", 503],
  ["https://[::1]/client.json", 503],
  ["https://10.0.0.1/client.json", 503],
  ["https://192.168.0.1:8443/client.json", 503],
  ["https://172.16.0.1/client.json", 503],
  ["https://100.64.0.1/client.json", 503],
  ["https://0.0.0.0/client.json", 503],
  ["https://169.254.169.254/latest/meta-data", 503],
  ["https://[fd00::1]/client.json", 503],
  ["https://[fe80::1]/client.json", 503],
  ["https://[64:ff9b::a00:1]/client.json", 503],
  ["https://[::ffff:7f00:1]/client.json", 503],
  ["https://[2002:7f00:1::]/client.json", 503],
  ["https://app.example.org:22/client.json", 400],
  ["https://app.example.org:6379/client.json", 400],
  ["https://app.example.org:80/client.json", 400]
]

describe("an address", () => {
  test(`in ${addresses.length} spellings that are none, or another's, is not gone to`, () =>
    withWeb(function* (world, web) {
      for (const id of addresses) {
        web.publish(id)
        expect([id, yield* traces(world, id)]).toEqual([id, nothing(400)])
      }
      expect(web.asked).toEqual([])
    }))

  test(`of ${places.length} private places and odd ports is not gone to`, () =>
    withWeb(function* (world, web) {
      for (const [id, status] of places) {
        web.publish(id)
        expect([id, yield* traces(world, id)]).toEqual([id, nothing(status)])
      }
      expect(web.asked).toEqual([])
    }))

  test("beside another, or without one, leads nowhere", () =>
    withWeb(function* (world, web) {
      const good = authorizeTarget(clientAt(address))
      for (const target of [`${good}&client_id=${address}`, `${good}&client_id=`, good.replace("client_id", "id")]) {
        const answer = yield* world.send("GET", target, { as: "alice" })
        expect([answer.status, header(answer, "location")]).toEqual([400, undefined])
      }
      expect(web.asked).toEqual([])
    }))
})

const long = "n".repeat(65_536)
const rsaKey = { kty: "RSA", n: "AQAB".repeat(90), e: "AQAB" }
const key = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid: "k" }
const signing = (more: object) => ({ token_endpoint_auth_method: "private_key_jwt", ...more })

const page = (body: unknown, more: Partial<Page> = {}) => ({ page: { body, ...more } })
/** A document of that address with these members, in which `undefined` stands for none. */
const says = (members: object) => ({ members })

type Lie = { readonly page: Page } | { readonly members: object }

const lies: ReadonlyArray<readonly [name: string, lie: Lie, status?: number]> = [
  ["is plain, and no lie", says({}), 200],
  ["names nobody", says({ client_id: undefined })],
  ["names another address", says({ client_id: `${host}/other.json` })],
  ["names another host", says({ client_id: "https://claude.ai/client.json" })],
  ["names itself with a slash more", says({ client_id: `${address}/` })],
  ["names itself in upper case", says({ client_id: "https://APP.example.org/lie.json" })],
  ["names itself with the default port", says({ client_id: "https://app.example.org:443/lie.json" })],
  ["names itself with a query", says({ client_id: `${host}/lie.json?` })],
  ["names itself with a blank", says({ client_id: ` ${host}/lie.json` })],
  ["names itself among others", says({ client_id: [`${host}/lie.json`] })],
  ["has a number for a name", says({ client_id: 1 })],
  ["has null for a name", says({ client_id: null })],
  ["names itself where a prototype would", page(`{"__proto__":{"client_id":"${host}/lie.json"}}`)],
  ["is a list of itself", page([{ client_id: `${host}/lie.json`, ...documentMembers }])],
  ["is null", page("null")],
  ["is a text", page(`"${host}/lie.json"`)],
  ["is a number", page("1")],
  ["is empty", page("")],
  ["is a page", page("<!doctype html><title>Sign in</title>")],
  ["is cut off", page(`{"client_id":"${host}/lie.json","redirect_uris":["`)],
  ["is two", page(`{"client_id":"${host}/lie.json"}{"client_id":"${host}/lie.json"}`)],
  ["is nested without end", page("[".repeat(5000))],
  ["is 64 KiB of names", says({ client_name: long })],
  ["is 64 KiB of members", says(Object.fromEntries(Array.from({ length: 4000 }, (_, n) => [`member-${n}`, n])))],
  [
    "is 64 KiB of redirect URIs",
    says({ redirect_uris: Array.from({ length: 2000 }, (_, n) => `${host}/callback/${n}`) })
  ],
  ["is not there", page("{}", { status: 404 }), 503],
  ["is broken", page("{}", { status: 500 }), 503],
  ["is elsewhere", page("{}", { status: 302 })],
  ["is elsewhere for good", page("{}", { status: 308 })],
  ["has a secret", says({ client_secret: "s3cret" })],
  ["has an empty secret", says({ client_secret: "" })],
  ["has a secret that ends", says({ client_secret_expires_at: 0 })],
  ["proves itself by a secret", says({ token_endpoint_auth_method: "client_secret_basic" })],
  ["proves itself by a posted secret", says({ token_endpoint_auth_method: "client_secret_post" })],
  ["proves itself by a MAC", says({ token_endpoint_auth_method: "client_secret_jwt" })],
  ["proves itself by a certificate", says({ token_endpoint_auth_method: "tls_client_auth" })],
  ["proves itself by a method of a prototype", says({ token_endpoint_auth_method: "constructor" })],
  [
    "lists a secret and nothing else",
    says({ token_endpoint_auth_method: "x", token_endpoint_auth_methods_supported: ["client_secret_post"] })
  ],
  ["signs with no key", says(signing({}))],
  ["signs with an empty set", says(signing({ jwks: { keys: [] } }))],
  ["signs with a shared key", says(signing({ jwks: { keys: [{ kty: "oct", k: "c2VjcmV0" }] } }))],
  [
    "publishes its private key",
    says(signing({ jwks: { keys: [{ ...key, d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A" }] } }))
  ],
  ["signs with a key of 512 bits", says(signing({ jwks: { keys: [{ ...rsaKey, n: "AQAB".repeat(16) }] } }))],
  ["has keys in two places", says(signing({ jwks: { keys: [key] }, jwks_uri: `${host}/jwks` }))],
  ["has its keys over http", says(signing({ jwks_uri: "http://app.example.org/jwks" }))],
  ["has its keys in a script", says(signing({ jwks_uri: "javascript:alert(1)" }))],
  ["has its keys in a file", says(signing({ jwks_uri: "file:///etc/passwd" }))],
  ["returns nowhere", says({ redirect_uris: [] })],
  ["returns to no list", says({ redirect_uris: redirectUri })],
  ["returns to a member", says({ redirect_uris: { 0: redirectUri } })],
  ["returns to null", says({ redirect_uris: [null] })],
  ["returns to a script", says({ redirect_uris: ["javascript:alert(1)//.x"] })],
  ["returns to data", says({ redirect_uris: ["data:text/html,x.y"] })],
  ["returns to a file", says({ redirect_uris: ["file:///etc/passwd"] })],
  ["returns over http", says({ redirect_uris: ["http://app.example.org/callback"] })],
  ["returns with a fragment", says({ redirect_uris: [`${redirectUri}#x`] })],
  ["returns past a user name", says({ redirect_uris: ["https://claude.ai@app.example.org/callback"] })],
  ["returns past a backslash", says({ redirect_uris: ["https://app.example.org\\@claude.ai/callback"] })],
  ["returns to a command of an editor", says({ redirect_uris: ["vscode://vscode.git/clone?url=x"] })],
  ["returns to a part of an address", says({ redirect_uris: ["/callback"] })],
  ["returns to 51 addresses", says({ redirect_uris: Array.from({ length: 51 }, (_, n) => `${host}/${n}`) })]
]

describe("a document that", () => {
  test(`lies, in ${lies.length - 1} ways, lets no client in`, () =>
    withWeb(function* (world, web) {
      for (const [name, lie, status = 400] of lies) {
        // Each time another address, which nothing is known of.
        const id = `${host}/${web.asked.length}/lie.json`
        const own = (text: string) => text.replaceAll(`${host}/lie.json`, id)
        if ("page" in lie) {
          const { body } = lie.page
          web.pages.set(id, {
            ...lie.page,
            body: typeof body === "string" ? own(body) : JSON.parse(own(JSON.stringify(body)))
          })
        } else web.publish(id, JSON.parse(own(JSON.stringify({ client_id: id, ...lie.members, ...gone(lie.members) }))))
        expect([name, yield* traces(world, id)]).toEqual([name, nothing(status)])
        expect([name, web.asked.includes(id)]).toEqual([name, true])
      }
      expect(world.audit.map(({ event }) => event._tag)).not.toContain("ClientRegistered")
    }))

  const odd: ReadonlyArray<readonly [name: string, members: Readonly<Record<string, unknown>>, hidden?: string]> = [
    ["has a name of 4,000 letters", { client_name: "n".repeat(4000) }, "n".repeat(2000)],
    ["has a script for a name", { client_name: "<script>alert(1)</script>" }, "<script>alert(1)"],
    ["turns its name around", { client_name: "\u202egro.elgoog" }, "\u202e"],
    ["has a number for a name", { client_name: 5 }],
    ["has a list of names", { client_name: ["a", "b"] }],
    ["has a script for a logo", { logo_uri: "javascript:alert(1)" }, "javascript:alert"],
    ["has a script for its page", { client_uri: "javascript:alert(1)" }, "javascript:alert"],
    ["has data for its terms", { tos_uri: "data:text/html,x", policy_uri: "vbscript:x" }, "data:text/html"],
    ["has a thousand contacts", { contacts: Array.from({ length: 400 }, (_, n) => `${n}@x.io`) }],
    ["says that it is an owner's", { madeBy: "owner", provenAt: 0, disabled: false, serves: host, id: "A".repeat(22) }],
    ["asks for what acts without a person", { grant_types: ["authorization_code", "client_credentials", "password"] }],
    [
      "asks for what owners give",
      { grant_types: ["authorization_code", "urn:ietf:params:oauth:grant-type:token-exchange"] }
    ],
    [
      "returns to a script as well",
      { redirect_uris: [redirectUri, "javascript:alert(1)//.x", "http://evil.example/x"] }
    ]
  ]

  test(`is odd, in ${odd.length} ways, lets in no more than a plain one`, () =>
    withWeb(function* (world, web) {
      for (const [n, [name, members, hidden]] of odd.entries()) {
        const id = web.publish(`${host}/${n}/odd.json`, members)
        const drawn = yield* ask(world, id)
        expect([name, drawn.status, drawn.body.includes("app.example.org")]).toEqual([name, 200, true])
        if (hidden !== undefined) expect([name, drawn.body.includes(hidden)]).toEqual([name, false])
        for (const to of ["javascript:alert(1)//.x", "http://evil.example/x", `${redirectUri}/..`]) {
          expect([name, to, yield* traces(world, id, { redirect_uri: to })]).toEqual([name, to, nothing(400)])
        }
        expect((yield* redeem(world, clientAt(id), yield* codeFor(world, clientAt(id)))).status).toBe(200)
      }
      const rows = (yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 100 })).values
      expect(rows.map(({ madeBy, serves }) => [madeBy, serves])).toEqual(odd.map(() => ["itself", undefined]))
      expect(new Set(rows.flatMap(({ grantTypes }) => grantTypes))).toEqual(
        new Set(["authorization_code", "refresh_token"])
      )
    }))
})

/** JSON has no `undefined`: what is to be missing is null, which says as little. */
const gone = (members: object) =>
  Object.fromEntries(Object.entries(members).flatMap(([name, value]) => (value === undefined ? [[name, null]] : [])))

const changes: ReadonlyArray<
  readonly [name: string, change: (web: DocumentsWeb, world: World) => Effect.Effect<unknown, unknown> | undefined]
> = [
  ["takes another name", (web) => void web.publish(address, { client_name: "Another" })],
  ["returns elsewhere", (web) => void web.publish(address, { redirect_uris: [`${host}/other`] })],
  ["returns elsewhere too", (web) => void web.publish(address, { redirect_uris: [redirectUri, `${host}/other`] })],
  ["asks for more", (web) => void web.publish(address, { scope: "api profile" })],
  ["asks for other grants", (web) => void web.publish(address, { grant_types: ["authorization_code"] })],
  ["signs from now on", (web) => void web.publish(address, signing({ jwks: { keys: [key] } }))],
  ["has a secret", (web) => void web.publish(address, { client_secret: "s3cret" })],
  ["names another", (web) => void web.publish(address, { client_id: `${host}/other.json` })],
  ["becomes a page", (web) => void web.pages.set(address, { body: "<html>" })],
  ["becomes too long", (web) => void web.publish(address, { client_name: long })],
  ["leads elsewhere", (web) => void web.pages.set(address, { body: "{}", status: 302 })],
  ["is gone", (web) => void web.pages.set(address, { body: "{}", status: 404 })],
  ["is out of reach", (web) => void web.pages.set(address, "unreachable")],
  ["is at a private place now", (web) => void web.pages.set(address, "address_refused")],
  ["is blocked", (_, world) => blockClientHost(world.services, byOwner(world), world.workspace, "app.example.org")]
]

describe("a document between the page and the answer", () => {
  test.each([...changes])("that %s brings no code and no row", (_, change) =>
    withWeb(function* (world, web) {
      const drawn = yield* ask(world, address)
      expect(drawn.status).toBe(200)
      yield* change(web, world) ?? Effect.void
      yield* TestClock.adjust("11 minutes")
      const answer = yield* decide(world, drawn, "approve")
      expect([answer.status < 400, header(answer, "location")]).toEqual([false, undefined])
      const rows = yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 5 })
      expect(rows.values).toEqual([])
    })
  )

  test("says no as well as yes: no browser is sent to an address that it has no more", () =>
    withWeb(function* (world, web) {
      const drawn = yield* ask(world, address)
      web.publish(address, { redirect_uris: [`${host}/other`] })
      yield* TestClock.adjust("9 minutes")
      expect(returned(yield* decide(world, drawn, "deny")).get("error")).toBe("access_denied")
      yield* TestClock.adjust("61 seconds")
      expect(header(yield* decide(world, yield* ask(world, address), "deny"), "location")).toBeUndefined()
    }))
})

test("a client that comes back after it was deleted is asked about anew: nothing that ended counts as allowed on its page", () =>
  withWeb(function* (world) {
    const isToldOf = ({ body }: HttpResponse) => body.includes('id="allowed"')
    yield* redeem(world, clientAt(address), yield* codeFor(world, clientAt(address)))
    expect(isToldOf(yield* ask(world, address))).toBe(true)
    const opened = yield* world.services.openings.open(theWorkspace)
    yield* blockClientHost(world.services, byOwner(world), opened, "app.example.org")
    yield* unblockClientHost(world.services, byOwner(world), opened, "app.example.org")
    yield* TestClock.adjust("10 seconds")
    const page = yield* ask(world, address)
    expect([page.status, isToldOf(page)]).toEqual([200, false])
    yield* redeem(world, clientAt(address), text(returned(yield* decide(world, page, "approve")).get("code")))
    expect(isToldOf(yield* ask(world, address, { scope: "profile" }))).toBe(false)
    expect(isToldOf(yield* ask(world, address))).toBe(true)
  }))

test("a client of a document is known by its address alone, and what does not hold is told to the operator", () =>
  withWeb(function* (world, web) {
    const refused = Effect.fnUntraced(function* (id: string) {
      const answer = yield* ask(world, id)
      const event = world.audit.at(-1)?.event
      return [answer.status, header(answer, "location"), event?._tag === "Refused" ? event.reason : event?._tag]
    })
    yield* codeFor(world, clientAt(address))
    const [row] = (yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 5 })).values
    expect((yield* ask(world, address)).status).toBe(200)
    expect(yield* refused(row?.id ?? "none")).toEqual([400, undefined, "client_unknown"])
    web.pages.set(`${host}/none.json`, { body: "[]" })
    expect(yield* refused(`${host}/none.json`)).toEqual([400, undefined, "document_malformed"])
    web.pages.set(`${host}/long.json`, { body: `"${"x".repeat(100_000)}"` })
    expect(yield* refused(`${host}/long.json`)).toEqual([400, undefined, "document_too_long"])
  }))

describe("a document between the approval and the code", () => {
  test.each([
    ["signs from now on", { ...signing({ jwks: { keys: [key] } }) }, "invalid_client"],
    ["returns elsewhere", { redirect_uris: [`${host}/other`] }, "invalid_grant"],
    ["has a secret", { client_secret: "s3cret" }, undefined]
  ] as const)("that %s", (_, members, error) =>
    withWeb(function* (world, web) {
      yield* ask(world, address)
      yield* TestClock.adjust("595 seconds")
      const code = yield* codeFor(world, clientAt(address))
      web.publish(address, members)
      yield* TestClock.adjust("10 seconds")
      // What turns invalid keeps what people granted until its copy ends.
      expect(jsonOf(yield* redeem(world, clientAt(address), code)).error).toBe(error)
    })
  )
})

describe("64 documents of strangers that hang", () => {
  /** As many as there may be, all under way. */
  const flood = Effect.fnUntraced(function* (world: World, web: DocumentsWeb) {
    const strangers = Array.from({ length: mostOf.stranger + 1 }, (_, at) => `https://h${at}.stranger.example/c`)
    for (const stranger of strangers) web.pages.set(stranger, hangs)
    const before = web.asked.length
    const asking = yield* Effect.forEach(strangers, (stranger) =>
      Effect.forkChild(ask(world, stranger), { startImmediately: true })
    )
    expect(web.asked).toHaveLength(before + mostOf.stranger)
    return Effect.forEach(asking, Fiber.interrupt, { discard: true })
  })

  test("from one network, of any of its addresses, leave places for strangers elsewhere", () =>
    withWeb(function* (world, web) {
      const from = (peer: string, id: string) => world.send("GET", authorizeTarget(clientAt(id)), { as: "alice", peer })
      const asking = yield* Effect.forEach(
        Array.from({ length: mostForAsker + 1 }, (_, at) => at),
        (at) => {
          web.pages.set(`https://h${at}.stranger.example/c`, hangs)
          const asked = from(`2001:db8:1:${at}::1`, `https://h${at}.stranger.example/c`)
          return Effect.forkChild(asked, { startImmediately: true })
        }
      )
      expect(web.asked).toHaveLength(mostForAsker)
      expect((yield* from("2001:db8:1::7", address)).status).toBe(503)
      expect((yield* from("2001:db8:2::7", address)).status).toBe(200)
      yield* Effect.forEach(asking, Fiber.interrupt, { discard: true })
    }))

  test("keep no client waiting that a person let in", () =>
    withWeb(function* (world, web) {
      yield* redeem(world, clientAt(address), yield* codeFor(world, clientAt(address)))
      yield* TestClock.adjust("1 hour")
      const over = yield* flood(world, web)
      expect((yield* ask(world, address)).status).toBe(200)
      web.publish(`${host}/new.json`)
      expect((yield* ask(world, `${host}/new.json`)).status).toBe(503)
      yield* over
    }))

  test("keep no client waiting whose keys are fetched, once a person let it in, and no assertion of an issuer", () => {
    const web = new DocumentsWeb()
    web.pages.set(`${login}/keys`, { body: { keys: [own.jwk] } })
    const signerAt = Effect.fnUntraced(function* (world: World, path: string) {
      web.pages.set(`${host}/${path}`, { body: { keys: [own.jwk] } })
      const metadata = { token_endpoint_auth_method: "private_key_jwt", jwks_uri: `${host}/${path}` }
      return yield* registerClient(world, metadata)
    })
    const proofOf = Effect.fnUntraced(function* ({ id }: TestClient) {
      const now = (yield* currentInstant) / 1000
      const claims = { iss: id, sub: id, aud: theWorkspace.issuer, jti: `${now}`, iat: now, exp: now + 60 }
      return { client_assertion_type: assertionType, client_assertion: yield* signed(claims, { typ: "JWT" }) }
    })
    const renew = (world: World, by: TestClient) =>
      Effect.flatMap(proofOf(by), (proof) => refresh(world, by, "none", proof))
    return inCompany(
      function* ({ client, world }) {
        const [known, unknown] = [yield* signerAt(world, "known"), yield* signerAt(world, "unknown")]
        const code = yield* codeFor(world, known)
        expect((yield* redeem(world, known, code, yield* proofOf(known))).status).toBe(200)
        yield* TestClock.adjust("1 hour")
        const over = yield* flood(world, web)
        expect((yield* renew(world, unknown)).status).toBe(503)
        expect(jsonOf(yield* renew(world, known)).error).toBe("invalid_grant")
        const now = (yield* currentInstant) / 1000
        const assertion = yield* signed(claimsFor(client, { iat: now, exp: now + 300 }))
        expect((yield* bring(world, client, assertion)).status).toBe(200)
        yield* over
      },
      { jwks: undefined, jwksUri: `${login}/keys` },
      { documents: web.layer() }
    )
  })
})

test("a million first-time strangers are a handful here: each is gone to once, and none leaves a row", () => {
  const web = new DocumentsWeb()
  return inWorld(
    function* (world) {
      for (let n = 0; n < 200; n++) yield* ask(world, web.publish(`https://h${n}.example/client.json`))
      expect(web.asked.length).toBe(200)
      expect([...world.calls.insert, ...world.calls.replace].filter((kind) => kind !== "limit")).toEqual([])
    },
    { documents: web.layer() }
  )
})
