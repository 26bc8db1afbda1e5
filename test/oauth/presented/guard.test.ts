import { describe, expect, test } from "bun:test"
import { Cause, Effect, Exit, Result } from "effect"
import { TestClock } from "effect/testing"
import { apiKey } from "../../../core/oauth/presented/apiKey.ts"
import { bearer } from "../../../core/oauth/presented/bearer.ts"
import {
  authenticationFault,
  checkReach,
  faultOfNeeds,
  type Needs,
  readPresented,
  rowsFor
} from "../../../core/oauth/presented/guard.ts"
import { boundRows, keySchemes, type Presentation, tokenTypeOf } from "../../../core/oauth/presented/Presentation.ts"
import { presentations } from "../../../core/oauth/presented/table.ts"
import { Signatures } from "../../../core/ports/Signatures.ts"
import { Instant } from "../../../core/rules/Instant.ts"
import { InsufficientScope, InvalidToken, TokenRequired, WrongCaller } from "../../../core/rules/Refusal.ts"
import { Issuer } from "../../../core/workspace/Workspace.ts"
import {
  bearing,
  codeFor,
  companies,
  form,
  header,
  jsonOf,
  redeem,
  registerClient,
  signInToApp,
  tokenRequest,
  tokensOf
} from "../../given/flow.ts"
import { inWorld, theWorkspace } from "../../given/World.ts"

const metadata = `resource_metadata="${theWorkspace.issuer}/.well-known/oauth-protected-resource"`

/** What the rows read of a header. */
const readHeader = (authorization: string | null | undefined) => {
  const request = { method: "GET", path: "/", query: "", headers: { get: () => authorization }, body: "" }
  const ports = { signatures: Signatures.none }
  const read = readPresented(presentations, request, theWorkspace.issuer, Instant.make(0), ports)
  return Effect.runSync(Effect.result(Effect.map(read, ({ text }) => text)))
}

describe("the Authorization header (RFC 6750 §2.1)", () => {
  test("bears a token after the word Bearer, in any case, and spaces", () => {
    const spaced = ["Bearer  abc", "Bearer \tabc", "Bearer abc ", "Bearer abc\t", "Bearer \t abc \t"]
    for (const text of ["Bearer abc", "bearer abc", "BEARER abc", "Bearer   abc  ", ...spaced]) {
      expect(readHeader(text)).toEqual(Result.succeed("abc"))
    }
    expect(readHeader("Bearer aZ09-._~+/==")).toEqual(Result.succeed("aZ09-._~+/=="))
  })

  test("bears none where it is absent or speaks of another scheme", () => {
    for (const none of [null, undefined, "", "Basic abc", "Bearerabc", "Bearer", "Bear er x"]) {
      expect(readHeader(none)).toEqual(Result.fail(new TokenRequired()))
    }
  })

  test("bears nothing sound where the text is no token", () => {
    // What languages trim is more than RFC 9110 §5.6.3 has.
    const notSpaces = ["\u00a0", "\u000b", "\ufeff"].flatMap((one) => [`Bearer ${one}abc`, `Bearer abc${one}`])
    for (const odd of [
      "Bearer ",
      "Bearer a b",
      "Bearer a=b",
      "Bearer =",
      'Bearer "a"',
      "Bearer a,b",
      "Bearer ä",
      ...notSpaces
    ]) {
      expect(readHeader(odd)).toEqual(Result.fail(new InvalidToken({ reason: "malformed" })))
    }
  })
})

