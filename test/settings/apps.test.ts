import { describe, expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../adapters/memory/Memory.ts"
import { deleteClient } from "../../core/engine/administerClients.ts"
import { lookedAtMost, shownMost } from "../../core/engine/lists.ts"
import type { UserPlace } from "../../core/ports/ResourceOwner.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { ClientId, type GrantId, grantIdOf, idLength, PlaceId, UserId } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { CodeChallenge } from "../../core/rules/Pkce.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { RedirectTarget } from "../../core/rules/RedirectUri.ts"
import { allScopes, ScopeName, Scopes } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { byOwner } from "../given/auditContext.ts"
import {
  authorizeTarget,
  bearing,
  challenge,
  codeFor,
  companies,
  form,
  formHeaders,
  header,
  hiddenFields,
  jsonOf,
  provenClient,
  redeem,
  refresh,
  registerClient,
  returned,
  signInToApp,
  tokensOf
} from "../given/flow.ts"
import { emptyList, noticeOn } from "../given/page.ts"
import { t0, type World } from "../given/World.ts"
import { allPages, follow, idsOn, inSettings, look, nextOf, post } from "./given.ts"

const grantsOf = (world: World, user: string) =>
  Effect.map(
    world.services.grants.ofUser(world.workspace.id, UserId.make(user), { after: undefined, limit: 5000 }),
    ({ values }) => values
  )

/** Approvals of an application each, as they are kept, without the pages before them. */
const approvals = Effect.fnUntraced(function* (world: World, user: string, count: number) {
  const ids: Array<GrantId> = []
  for (let made = 0; made < count; made++) {
    const client = ClientId.make((yield* registerClient(world)).id)
    const id = grantIdOf(world.services.entropy.bytes(idLength))
    const approved = {
      client,
      user: UserId.make(user),
      redirectUri: RedirectTarget.make("https://app.example.org/callback"),
      challenge: null,
      scope: allScopes(world.services.policy.scopes),
      resources: null
    }
    yield* world.services.grants.begin(world.workspace, approved, id)
    ids.push(id)
  }
  return ids
})

const revokeAll = (world: World, ids: ReadonlyArray<GrantId>) =>
  Effect.forEach(ids, (id) => world.services.grants.revokeGrant(world.workspace.id, id, "by_user"), { discard: true })

describe("connected apps", () => {
  test("name each grant's client, where it returns to, what it may, since when, and when it was used", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world, {
        client_name: "Numbers <b>",
        redirect_uris: ["https://numbers.example/cb", "com.example.numbers:/cb", "https://numbers.example/other"]
      })
      const { access } = yield* signInToApp(world, client, { scope: "api profile" })
      yield* TestClock.adjust("3 days")
      const page = yield* look(world, "alice", "apps")
      const before = { ...page, body: page.body.replaceAll("<wbr>", "") }
      expect(before.body).toContain("Numbers &lt;b&gt;")
      for (const { meaning } of standardPolicy.scopes) expect(before.body).toContain(meaning)
      expect(before.body).toContain("com.example.numbers:")
      expect(before.body.match(/numbers\.example,/g)?.length).toBe(1)
      expect(before.body).toContain("3 days ago")
      expect(before.body).toContain("<dd>Never</dd>")

      const again = tokensOf(yield* refresh(world, client, (yield* signInToApp(world, client)).refresh))
      expect((yield* companies(world, again.access)).status).toBe(200)
      expect((yield* companies(world, access)).status).toBe(401)
      expect((yield* look(world, "alice", "apps")).body).toContain("just now")
    }))

  test("say when one was last used from its access token's last check on", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      const { access } = yield* signInToApp(world, client)
      yield* TestClock.adjust("20 minutes")
      expect((yield* look(world, "alice", "apps")).body).toContain("<dd>Never</dd>")
      yield* companies(world, access)
      yield* TestClock.adjust("10 minutes")
      const page = yield* look(world, "alice", "apps")
      expect(page.body).not.toContain("<dd>Never</dd>")
      expect(page.body).toContain("10 minutes ago")
    }))

  test("revoking one kills its tokens at the next check, and only its", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      const other = yield* registerClient(world)
      const doomed = yield* signInToApp(world, client)
      const spared = yield* signInToApp(world, other)
      const [first, second] = yield* grantsOf(world, "alice")
      const mark = [first, second].find((grant) => grant?._tag === "Active" && grant.client === client.id)?.id
      const answer = yield* post(world, "alice", "apps", { action: "revoke", id: mark?.slice(0, 8) })
      expect(answer.status).toBe(303)
      expect((yield* companies(world, doomed.access)).status).toBe(401)
      expect(jsonOf(yield* refresh(world, client, doomed.refresh)).error).toBe("invalid_grant")
      expect((yield* companies(world, spared.access)).status).toBe(200)

      const page = yield* follow(world, "alice", answer)
      expect([header(answer, "location"), noticeOn(page)]).toEqual(["/settings/apps?done=app-revoked", "done"])
      expect(idsOn(page)).toEqual(
        [first, second].flatMap((grant) => (grant?.id === mark ? [] : [grant?.id.slice(0, 8) ?? ""]))
      )
      expect(world.audit.map(({ event }) => event)).toContainEqual({
        _tag: "GrantRevoked",
        grant: mark?.slice(0, 8) ?? "",
        why: "by_user",
        by: UserId.make("alice")
      })
    }))

  test("revoking one whose code is still out kills the code", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      const code = yield* codeFor(world, client)
      const [id] = idsOn(yield* look(world, "alice", "apps"))
      yield* post(world, "alice", "apps", { action: "revoke", id })
      expect(jsonOf(yield* redeem(world, client, code)).error).toBe("invalid_grant")
    }))

  test("a second click on revoke is told the same, and nothing is written for it", () =>
    inSettings(function* (world) {
      yield* signInToApp(world, yield* registerClient(world))
      const [id] = idsOn(yield* look(world, "alice", "apps"))
      const first = yield* post(world, "alice", "apps", { action: "revoke", id })
      world.calls.replace.length = 0
      const second = yield* post(world, "alice", "apps", { action: "revoke", id })
      expect(second.headers.filter(([name]) => name === "location")).toEqual(
        first.headers.filter(([name]) => name === "location")
      )
      expect(world.calls.replace).toEqual([])
      expect(world.audit.filter(({ event }) => event._tag === "GrantRevoked").length).toBe(1)
    }))

  test("show where a refresh was retried from another network, and when", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world, { token_endpoint_auth_method: "none" })
      const tokens = yield* signInToApp(world, client)
      const send = (peer: string) =>
        world.send("POST", "/oauth/token", {
          peer,
          headers: formHeaders,
          body: form({ client_id: client.id, grant_type: "refresh_token", refresh_token: tokens.refresh })
        })
      const shown = Effect.map(look(world, "alice", "apps"), ({ body }) => body.includes("Used from two networks"))
      for (const [peer, isShown] of [
        ["192.0.2.1", false],
        ["192.0.2.1", false],
        ["198.51.100.1", true]
      ] as const) {
        expect((yield* send(peer)).status).toBe(200)
        expect(yield* shown).toBe(isShown)
      }
    }))

  test("another person's grant cannot be revoked, and is told apart from none by nothing", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world)
      const hers = yield* signInToApp(world, client)
      const [grant] = yield* grantsOf(world, "alice")
      const attempts = [grant?.id.slice(0, 8), grant?.id, "AAAAAAAA", "A", "AAAAAAA~", "../../..", undefined]
      const answers: Array<unknown> = []
      for (const as of ["bob", "owner"]) {
        for (const id of attempts) {
          const answer = yield* post(world, as, "apps", { action: "revoke", id })
          const headers = answer.headers.filter(([name]) => name !== "x-request-id")
          answers.push({ ...answer, headers })
          expect(noticeOn(yield* follow(world, as, answer))).toBe("problem")
        }
      }
      for (const answer of answers) expect(answer).toEqual(answers[0])
      expect((yield* companies(world, hers.access)).status).toBe(200)
    }))

  /** The facts of each application, in the order of the page: a time by its date, else what stands there. */
  const factsOf = (page: { readonly body: string }) =>
    page.body
      .split("<h3>")
      .slice(1)
      .map((part) =>
        [...part.matchAll(/<dt>[^<]*<\/dt><dd>(?:<time datetime="([^"]*)"|([^<]*))/g)].map(
          ([, at, said = ""]) => at ?? said
        )
      )

  test("tell all that one application got as one: since the first, used and retried when that was last", () =>
    Promise.all(
      ["world", "another", "a third"].map((seed) =>
        inSettings(
          function* (world) {
            const client = yield* registerClient(world, {
              token_endpoint_auth_method: "none",
              redirect_uris: ["https://app.example.org/callback"]
            })
            const at = (days: number) => new Date(t0 + days * 86_400_000).toISOString()
            const told = Effect.map(look(world, "alice", "apps"), (page) => {
              expect(idsOn(page)).toHaveLength(1)
              const [[, ...facts] = []] = factsOf(page)
              return facts
            })
            const first = yield* signInToApp(world, client, { scope: "api" })
            yield* TestClock.adjust("1 day")
            const second = yield* signInToApp(world, client, { scope: "api profile" })
            expect(yield* told).toEqual([at(0), "Never"])
            const page = yield* look(world, "alice", "apps")
            expect([...page.body.matchAll(/<code class="scope">([^<]*)/g)].map(([, scope]) => scope).sort()).toEqual([
              "api",
              "profile"
            ])
            const retry = Effect.fnUntraced(function* (token: string) {
              for (const peer of ["192.0.2.1", "198.51.100.1"]) {
                const body = form({ client_id: client.id, grant_type: "refresh_token", refresh_token: token })
                const answer = yield* world.send("POST", "/oauth/token", { peer, headers: formHeaders, body })
                expect(answer.status).toBe(200)
              }
            })
            yield* retry(first.refresh)
            expect(yield* told).toEqual([at(0), "Never", at(1)])
            yield* TestClock.adjust("1 day")
            yield* retry(second.refresh)
            expect(yield* told).toEqual([at(0), "Never", at(2)])
          },
          { seed }
        )
      )
    ))

  test("tell when one of several grants was last used, whichever it was", () =>
    Promise.all(
      ["world", "another", "a third"].map((seed) =>
        inSettings(
          function* (world) {
            const client = yield* registerClient(world)
            const tokens = [yield* signInToApp(world, client), yield* signInToApp(world, client)]
            const used = Effect.map(look(world, "alice", "apps"), (page) => factsOf(page)[0]?.at(-1))
            for (const [minutes, one] of [0, 1, 0].entries()) {
              yield* TestClock.setTime(t0 + (minutes + 1) * 60_000)
              yield* companies(world, tokens[one]?.access ?? "")
              expect(yield* used).toBe(new Date(t0 + (minutes + 1) * 60_000).toISOString())
            }
          },
          { seed }
        )
      )
    ))

  test("name a scope that there is no more, and no host where one has none", () =>
    inSettings(function* (world) {
      const client = yield* registerClient(world, { redirect_uris: undefined, grant_types: ["client_credentials"] })
      const approved = {
        client: ClientId.make(client.id),
        user: UserId.make("alice"),
        redirectUri: RedirectTarget.make("https://app.example.org/callback"),
        challenge: null,
        scope: Scopes.make([ScopeName.make("bygone")]),
        resources: null
      }
      const id = grantIdOf(world.services.entropy.bytes(idLength))
      yield* world.services.grants.begin(world.workspace, approved, id)
      const page = yield* look(world, "alice", "apps")
      expect(factsOf(page)).toEqual([[new Date(t0).toISOString(), "Never"]])
      expect(page.body).toContain('<li>bygone <code class="scope">bygone</code></li>')
    }))

  test("say that a yes is remembered where one of them is, it counts still, and the server remembers any", async () => {
    const day = 86_400_000
    const of = (saidYesAt?: number) => ({
      redirectUri: RedirectTarget.make("https://app.example.org/callback"),
      challenge: CodeChallenge.make(challenge),
      scope: allScopes(standardPolicy.scopes),
      resources: null,
      ...(saidYesAt === undefined
        ? {}
        : { consent: { at: Instant.make(saidYesAt), shown: digestOf("what was shown") } })
    })
    const counts = of(t0)
    const rows: ReadonlyArray<
      readonly [
        what: string,
        grants: ReadonlyArray<ReturnType<typeof of>>,
        policy: "remember" | "ask",
        isRemembered: boolean
      ]
    > = [
      ["a yes", [counts], "remember", true],
      ["where the server asks each time", [counts], "ask", false],
      ["an approval without", [of()], "remember", false],
      ["one of two", [counts, of()], "remember", true],
      ["one too long ago", [of(t0 - 31 * day)], "remember", false]
    ]
    for (const [what, grants, consent, isRemembered] of rows) {
      await inSettings(
        function* (world) {
          const client = yield* provenClient(world)
          for (const approved of grants) {
            const id = grantIdOf(world.services.entropy.bytes(idLength))
            const who = { client: ClientId.make(client.id), user: UserId.make("alice") }
            const begun = yield* world.services.grants.begin(world.workspace, { ...who, ...approved }, id)
            const answer = yield* redeem(world, client, begun)
            expect(answer.status).toBe(200)
          }
          const [facts = []] = factsOf(yield* look(world, "alice", "apps"))
          expect([what, facts.length]).toEqual([what, isRemembered ? 4 : 3])
        },
        { policy: { consent } }
      )
    }
  })

  test("that were gone by the time they are revoked are told as such", () => {
    /** So many looks still find something. */
    let looks = Number.POSITIVE_INFINITY
    return inSettings(
      function* (world) {
        yield* signInToApp(world, yield* registerClient(world))
        const [id] = idsOn(yield* look(world, "alice", "apps"))
        looks = 1
        const answer = yield* post(world, "alice", "apps", { action: "revoke", id })
        expect(header(answer, "location")).toBe("/settings/apps?done=app-gone")
        looks = Number.POSITIVE_INFINITY
        expect(idsOn(yield* look(world, "alice", "apps"))).toEqual([id ?? ""])
      },
      {
        store: Layer.effect(
          Storage,
          Effect.map(Storage, (below) => ({
            ...below,
            list: (listing) =>
              Effect.suspend(() =>
                looks-- > 0 ? below.list(listing) : Effect.succeed({ records: [], next: undefined })
              )
          }))
        ).pipe(Layer.provide(Memory.layer))
      }
    )
  })

  test("that another process removed meanwhile are told as gone, too", () => {
    let isGone = false
    return inSettings(
      function* (world) {
        const [id] = yield* approvals(world, "alice", 1)
        isGone = true
        // This one has never read it.
        const answer = yield* post(yield* world.elsewhere, "alice", "apps", { action: "revoke", id: id?.slice(0, 8) })
        expect(header(answer, "location")).toBe("/settings/apps?done=app-gone")
      },
      {
        store: Layer.effect(
          Storage,
          Effect.map(Storage, (below) => ({
            ...below,
            get: (key) => (isGone && key.kind === "grant" ? Effect.succeedNone : below.get(key))
          }))
        ).pipe(Layer.provide(Memory.layer))
      }
    )
  })

  test("are told with their place where others have none, and where the host knows of places no more", async () => {
    const bakery = { id: PlaceId.make("bakery"), label: "The bakery" }
    const at = (place?: PlaceId) =>
      Effect.fnUntraced(function* (world: World) {
        const approved = {
          client: ClientId.make((yield* registerClient(world)).id),
          user: UserId.make("alice"),
          redirectUri: RedirectTarget.make("https://app.example.org/callback"),
          challenge: null,
          scope: allScopes(world.services.policy.scopes),
          resources: null,
          ...(place === undefined ? {} : { place })
        }
        const id = grantIdOf(world.services.entropy.bytes(idLength))
        yield* world.services.grants.begin(world.workspace, approved, id)
      })
    for (const [options, told] of [
      [{ places: () => [bakery] }, "The bakery"],
      [{}, "bakery"]
    ] as const) {
      await inSettings(function* (world) {
        yield* at(bakery.id)(world)
        yield* at()(world)
        const page = yield* look(world, "alice", "apps")
        expect([page.status, idsOn(page).length]).toEqual([200, 2])
        expect(page.body.split(`<bdi>${told}</bdi>`)).toHaveLength(2)
      }, options)
    }
  })

  test("ask the host for places only where one acts at some place", () => {
    const asked: Array<string> = []
    return inSettings(
      function* (world) {
        const client = yield* provenClient(world)
        yield* redeem(world, client, yield* codeFor(world, client, {}, "bob"))
        asked.length = 0
        expect(idsOn(yield* look(world, "bob", "apps"))).toHaveLength(1)
        expect(asked).toEqual([])
      },
      {
        places: (user) => {
          asked.push(user)
          return []
        }
      }
    )
  })

  test("say where one may act, by the name of the place or else its id, and whether a yes is remembered", async () => {
    const facts = (page: { readonly body: string }) =>
      [...page.body.matchAll(/<dt>[^<]*<\/dt><dd>([\s\S]*?)<\/dd>/g)].map(([, said = ""]) =>
        said.replaceAll("<wbr>", "")
      )
    const bakery = { id: PlaceId.make("bakery"), label: "The bakery" }
    const museum = { id: PlaceId.make("museum"), label: "The museum" }
    for (const consent of ["remember", "ask"] as const) {
      let places: ReadonlyArray<UserPlace> = [bakery, museum]
      await inSettings(
        function* (world) {
          const client = yield* provenClient(world)
          const asked = yield* world.send("GET", authorizeTarget(client), { as: "alice" })
          const answer = yield* world.send("POST", "/consent", {
            as: "alice",
            headers: formHeaders,
            body: form({ ...hiddenFields(asked.body), decision: "approve", place: "museum" })
          })
          yield* redeem(world, client, returned(answer).get("code") ?? "")
          const told = facts(yield* look(world, "alice", "apps"))
          // Where it returns to, the place, since when, whether it asks again, and its last use.
          expect(told).toHaveLength(consent === "remember" ? 5 : 4)
          expect(told.slice(0, 2)).toEqual(["<bdi>app.example.org</bdi>", "<bdi>The museum</bdi>"])
          places = [bakery]
          expect(facts(yield* look(world, "alice", "apps"))[1]).toBe("<bdi>museum</bdi>")
          places = []
          const nowhere = yield* provenClient(world)
          yield* redeem(world, nowhere, yield* codeFor(world, nowhere, {}, "bob"))
          expect(facts(yield* look(world, "bob", "apps"))).toHaveLength(consent === "remember" ? 4 : 3)
        },
        { places: () => places, policy: { consent } }
      )
    }
  })

  test("are one's own alone", () =>
    inSettings(function* (world) {
      yield* signInToApp(world, yield* registerClient(world, { client_name: "Hers" }), {}, "alice")
      expect(emptyList(yield* look(world, "bob", "apps"))).toBe("none")
      expect(emptyList(yield* look(world, "owner", "apps"))).toBe("none")
    }))

  test("no longer hold what ended by itself, or with its client", () =>
    inSettings(function* (world) {
      yield* codeFor(world, yield* registerClient(world))
      yield* TestClock.adjust("61 seconds")
      expect(idsOn(yield* look(world, "alice", "apps"))).toEqual([])

      yield* signInToApp(world, yield* registerClient(world))
      yield* TestClock.adjust("30 days")
      expect(idsOn(yield* look(world, "alice", "apps")).length).toBe(1)
      yield* TestClock.adjust("1 hour")
      expect(idsOn(yield* look(world, "alice", "apps"))).toEqual([])

      const deleted = yield* registerClient(world)
      yield* signInToApp(world, deleted)
      const { values } = yield* world.services.clients.list(world.workspace.id, { after: undefined, limit: 10 })
      for (const { id } of values) if (id === deleted.id) yield* deleteClient(world.services, byOwner(world), id)
      expect(idsOn(yield* look(world, "alice", "apps"))).toEqual([])
    }))

  test("no longer hold what ended with a client whose identifier keeps a record of its end", () =>
    inSettings(
      function* (world) {
        const client = yield* registerClient(world)
        yield* signInToApp(world, client)
        expect(idsOn(yield* look(world, "alice", "apps"))).toHaveLength(1)
        const own = new URL(client.registrationUri).pathname
        yield* world.send("DELETE", own, { headers: bearing(client.registrationToken) })
        expect(idsOn(yield* look(world, "alice", "apps"))).toEqual([])
      },
      { policy: { registrationRows: "at_consent" } }
    ))

  test("no page and no address holds the whole id of a grant", () =>
    inSettings(function* (world) {
      yield* approvals(world, "alice", shownMost * 2)
      const pages = yield* allPages(world, "alice", "apps")
      const answer = yield* post(world, "alice", "apps", { action: "revoke", id: idsOn(pages[0] ?? answerOf())[0] })
      const told = JSON.stringify([pages, answer, world.log, world.audit])
      for (const { id } of yield* grantsOf(world, "alice")) expect(told).not.toContain(id.slice(0, 12))
    }))

  test("of 250, every one is on one page and on one only, in a bounded number of reads", () =>
    inSettings(function* (world) {
      const ids = yield* approvals(world, "alice", 250)
      world.calls.list.length = 0
      const pages = yield* allPages(world, "alice", "apps")
      expect(pages.length).toBe(250 / shownMost)
      // To know which of them are of one application, a hundred are read at once.
      expect(world.calls.list.length).toBe(pages.length * 3)
      const shown = pages.flatMap(idsOn)
      expect(shown).toEqual([...ids].sort().map((id) => id.slice(0, 8)))
      expect(nextOf(pages.at(-1) ?? answerOf())).toBeUndefined()
      for (const [index, page] of pages.entries()) {
        expect(idsOn(page).length).toBe(shownMost)
        expect(page.body.includes('<a class="button small" href="/settings/apps">')).toBe(index > 0)
      }
    }))

  test("behind a long row of ended ones are found a bounded stretch at a time", () =>
    inSettings(function* (world) {
      const ids = [...(yield* approvals(world, "alice", lookedAtMost + 50))].sort()
      const alive = ids.slice(-30)
      yield* revokeAll(world, ids.slice(0, -30))
      const first = yield* look(world, "alice", "apps")
      expect(idsOn(first)).toEqual([])
      expect(nextOf(first)).toBe(`/settings/apps?after=${ids[lookedAtMost - 1]?.slice(0, 8)}`)
      const pages = yield* allPages(world, "alice", "apps")
      expect(pages.flatMap(idsOn)).toEqual(alive.map((id) => id.slice(0, 8)))
    }))

  test("a cursor that is none of ours starts at the beginning", () =>
    inSettings(function* (world) {
      yield* approvals(world, "alice", 3)
      for (const after of ["x", "~~~~~~~~", "%00", "AAAAAAAAAAAAAAAAAAAAAA"]) {
        expect(idsOn(yield* look(world, "alice", "apps", `?after=${after}`)).length).toBe(3)
      }
    }))
})

const answerOf = (): never => {
  throw new Error("no page")
}
