import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { shownMost } from "../../core/engine/lists.ts"
import { RegistrationPolicy } from "../../core/ports/RegistrationPolicy.ts"
import { mostHosts } from "../../core/rules/DocumentHosts.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import type { TrustedIssuer } from "../../core/rules/TrustedIssuer.ts"
import { header } from "../given/flow.ts"
import { emptyList, fieldProblems, noticeOn, typedOn } from "../given/page.ts"
import { realSignatures, theWorkspace, type World } from "../given/World.ts"
import { allPages, follow, inSettings, look, post } from "./given.ts"

const now = (world: World) =>
  Effect.flatMap(world.services.openings.open(world.workspace), (opened) =>
    Effect.flatMap(currentInstant, (at) => world.services.openings.current(opened, at))
  )

const events = (world: World) => world.audit.map(({ event }) => event._tag)

describe("client documents", () => {
  const take = (world: World, takes: string, hosts = "") =>
    post(world, "owner", "documents", { action: "take", takes, hosts })

  test.each([
    ["any", "", "any"],
    ["none", "claude.ai", []],
    ["some", " claude.ai, *.Example.com  claude.ai", ["claude.ai", "*.example.com"]]
  ] as const)("are taken as an owner says: %s %s", (takes, hosts, taken) =>
    inSettings(function* (world) {
      const answer = yield* take(world, takes, hosts)
      expect(noticeOn(yield* follow(world, "owner", answer))).toBe("done")
      expect((yield* now(world)).ownersDocuments).toEqual(taken)
      const shown = typeof taken === "string" ? "" : taken.join(" ")
      expect(typedOn(yield* look(world, "owner", "documents"))).toEqual({ takes, hosts: shown, host: "" })
      expect(events(world)).toContain("ClientDocumentsChanged")
      // Where the form says nothing that there is, none are.
      yield* take(world, "constructor", "claude.ai")
      expect((yield* now(world)).ownersDocuments).toEqual([])
    })
  )

  test("are not taken of any host where other hosts were typed than those that stood there", () =>
    inSettings(function* (world) {
      const unclear = Effect.fnUntraced(function* (hosts: string) {
        const answer = yield* take(world, "any", hosts)
        expect([answer.status, fieldProblems(answer)]).toEqual([400, ["hosts"]])
        expect(typedOn(answer)).toEqual({ takes: "any", hosts, host: "" })
      })
      yield* unclear("claude.ai")
      expect((yield* now(world)).ownersDocuments).toBeUndefined()
      yield* take(world, "some", "claude.ai *.example.com")
      yield* unclear("claude.ai")
      expect((yield* now(world)).ownersDocuments).toEqual(["claude.ai", "*.example.com"])
      // The choice alone was changed.
      expect((yield* take(world, "any", "claude.ai *.example.com")).status).toBe(303)
      expect((yield* now(world)).ownersDocuments).toBe("any")
    }))

  test.each([
    ["some", ""],
    ["some", "https://claude.ai"],
    ["some", "claude.ai <script>"],
    ["some", "a".repeat(65_000)]
  ])("are not taken of what is no host: %s %#", (takes, hosts) =>
    inSettings(function* (world) {
      const answer = yield* take(world, takes, hosts)
      expect([answer.status, fieldProblems(answer)]).toEqual([400, ["hosts"]])
      expect(typedOn(answer)).toEqual({ takes, hosts: hosts.slice(0, 4096), host: "" })
      expect(answer.body).not.toContain("<script>")
      expect((yield* now(world)).ownersDocuments).toBeUndefined()
    })
  )

  test("are taken of no host that is blocked, page by page, until it is unblocked", () =>
    inSettings(function* (world) {
      expect(emptyList(yield* look(world, "owner", "documents"))).toBe("none")
      const block = (host: string) => post(world, "owner", "documents", { action: "block", host })
      expect(noticeOn(yield* follow(world, "owner", yield* block(" Evil.example ")))).toBe("done")
      expect(yield* world.services.openings.blockedHosts(world.workspace.id)).toEqual(["evil.example"])
      const wrong = yield* block("https://evil.example/x")
      expect([wrong.status, fieldProblems(wrong)]).toEqual([400, ["host"]])
      expect(typedOn(wrong)).toEqual({ takes: "any", hosts: "", host: "https://evil.example/x" })
      expect(typedOn(yield* block("/".repeat(5000))).host).toBe("/".repeat(4096))
      yield* world.services.openings.block(yield* now(world), (hosts) => [
        ...hosts,
        ...Array.from({ length: 30 }, (_, index) => `h${index}.example`)
      ])
      expect(yield* allPages(world, "owner", "documents")).toHaveLength(2)
      const unblock = post(world, "owner", "documents", { action: "unblock", host: "evil.example" })
      expect(header(yield* unblock, "location")).toEndWith("done=host-unblocked")
      expect(header(yield* unblock, "location")).toEndWith("done=host-gone")
      yield* world.services.openings.block(yield* now(world), () =>
        Array.from({ length: mostHosts }, (_, index) => `h${index}.example`)
      )
      const full = yield* block("evil.example")
      expect([full.status, fieldProblems(full)]).toEqual([400, ["host"]])
    }))

  test("are told with what the server takes at most, which is less where the workspace takes less", async () => {
    const said = new Set<string>()
    for (const [documents, own, hosts] of [
      ["any", undefined, undefined],
      ["any", ["claude.ai"], "claude.ai"],
      [["tools.example", "*.acme.example"], undefined, "tools.example *.acme.example"],
      [["claude.ai", "chatgpt.com"], ["claude.ai"], "claude.ai"],
      [["*.acme.example", "claude.ai"], ["app.acme.example", "acme.example", "*.ai"], "claude.ai app.acme.example"],
      [["tools.example", "*.acme.example"], ["claude.ai"], undefined],
      [["tools.example"], [], undefined],
      [[], undefined, undefined]
    ] as const) {
      const given = { ...theWorkspace, ...(own === undefined ? {} : { clientDocuments: own }) }
      await inSettings(
        function* (world) {
          const { body } = yield* look(world, "owner", "documents")
          const [, hint = ""] = /id="takes-hint">([\s\S]*?)<\/p>/.exec(body) ?? []
          expect(/<code>(.*)<\/code>/.exec(hint)?.[1]).toBe(hosts)
          said.add(hint)
        },
        {
          workspaces: [given],
          resolve: () => given,
          registration: Layer.succeed(RegistrationPolicy, {
            offered: true,
            permit: () => Effect.void,
            ...(documents.length === 0 ? {} : { documents })
          })
        }
      )
    }
    expect(said.size).toBe(5)
  })

  test.each(["documents", "issuers"] as const)("a form without an action does nothing: %s", (section) =>
    inSettings(function* (world) {
      for (const action of [undefined, "constructor", "toString"]) {
        expect((yield* post(world, "owner", section, { action })).status).toBe(403)
      }
      expect((yield* post(world, "alice", section, { action: "block", host: "a.example" })).status).toBe(403)
    })
  )
})