describe("the table of ways to show what one has", () => {
  const names = (rows: ReadonlyArray<Presentation>) => rows.map(({ name }) => name)
  const bound = { thumbprint: "A".repeat(43) }

  test("names the type of a token by the first row that carries it, and keys by theirs", () => {
    expect([tokenTypeOf(presentations, null), tokenTypeOf(presentations, bound)]).toEqual(["Bearer", "DPoP"])
    const keysAlone = [{ ...apiKey, carries: () => true }]
    expect([tokenTypeOf(keysAlone, null), tokenTypeOf([], null), tokenTypeOf([bearer], bound)]).toEqual([
      undefined,
      undefined,
      undefined
    ])
    expect(keySchemes(presentations)).toEqual(["Bearer"])
    expect(keySchemes([apiKey, { ...apiKey, name: "other" }, { ...apiKey, scheme: "Key" }])).toEqual(["Bearer", "Key"])
    expect(keySchemes([bearer])).toEqual([])
  })

  test("has rows for what is bound, and for keys, beside those for who bears it", () => {
    expect(names(presentations)).toEqual(expect.arrayContaining(["bearer", "dpop", "api_key"]))
    expect(names(boundRows(presentations))).toEqual(names(presentations).filter((name) => name !== "bearer"))
    expect(boundRows(presentations)).toBe(boundRows(presentations))
    const anyKey = { ...apiKey, carries: () => true }
    expect(boundRows([bearer, anyKey])).toEqual([anyKey])
  })
})

describe("a protected resource (RFC 6750 §3, RFC 9728 §5.1)", () => {
  test("asks for a token, and says nothing of errors, where none was sent", () =>
    inWorld(function* (world) {
      for (const headers of [{}, { authorization: "Basic eDp5" }]) {
        const response = yield* world.send("GET", "/rest/companies", { headers })
        expect([response.status, response.body]).toEqual([401, ""])
        expect(header(response, "www-authenticate")).toBe(`Bearer ${metadata}, scope="api"`)
        expect([header(response, "cache-control"), header(response, "pragma")]).toEqual(["no-store", "no-cache"])
      }
    }))

  test("takes no token in the query", () =>
    inWorld(function* (world) {
      const { access } = yield* signInToApp(world, yield* registerClient(world))
      expect((yield* world.send("GET", `/rest/companies?access_token=${access}`)).status).toBe(401)
      expect((yield* companies(world, access)).status).toBe(200)
    }))

  test("says invalid_token of every bad one, in the same words", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const tokens = yield* signInToApp(world, client)
      const dead = yield* signInToApp(world, client)
      yield* world.send("POST", "/oauth/revoke", {
        headers: { "content-type": "application/x-www-form-urlencoded" },
        body: form({ client_id: client.id, client_secret: client.secret, token: dead.refresh })
      })
      const bad = ["x", "a b", tokens.refresh, dead.access, `${tokens.access.slice(0, -1)}!`, "tsr_ak_x"]
      const answers = []
      for (const token of bad) answers.push(yield* companies(world, token))
      yield* TestClock.adjust("1 hour")
      answers.push(yield* companies(world, tokens.access))
      for (const response of answers) {
        expect(response.status).toBe(401)
        const description = "The access token is not valid, has expired or was revoked."
        expect(jsonOf(response)).toEqual({ error: "invalid_token", error_description: description })
        expect(header(response, "www-authenticate")).toBe(
          `Bearer error="invalid_token", error_description="${description}", scope="api", ${metadata}`
        )
        expect([header(response, "cache-control"), header(response, "pragma")]).toEqual(["no-store", "no-cache"])
      }
      const reasons = world.audit.flatMap(({ event }) => (event._tag === "Refused" ? [event.reason] : []))
      expect(reasons).toEqual(["malformed", "malformed", "wrong_kind", "revoked", "malformed", "malformed", "expired"])
    }))

  test("says insufficient_scope, and which scope, of a good token that reaches too little", () =>
    inWorld(function* (world) {
      const { access } = yield* signInToApp(world, yield* registerClient(world), { scope: "profile" })
      const response = yield* companies(world, access)
      expect([response.status, jsonOf(response).error]).toEqual([403, "insufficient_scope"])
      expect(header(response, "www-authenticate")).toMatch(
        /^Bearer error="insufficient_scope", error_description="[^"]+", scope="api", resource_metadata="[^"]+"$/
      )
    }))

  test("is for the resource that the token is bound to, and below it", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const bound = (resource: string) =>
        Effect.map(
          Effect.flatMap(codeFor(world, client, { resource }), (code) => redeem(world, client, code)),
          (response) => tokensOf(response).access
        )
      for (const path of ["", "/", "/rest", "/rest/companies"]) {
        expect((yield* companies(world, yield* bound(theWorkspace.issuer + path))).status).toBe(200)
      }
      for (const path of ["/rest/companies/1", "/rest/c", "/other"]) {
        const response = yield* companies(world, yield* bound(theWorkspace.issuer + path))
        expect([response.status, jsonOf(response).error]).toEqual([401, "invalid_token"])
      }
      expect(world.audit.at(-1)?.event).toMatchObject({ refusal: "InvalidToken", reason: "other_resource" })
    }))
})

