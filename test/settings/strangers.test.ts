import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { mostHosts } from "../../core/rules/DocumentHosts.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import type { TrustedIssuer } from "../../core/rules/TrustedIssuer.ts"
import { header } from "../given/flow.ts"
import { emptyList, fieldProblems, noticeOn } from "../given/page.ts"
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
    inSettings((world) =>
      Effect.gen(function* () {
        const answer = yield* take(world, takes, hosts)
        expect(noticeOn(yield* follow(world, "owner", answer))).toBe("done")
        expect((yield* now(world)).ownersDocuments).toEqual(taken)
        expect((yield* look(world, "owner", "documents")).body).toContain(`value="${takes}" selected`)
        expect(events(world)).toContain("ClientDocumentsChanged")
      })
    )
  )

  test.each([
    ["some", ""],
    ["some", "https://claude.ai"],
    ["some", "claude.ai <script>"],
    ["some", "a".repeat(65_000)]
  ])("are not taken of what is no host: %s %#", (takes, hosts) =>
    inSettings((world) =>
      Effect.gen(function* () {
        const answer = yield* take(world, takes, hosts)
        expect([answer.status, fieldProblems(answer)]).toEqual([400, ["hosts"]])
        expect(answer.body).not.toContain("<script>")
        expect((yield* now(world)).ownersDocuments).toBeUndefined()
      })
    )
  )

  test("are taken of no host that is blocked, page by page, until it is unblocked", () =>
    inSettings((world) =>
      Effect.gen(function* () {
        expect(emptyList(yield* look(world, "owner", "documents"))).toBe("none")
        const block = (host: string) => post(world, "owner", "documents", { action: "block", host })
        expect(noticeOn(yield* follow(world, "owner", yield* block(" Evil.example ")))).toBe("done")
        expect(yield* world.services.openings.blockedHosts(world.workspace.id)).toEqual(["evil.example"])
        const wrong = yield* block("https://evil.example/x")
        expect([wrong.status, fieldProblems(wrong)]).toEqual([400, ["host"]])
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
        expect((yield* block("evil.example")).status).toBe(400)
      })
    ))

  test.each(["documents", "issuers"] as const)("a form without an action does nothing: %s", (section) =>
    inSettings((world) =>
      Effect.gen(function* () {
        for (const action of [undefined, "constructor", "toString"]) {
          expect((yield* post(world, "owner", section, { action })).status).toBe(403)
        }
        expect((yield* post(world, "alice", section, { action: "block", host: "a.example" })).status).toBe(403)
      })
    )
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

  test("that are configured no form changes or removes", () => {
    const given = { ...theWorkspace, trustedIssuers: [{ issuer: login, people: "known", keys: fetched } as const] }
    return inSettings(
      (world) =>
        Effect.gen(function* () {
          const page = yield* look(world, "owner", "issuers", `?change=${encodeURIComponent(login)}`)
          expect([page.body.includes(login), page.body.includes('value="change"')]).toEqual([true, false])
          for (const action of ["change", "remove"]) {
            const answer = yield* post(world, "owner", "issuers", { action, issuer: login, keys: "" })
            expect(header(answer, "location")).toEndWith("done=issuer-gone")
          }
          expect((yield* add(world)).status).toBe(400)
        }),
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