const login = "https://login.acme.example"

describe("trusted issuers", () => {
  const add = (world: World, fields: Readonly<Record<string, string>> = {}) =>
    post(world, "owner", "issuers", { action: "add", issuer: login, keys: `${login}/keys`, ...fields })

  const inTrust = <E>(body: (world: World) => Effect.Effect<void, E>) =>
    inSettings(body, { signatures: realSignatures })

  const trusted = (world: World) => Effect.map(now(world), ({ trustedIssuers = [] }) => trustedIssuers)

  test("are added, changed and removed", () =>
    inTrust((world) =>
      Effect.gen(function* () {
        expect(emptyList(yield* look(world, "owner", "issuers"))).toBe("none")
        const clients = `https://chat.example/client.json, ${"A".repeat(22)}`
        const answer = yield* add(world, { clients, domains: "Acme.example", people: "made", "scope.api": "yes" })
        expect(noticeOn(yield* follow(world, "owner", answer))).toBe("done")
        expect(yield* trusted(world)).toMatchObject([
          {
            issuer: login,
            keys: { _tag: "Fetched", jwksUri: `${login}/keys` },
            clients: ["https://chat.example/client.json", "A".repeat(22)],
            domains: ["acme.example"],
            scopes: ["api"],
            people: "made"
          }
        ])
        const before = (yield* trusted(world))[0]?.since
        const form = yield* look(world, "owner", "issuers", `?change=${encodeURIComponent(login)}`)
        expect(form.body).toContain('name="action" value="change"')
        expect(form.body).toMatch(/id="scope\.api"[^>]* checked/)
        const changed = yield* post(world, "owner", "issuers", { action: "change", issuer: login, keys: "" })
        expect(header(changed, "location")).toEndWith("done=issuer-changed")
        const [after]: ReadonlyArray<TrustedIssuer> = yield* trusted(world)
        expect([after?.since, after?.people, after?.clients]).toEqual([before, "known", undefined])
        expect((yield* add(world)).status).toBe(400)
        const remove = post(world, "owner", "issuers", { action: "remove", issuer: login })
        expect(header(yield* remove, "location")).toEndWith("done=issuer-removed")
        expect(header(yield* remove, "location")).toEndWith("done=issuer-gone")
        expect(events(world).filter((tag) => tag.startsWith("Issuer"))).toEqual([
          "IssuerTrusted",
          "IssuerChanged",
          "IssuerRemoved"
        ])
      })
    ))

  const key = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }
  const second = "https://sso.partner.example"
  /** A form with something in each of its fields. */
  const full = {
    issuer: second,
    keys: `${second}/keys`,
    clients: ` ${"A".repeat(22)},\n${"B".repeat(22)} `,
    resources: `${theWorkspace.issuer}, ${theWorkspace.issuer}/orders`,
    domains: "partner.example,  acme.example",
    people: "made",
    takes: "any",
    "scope.api": "yes"
  }
  const changeForm = (world: World, issuer: string) =>
    Effect.map(look(world, "owner", "issuers", `?${new URLSearchParams({ change: issuer })}`), typedOn)

  test("are told in the form that changes one as they are trusted now, but for keys that were given", () =>
    inTrust((world) =>
      Effect.gen(function* () {
        yield* add(world, { keys: JSON.stringify({ keys: [key] }) })
        yield* add(world, full)
        const [first, other] = yield* trusted(world)
        expect(first).toMatchObject({ keys: { _tag: "Registered", keys: [key] }, people: "known" })
        expect(first).not.toHaveProperty("takes")
        expect(other).toMatchObject({
          resources: [theWorkspace.issuer, `${theWorkspace.issuer}/orders`],
          domains: ["partner.example", "acme.example"],
          takes: "any"
        })
        const nothing = { clients: "", resources: "", domains: "", people: "known", takes: "id-jag" }
        expect(yield* changeForm(world, login)).toEqual({ issuer: login, keys: "", ...nothing })
        expect(yield* changeForm(world, second)).toEqual({
          ...full,
          clients: `${"A".repeat(22)} ${"B".repeat(22)}`,
          resources: `${theWorkspace.issuer} ${theWorkspace.issuer}/orders`,
          domains: "partner.example acme.example"
        })
        // One that is not trusted is added.
        expect(yield* changeForm(world, "https://other.example")).toEqual({ issuer: "", keys: "", ...nothing })
        const added = yield* look(world, "owner", "issuers", "?change=x")
        expect(added.body).toContain('name="action" value="add"')

        const change = (fields: Readonly<Record<string, string>>) =>
          post(world, "owner", "issuers", { action: "change", ...fields })
        // Left empty, each keeps its own keys.
        yield* change({ issuer: second, keys: "" })
        expect((yield* trusted(world))[1]?.keys).toEqual({ _tag: "Fetched", jwksUri: `${second}/keys` })
        yield* change({ issuer: login, keys: "", takes: "any" })
        yield* change({ issuer: second, keys: JSON.stringify({ keys: [key] }) })
        expect((yield* trusted(world)).map(({ keys, takes }) => [keys._tag, takes])).toEqual([
          ["Registered", "any"],
          ["Registered", undefined]
        ])
        const gone = yield* change({ issuer: "https://other.example", keys: "" })
        expect(header(gone, "location")).toEndWith("done=issuer-gone")
      })
    ))

  test("that cannot be come back as they were typed, in the form that was sent, without a key", () =>
    inTrust((world) =>
      Effect.gen(function* () {
        yield* add(world, { issuer: second })
        for (const action of ["add", "change"]) {
          const sent = { ...full, action, resources: "https://evil.example", domains: ` ${"d".repeat(20_000)} ` }
          const answer = yield* post(world, "owner", "issuers", { ...sent, issuer: action === "add" ? login : second })
          expect([action, answer.status]).toEqual([action, 400])
          expect(answer.body).toContain(`name="action" value="${action}"`)
          const { action: _, ...fields } = sent
          expect(typedOn(answer)).toEqual({
            ...fields,
            issuer: action === "add" ? login : second,
            clients: full.clients.trim(),
            domains: "d".repeat(16_384)
          })
          const given = { ...sent, keys: JSON.stringify({ keys: [{ ...key, d: "c2VjcmV0" }] }) }
          expect(typedOn(yield* post(world, "owner", "issuers", given))).toMatchObject({
            domains: "d".repeat(16_384),
            keys: ""
          })
        }
      })
    ))

  test("come page by page, those of an owner with a way to change them, and 20 of an owner are the most", () => {
    const configured = Array.from({ length: 10 }, (_, index) => `https://c${index}.example`)
    const trustedIssuers = configured.map((issuer) => ({ issuer, people: "known", keys: fetched }) as const)
    const given = { ...theWorkspace, trustedIssuers }
    return inSettings(
      function* (world) {
        const issuers = Array.from({ length: 20 }, (_, index) => `https://n${index}.example`)
        for (const issuer of issuers) expect((yield* add(world, { issuer })).status).toBe(303)
        const more = yield* add(world)
        expect([more.status, fieldProblems(more)]).toEqual([400, ["issuer"]])
        const told = ({ body }: { readonly body: string }) =>
          [...body.matchAll(/<h3><bdi>([^<]*)</g)].map(([, issuer]) => issuer)
        const pages = yield* allPages(world, "owner", "issuers")
        expect(pages.map((page) => told(page).length)).toEqual([shownMost, 5])
        expect(pages.flatMap(told)).toEqual([...configured, ...issuers])
        const links = pages.flatMap(({ body }) => body.match(/\?change=[^"]*/g) ?? [])
        expect(links).toEqual(issuers.map((issuer) => `?${new URLSearchParams({ change: issuer })}`))
      },
      { workspaces: [given], resolve: () => given, signatures: realSignatures }
    )
  })

  test("that are configured no form changes or removes", () => {
    const given = { ...theWorkspace, trustedIssuers: [{ issuer: login, people: "known", keys: fetched } as const] }
    return inSettings(
      function* (world) {
        const page = yield* look(world, "owner", "issuers", `?change=${encodeURIComponent(login)}`)
        expect([page.body.includes(login), page.body.includes('value="change"')]).toEqual([true, false])
        for (const action of ["change", "remove"]) {
          const answer = yield* post(world, "owner", "issuers", { action, issuer: login, keys: "" })
          expect(header(answer, "location")).toEndWith("done=issuer-gone")
        }
        expect((yield* add(world)).status).toBe(400)
      },
      { workspaces: [given], resolve: () => given }
    )
  })

  test.each([
    [{ issuer: "http://login.acme.example" }, "issuer"],
    [{ issuer: "javascript:alert(1)" }, "issuer"],
    [{ keys: "" }, "keys"],
    [{ keys: "{" }, "keys"],
    [{ keys: '{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}' }, "keys"],
    [{ keys: "http://login.acme.example/keys" }, "issuer"],
    [{ clients: "<script>" }, "issuer"],
    [{ resources: "https://evil.example" }, "resources"],
    [{ domains: "not a domain!" }, "issuer"]
  ])("come back as they were typed where they cannot be: %p", (fields, problem) =>
    inTrust((world) =>
      Effect.gen(function* () {
        const answer = yield* add(world, fields)
        expect([answer.status, fieldProblems(answer)]).toEqual([400, [problem]])
        expect(answer.body).not.toContain("c2VjcmV0")
        expect(answer.body).not.toContain("<script>")
        expect(yield* trusted(world)).toEqual([])
      })
    )
  )
})

const fetched = { _tag: "Fetched", jwksUri: `${login}/keys` } as const