describe("the guard of a host's own resources", () => {
  test("tells who is calling: a person, a machine, an API key", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
      const person = yield* signInToApp(world, client)
      const machine = jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials" }))
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "script", expiresAt: null })
      const who = (token: string) =>
        Effect.map(world.guard("/api/things", { scopes: ["api"] }, bearing(token)), (guarded) =>
          guarded._tag === "Admitted" ? guarded.principal : undefined
        )
      expect(yield* who(person.access)).toMatchObject({ _tag: "User", user: "alice", client: client.id })
      expect(yield* who(String(machine.access_token))).toMatchObject({ _tag: "Workspace", client: client.id })
      expect(yield* who(world.reveal(key.text))).toMatchObject({ _tag: "ApiKey", name: "script" })
    }))

  test("admits callers of the kinds that it is for, and tells others that their token is good and of another kind", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world, { grant_types: ["authorization_code", "client_credentials"] })
      const person = yield* signInToApp(world, client)
      const machine = jsonOf(yield* tokenRequest(world, client, { grant_type: "client_credentials" }))
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "script", expiresAt: null })
      const shown = {
        User: person.access,
        Workspace: String(machine.access_token),
        ApiKey: world.reveal(key.text)
      } as const
      const kinds = ["User", "Workspace", "ApiKey"] as const
      for (const callers of [...kinds.map((kind) => [kind] as const), ["User", "ApiKey"] as const, kinds]) {
        for (const kind of kinds) {
          const guarded = yield* world.guard("/api/things", { scopes: ["api"], callers }, bearing(shown[kind]))
          const isAsked = callers.some((one) => one === kind)
          expect([callers, kind, guarded._tag]).toEqual([callers, kind, isAsked ? "Admitted" : "Refused"])
          if (guarded._tag === "Admitted") continue
          expect(guarded.response.status).toBe(403)
          const challenge = header(guarded.response, "www-authenticate")
          expect(challenge).toContain('error="insufficient_scope"')
          // No scope would help, so none is named: a client that asks a person for it would come back for ever.
          expect(challenge).not.toContain(" scope=")
        }
      }
      const last = world.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "Refused")
      expect(last.map((event) => ("refusal" in event ? event.refusal : ""))).toContain("WrongCaller")
    }))

  test("turns away a token that is bound elsewhere, however the path is written", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const code = yield* codeFor(world, client, { resource: `${theWorkspace.issuer}/rest` })
      const { access } = tokensOf(yield* redeem(world, client, code))
      const admitted = (path: string) =>
        Effect.map(world.guard(path, { scopes: ["api"] }, bearing(access)), ({ _tag }) => _tag === "Admitted")
      for (const path of ["/rest", "/rest/", "/rest/a%20b", "/other/../rest"]) expect(yield* admitted(path)).toBe(true)
      for (const path of ["/rest/../other", "//evil.example/rest", "//", "//[", "/\\evil.example/rest", "http://["]) {
        expect([path, yield* admitted(path)]).toEqual([path, false])
      }
    }))

  test("leads every refusal to the metadata of the resource that it stands before (RFC 9728 §3.1)", async () => {
    const nested = { ...theWorkspace, issuer: Issuer.make("https://auth.example.com/t/a") }
    for (const workspace of [theWorkspace, nested]) {
      await inWorld(
        function* (world) {
          const { pathname: base, origin } = new URL(workspace.issuer)
          const below = base === "/" ? "" : base
          const key = yield* world.services.grants.createKey(world.workspace.id, { name: "script", expiresAt: null })
          const good = bearing(world.reveal(key.text))
          for (const resource of ["/mcp", "/mcp/", "/a/b-c.d_e~f/%C3%A9"]) {
            const at = `${origin}/.well-known/oauth-protected-resource${below}${resource}`
            for (const [status, headers, scopes] of [
              [401, {}, ["api"]],
              [401, bearing("x"), ["api"]],
              [403, good, ["api", "more"]]
            ] as const) {
              // Wherever it is called: the path of a request is a stranger's.
              const sent = { host: "auth.example.com", ...headers }
              const refused = yield* world.guard(`${below}/elsewhere`, { scopes, resource }, sent)
              if (refused._tag !== "Refused") throw new Error("admitted")
              expect(refused.response.status).toBe(status)
              expect(header(refused.response, "www-authenticate")).toContain(` resource_metadata="${at}"`)
            }
            const document = yield* world.send("GET", new URL(at).pathname, { host: "auth.example.com" })
            expect(jsonOf(document)).toMatchObject({ resource: workspace.issuer + resource })
          }
        },
        { workspaces: [workspace] }
      )
    }
  })

  test("admits by the address that is called, whatever the resource is called", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const code = yield* codeFor(world, client, { resource: `${theWorkspace.issuer}/mcp/tools` })
      const { access } = tokensOf(yield* redeem(world, client, code))
      const admitted = (path: string, resource: string) =>
        Effect.map(world.guard(path, { scopes: ["api"], resource }, bearing(access)), ({ _tag }) => _tag === "Admitted")
      expect(yield* admitted("/mcp/tools", "/mcp")).toBe(true)
      for (const path of ["/mcp", "/orders", "/mcp/tool"]) expect(yield* admitted(path, "/mcp/tools")).toBe(false)
    }))

  test("takes two slashes at the start of a path for a path, and for no host", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const tokenFor = (resource: string) =>
        Effect.flatMap(codeFor(world, client, { resource }), (code) =>
          Effect.map(redeem(world, client, code), (answer) => tokensOf(answer).access)
        )
      const admitted = (path: string, token: string) =>
        Effect.map(world.guard(path, { scopes: ["api"] }, bearing(token)), ({ _tag }) => _tag === "Admitted")
      expect(yield* admitted("//evil.example/rest", yield* tokenFor(theWorkspace.issuer))).toBe(true)
      const narrow = yield* tokenFor(`${theWorkspace.issuer}/rest`)
      expect(yield* admitted("//auth.example.com/rest", narrow)).toBe(false)
    }))

  test("is no guard of a resource that cannot be, for any caller", () =>
    inWorld(function* (world) {
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "script", expiresAt: null })
      const odd = [
        ..."|mcp|/|//|//mcp|/mcp//|/a//b|/.|/..|/mcp/../a|/a/.|/%2e%2e/a|/a/.%2E|/mcp?a|/mcp#a|/a b|/é".split("|"),
        ...[
          "/a%",
          "/%zz",
          '/a"',
          "/a\\b",
          "/a\n",
          "/a\r\nx: y",
          "/<a>",
          "/{a}",
          "/a|b",
          "http://auth.example.com/mcp",
          "https://auth.example.com/mcp?a",
          "https://auth.example.com/a/../mcp",
          "https://AUTH.example.com/mcp",
          "https://ada@auth.example.com/mcp"
        ]
      ]
      for (const resource of odd) {
        const asked = world.guard("/mcp", { scopes: ["api"], resource }, bearing(world.reveal(key.text)))
        const exit = yield* Effect.exit(asked)
        expect([resource, Exit.isFailure(exit) && Cause.hasDies(exit.cause)]).toEqual([resource, true])
      }
    }))

  test("is no guard of scopes that cannot be, for any caller", () =>
    inWorld(function* (world) {
      const key = yield* world.services.grants.createKey(world.workspace.id, { name: "script", expiresAt: null })
      for (const scopes of [["anmelden→lesen"], ["a b"], ["a\r\nx: y"], [""]]) {
        const asked = world.guard("/api", { scopes }, bearing(world.reveal(key.text)))
        const exit = yield* Effect.exit(asked)
        expect([scopes, Exit.isFailure(exit) && Cause.hasDies(exit.cause)]).toEqual([scopes, true])
      }
    }))

  test("answers for the host where it admits no caller, and notes why under the request's id", () =>
    inWorld(function* (world) {
      const refused = yield* world.guard("/api/things", { scopes: ["api"] }, bearing("x"))
      if (refused._tag !== "Refused") throw new Error("admitted")
      expect(refused.response.status).toBe(401)
      const id = header(refused.response, "x-request-id")
      expect(id).toMatch(/^[\w-]{16}$/)
      expect(world.audit.at(-1)).toMatchObject({ requestId: id, event: { _tag: "Refused", reason: "malformed" } })
    }))
})

describe("a token that is bound to a part of the API", () => {
  test("is not let in where the path only spells that part's address", () =>
    inWorld(function* (world) {
      const client = yield* registerClient(world)
      const resource = `${world.workspace.issuer}/rest/companies`
      const { access } = yield* signInToApp(world, client, { resource })
      const knock = (path: string) => Effect.map(world.guard(path, { scopes: ["api"] }, bearing(access)), (g) => g._tag)
      expect(yield* knock("/rest/companies")).toBe("Admitted")
      expect(yield* knock("/rest/companies/1")).toBe("Admitted")
      const strange = [
        "//auth.example.com/rest/companies",
        "/\\auth.example.com/rest/companies",
        "//:99999/",
        "/rest/companies/../people",
        "/rest/companies/%2e%2e/people",
        "/rest/companies/.%2E/people",
        "/rest/companies\\..\\people",
        "/rest/companiesx"
      ]
      for (const path of strange) expect([path, yield* knock(path)]).toEqual([path, "Refused"])
    }))
})

describe("what a guard needs", () => {
  const rows: ReadonlyArray<readonly [needs: unknown, option: keyof Needs | undefined]> = [
    [{ scopes: [] }, undefined],
    [{ scopes: ["api", "api:read"] }, undefined],
    [undefined, "scopes"],
    [null, "scopes"],
    [{}, "scopes"],
    [{ scopes: "api" }, "scopes"],
    [{ scopes: ["api", ""] }, "scopes"],
    [{ scopes: ["", "api"] }, "scopes"],
    [{ scopes: [], callers: ["User"] }, undefined],
    [{ scopes: [], callers: ["User", "Workspace", "ApiKey"] }, undefined],
    [{ scopes: [], callers: [] }, "callers"],
    [{ scopes: [], callers: "User" }, "callers"],
    [{ scopes: [], callers: ["User", "user"] }, "callers"],
    [{ scopes: [], callers: ["toString"] }, "callers"],
    [{ scopes: [], callers: [["User"]] }, "callers"],
    [{ scopes: [], callers: null }, "callers"],
    [{ scopes: [], callers: { length: 1, every: () => true } }, "callers"],
    [{ scopes: [], dpop: "allowed" }, undefined],
    [{ scopes: [], dpop: "required" }, undefined],
    [{ scopes: [], dpop: "" }, "dpop"],
    [{ scopes: [], dpop: true }, "dpop"],
    [{ scopes: [], maxAge: 0 }, undefined],
    [{ scopes: [], maxAge: -1 }, "maxAge"],
    [{ scopes: [], maxAge: 0.5 }, "maxAge"],
    [{ scopes: [], maxAge: "60" }, "maxAge"],
    [{ scopes: [], maxAge: Number.POSITIVE_INFINITY }, "maxAge"],
    [{ scopes: [], acr: ["gold"] }, undefined],
    [{ scopes: [], acr: ["x".repeat(256), "!"] }, undefined],
    [{ scopes: [], acr: ["x".repeat(257)] }, "acr"],
    [{ scopes: [], acr: [] }, "acr"],
    [{ scopes: [], acr: "gold" }, "acr"],
    [{ scopes: [], acr: ["gold", 7] }, "acr"],
    [{ scopes: [], acr: ["a b"] }, "acr"],
    [{ scopes: [], acr: ['a"b'] }, "acr"],
    [{ scopes: [], acr: [""] }, "acr"],
    [{ scopes: [], resource: "/mcp" }, undefined],
    [{ scopes: [], resource: "https://mcp.example/mcp" }, undefined],
    [{ scopes: [], resource: "mcp" }, "resource"],
    [{ scopes: [], resource: "" }, "resource"]
  ]
  test.each(rows)("is one or the other: %j", (needs, option) => {
    const fault = faultOfNeeds(needs as Needs)
    expect(fault?.option).toBe(option)
    expect(fault?.why).not.toBe("")
  })

  test("is no bearer token, where it has to be bound", () => {
    expect(rowsFor(presentations, { scopes: [] })).toBe(presentations)
    expect(rowsFor(presentations, { scopes: [], dpop: "allowed" })).toBe(presentations)
    expect(rowsFor(presentations, { scopes: [], dpop: "required" })).toEqual(boundRows(presentations))
  })

  const base = "https://api.example"
  const reach = (
    _tag: "User" | "Workspace" | "ApiKey",
    { callers, enough = true, resources = null, scope = ["api"] }: Reaching = {}
  ) => {
    const needs = { scopes: ["api"], ...(callers === undefined ? {} : { callers }) }
    const found = checkReach(base, "/orders/7", needs, { _tag, scope }, { resources, enough })
    return Result.isSuccess(found) ? "admitted" : found.failure
  }
  interface Reaching {
    readonly callers?: ReadonlyArray<"User" | "Workspace" | "ApiKey">
    readonly enough?: boolean
    readonly resources?: ReadonlyArray<string> | null
    readonly scope?: ReadonlyArray<string>
  }

  test.each([
    [null, true],
    [[base], true],
    [["https://other.example", `${base}/orders`], true],
    [[`${base}/orders`, "https://other.example"], true],
    [["https://other.example"], false],
    [[`${base}/people`], false],
    [[`${base}/order`], false],
    [[], false]
  ])("is a token for the place that is called: %j", (resources, isFor) => {
    expect(reach("User", { resources })).toEqual(isFor ? "admitted" : new InvalidToken({ reason: "other_resource" }))
  })

  test("is scopes that reach far enough, and of a key some at all", () => {
    const short = new InsufficientScope({ needed: ["api"] })
    for (const kind of ["User", "Workspace", "ApiKey"] as const) {
      expect([reach(kind), reach(kind, { enough: false })]).toEqual(["admitted", short])
      expect(reach(kind, { scope: [] })).toEqual(kind === "ApiKey" ? short : "admitted")
    }
  })

  test("is a caller of one of its kinds, whose token is told to be good all the same", () => {
    expect(reach("User", { callers: ["ApiKey", "User"] })).toBe("admitted")
    expect(reach("Workspace", { callers: ["ApiKey", "User"] })).toEqual(new WrongCaller({ needed: ["ApiKey", "User"] }))
  })
})

describe("how the person signed in (RFC 9470)", () => {
  const now = 1_000_000
  const ago = (seconds: number, acr?: string) => ({ authenticatedAt: now - seconds * 1000, ...(acr && { acr }) })
  type Asked = Pick<Needs, "acr" | "maxAge">
  const rows: ReadonlyArray<readonly [what: string, asked: Asked, caller: object, isEnough: boolean]> = [
    ["nothing asked", {}, {}, true],
    ["young enough", { maxAge: 60 }, ago(60), true],
    ["young enough, however weak", { maxAge: 60 }, ago(1, "bronze"), true],
    ["too old", { maxAge: 60 }, ago(61), false],
    ["this very moment", { maxAge: 0 }, ago(0), true],
    ["never", { maxAge: 60 }, {}, false],
    ["as strong as one of those", { acr: ["gold", "silver"] }, ago(9999, "silver"), true],
    ["too weak", { acr: ["gold", "silver"] }, ago(0, "bronze"), false],
    ["of no known strength", { acr: ["gold"] }, ago(0), false],
    ["strong and young", { acr: ["gold"], maxAge: 60 }, ago(60, "gold"), true],
    ["strong and too old", { acr: ["gold"], maxAge: 60 }, ago(61, "gold"), false],
    ["weak and young", { acr: ["gold"], maxAge: 60 }, ago(1), false]
  ]
  test.each(rows)("%s", (_, asked, caller, isEnough) => {
    const fault = authenticationFault({ scopes: [], ...asked }, caller, now)
    expect(fault === undefined ? undefined : { acr: fault.acr, maxAge: fault.maxAge }).toEqual(
      isEnough ? undefined : { acr: asked.acr ?? [], maxAge: asked.maxAge ?? null }
    )
  })
})
