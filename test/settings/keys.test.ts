import { describe, expect, test } from "bun:test"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { rotateKey } from "../../core/engine/administerGrants.ts"
import { shownMost } from "../../core/engine/lists.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { byOwner } from "../given/auditContext.ts"
import { companies, header } from "../given/flow.ts"
import { emptyList, fieldProblems, noticeOn, pageName, typedOn } from "../given/page.ts"
import type { World } from "../given/World.ts"
import { allPages, follow, idsOn, inSettings, look, post, shownOn } from "./given.ts"

const create = (world: World, name = "Nightly export", expires = "90d") =>
  post(world, "owner", "keys", { action: "create", name, expires })

const allGrants = (world: World) =>
  Effect.map(world.services.grants.keys(world.workspace.id, { after: undefined, limit: 1000 }), ({ values }) => values)

describe("API keys", () => {
  test("a new key is on the answer to its own form, works, and is told with its beginning only from then on", () =>
    inSettings(function* (world) {
      const answer = yield* create(world)
      expect(answer.status).toBe(200)
      expect(header(answer, "cache-control")).toBe("no-store")
      expect(header(answer, "location")).toBeUndefined()
      const key = shownOn(answer)
      expect(key).toMatch(/^tsr_ak_[A-Za-z0-9_-]{70}$/)
      expect((yield* companies(world, key)).status).toBe(200)

      yield* TestClock.adjust("2 hours")
      const page = yield* look(world, "owner", "keys")
      expect(page.body).not.toContain(key)
      expect(shownOn(page)).toBe("")
      expect(page.body).toContain("Nightly export")
      expect(page.body).toContain(`${key.slice(0, 11)}…`)
      expect(page.body).toContain("2 hours ago")
      expect(page.body).toContain("in 89 days")
    }))

  test.each([
    ["30d", 30],
    ["90d", 90],
    ["365d", 365],
    ["never", undefined]
  ] as const)("one works for as long as was chosen, and its page and the list say it: %s", (expires, days) =>
    inSettings(function* (world) {
      const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      const until = days === undefined ? undefined : new Date(now + days * 86_400_000).toISOString()
      const made = yield* create(world, "n", expires)
      const [, advice = ""] = made.body.split('id="once-advice"')
      expect(/datetime="([^"]*)"/.exec(advice.slice(0, advice.indexOf("</p>")))?.[1]).toBe(until)
      const { body } = yield* look(world, "owner", "keys")
      if (until !== undefined) expect(body).toContain(`datetime="${until}"`)
      // It was never used either.
      expect(body.match(/<dd>Never<\/dd>/g)?.length).toBe(until === undefined ? 2 : 1)
    })
  )

  test("opens what was chosen on the form, and the list says it", () =>
    inSettings(function* (world) {
      const opened = Effect.map(allGrants(world), (all) =>
        all.flatMap((grant) => (grant._tag === "Key" ? [[grant.name, grant.use, grant.scope.join(" ")]] : []))
      )
      const choose = (name: string, fields: Record<string, string>) =>
        post(world, "owner", "keys", { action: "create", name, expires: "90d", ...fields })
      expect(
        (yield* companies(world, shownOn(yield* choose("Narrow", { opens: "scopes", "scope.profile": "yes" })))).status
      ).toBe(403)
      expect((yield* companies(world, shownOn(yield* choose("Guard", { opens: "introspection" })))).status).toBe(403)
      expect((yield* companies(world, shownOn(yield* choose("Wide", { opens: "everything" })))).status).toBe(200)
      const chosen = [
        ["Guard", "introspection", ""],
        ["Narrow", "scopes", "profile"],
        ["Wide", "everything", "api profile"]
      ]
      expect((yield* opened).sort()).toEqual(chosen)
      const page = yield* look(world, "owner", "keys")
      const said = [...page.body.matchAll(/<dt>Opens<\/dt>\s*<dd>([\s\S]*?)<\/dd>/g)].map(([, words = ""]) => words)
      expect([new Set(said).size, said.filter((words) => words.includes("<code>"))]).toEqual([
        3,
        ["<code>profile</code>"]
      ])

      // A key of the same name has the same reach.
      for (const id of idsOn(page)) yield* post(world, "owner", "keys", { action: "rotate", id })
      expect((yield* opened).sort()).toEqual(chosen)

      for (const wrong of [
        { opens: "scopes" },
        { opens: "scopes", "scope.unheard": "yes" },
        { opens: "anything" },
        { opens: "everything", "scope.api": "yes" },
        { opens: "introspection", "scope.api": "yes" }
      ]) {
        const again = yield* choose("Wrong", wrong)
        expect([again.status, shownOn(again), fieldProblems(again)]).toEqual([400, "", ["opens"]])
        const { "scope.unheard": _, ...kept } = wrong as Readonly<Record<string, string>>
        const opens = wrong.opens === "anything" ? "everything" : wrong.opens
        expect(typedOn(again)).toEqual({ name: "Wrong", expires: "90d", ...kept, opens })
      }
      expect((yield* opened).sort()).toEqual(chosen)
    }))

  test("a key that was shown once is nowhere in storage, log, audit or address", () =>
    inSettings(function* (world) {
      const made = shownOn(yield* create(world))
      yield* companies(world, made)
      const [id] = idsOn(yield* look(world, "owner", "keys"))
      const rotated = shownOn(yield* post(world, "owner", "keys", { action: "rotate", id }))
      yield* companies(world, rotated)
      yield* companies(world, made)
      yield* world.services.usage.flush
      const [next] = idsOn(yield* look(world, "owner", "keys"))
      const answer = yield* post(world, "owner", "keys", { action: "revoke", id: next })

      const kept: Array<unknown> = []
      for (const kind of ["grant", "usage", "client", "link"] as const) {
        for (const owner of ["keys", "usage", "workspace", "user:owner"]) {
          const { records } = yield* world.storage.list({
            workspace: world.workspace.id,
            kind,
            owner,
            after: undefined,
            limit: 1000
          })
          kept.push(...records)
        }
      }
      expect(kept.length).toBeGreaterThanOrEqual(4)
      const everything = JSON.stringify([kept, world.log, world.audit, answer])
      for (const key of [made, rotated]) {
        expect(key.length).toBe(77)
        // The beginning names the record; the secret part begins behind the id's 22 characters.
        for (let at = 32; at + 12 <= key.length; at++) expect(everything).not.toContain(key.slice(at, at + 12))
      }
    }))

  test("a revoked key is refused at the next check, and a second click changes nothing", () =>
    inSettings(function* (world) {
      const key = shownOn(yield* create(world))
      const [id] = idsOn(yield* look(world, "owner", "keys"))
      const answer = yield* post(world, "owner", "keys", { action: "revoke", id })
      expect(header(answer, "location")).toBe("/settings/keys?done=key-revoked")
      expect((yield* companies(world, key)).status).toBe(401)
      const page = yield* follow(world, "owner", answer)
      expect(noticeOn(page)).toBe("done")
      expect(idsOn(page)).toEqual([])
      const second = yield* post(world, "owner", "keys", { action: "revoke", id })
      expect(header(second, "location")).toBe("/settings/keys?done=key-revoked")
      expect(world.audit.filter(({ event }) => event._tag === "KeyRevoked").length).toBe(1)
    }))

  test("rotating gives a new key on the old one's terms, and the old one stops at once", () =>
    inSettings(function* (world) {
      for (const [expires, lasts] of [
        ["30d", 30 * 86_400_000],
        ["never", null]
      ] as const) {
        const old = shownOn(yield* create(world, `Export ${expires}`, expires))
        yield* TestClock.adjust("20 days")
        const page = yield* look(world, "owner", "keys")
        const id = idsOn(page).find((mark) => old.startsWith(`tsr_ak_${mark}`))
        const answer = yield* post(world, "owner", "keys", { action: "rotate", id })
        expect(answer.status).toBe(200)
        const fresh = shownOn(answer)
        expect(fresh).not.toBe(old)
        expect(fresh.slice(0, 15)).not.toBe(old.slice(0, 15))
        expect((yield* companies(world, fresh)).status).toBe(200)
        expect((yield* companies(world, old)).status).toBe(401)
        const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        const grant = (yield* allGrants(world)).find((one) => fresh.startsWith(`tsr_ak_${one.id.slice(0, 8)}`))
        expect(grant).toMatchObject({
          _tag: "Key",
          name: `Export ${expires}`,
          createdAt: now,
          expiresAt: lasts === null ? null : now + lasts
        })
      }
      const events = world.audit.map(({ event }) => event._tag).filter((tag) => tag.startsWith("Key"))
      expect(events.filter((tag) => tag === "KeyCreated").length).toBe(4)
      expect(events.filter((tag) => tag === "KeyRevoked").length).toBe(2)
    }))

  test("a key that is rotated twice from one page is replaced once, and no key is left unseen", () =>
    inSettings(function* (world) {
      yield* create(world)
      const [id] = idsOn(yield* look(world, "owner", "keys"))
      const answers = yield* Effect.all(
        [
          post(world, "owner", "keys", { action: "rotate", id }),
          post(world, "ownerb", "keys", { action: "rotate", id })
        ],
        { concurrency: 2 }
      )
      answers.push(yield* post(world, "owner", "keys", { action: "rotate", id }))
      const shown = answers.map(shownOn).filter((key) => key !== "")
      expect(shown.length).toBe(1)
      for (const answer of answers.filter(({ status }) => status !== 200)) {
        const page = yield* follow(world, "owner", answer)
        expect(header(answer, "location")).toBe("/settings/keys?done=key-gone")
        expect(noticeOn(page)).toBe("problem")
      }
      const alive = (yield* allGrants(world)).filter(({ _tag }) => _tag === "Key")
      expect(alive.length).toBe(1)
      expect(shown[0]).toStartWith(`tsr_ak_${alive[0]?.id.slice(0, 8)}`)
    }))

  test("a key that was made is shown though the other keys, or their last uses, cannot be read", () =>
    inSettings(function* (world) {
      world.away.add("list grant")
      const made = yield* create(world)
      world.away.clear()
      const key = shownOn(made)
      expect([made.status, (yield* companies(world, key)).status]).toEqual([200, 200])
      expect([emptyList(made), made.body.includes('class="pager"')]).toEqual(["unread", false])

      const [id] = idsOn(yield* look(world, "owner", "keys"))
      world.away.add("get usage")
      const rotated = yield* post(world, "owner", "keys", { action: "rotate", id })
      world.away.clear()
      const fresh = shownOn(rotated)
      expect([rotated.status, (yield* companies(world, fresh)).status]).toEqual([200, 200])
      expect((yield* companies(world, key)).status).toBe(401)

      const warnings = world.log.filter((line) => line.includes("StorageUnavailable"))
      expect(warnings.length).toBe(2)
      expect(warnings[1]).toContain(fresh.slice("tsr_ak_".length, 15))
      expect(warnings.join()).not.toContain(fresh.slice(20))
    }))

  test("a click on create that comes twice makes keys that are both told, neither half made", () =>
    inSettings(function* (world) {
      const answers = yield* Effect.all([create(world), create(world)], { concurrency: 2 })
      const keys = answers.map(shownOn)
      expect(new Set(keys).size).toBe(2)
      for (const key of keys) expect((yield* companies(world, key)).status).toBe(200)
      expect(idsOn(yield* look(world, "owner", "keys")).length).toBe(2)
    }))

  test("a form without a name, or with too much of one, or an end that is none, comes back as it was sent", () =>
    inSettings(function* (world) {
      const wrong: ReadonlyArray<readonly [string | undefined, string | undefined]> = [
        [undefined, "30d"],
        ["  \u200b\u202e ", "30d"],
        ["n".repeat(101), "30d"],
        ["Export", "1s"],
        ["Export", undefined],
        ["Export", "__proto__"]
      ]
      for (const [name, expires] of wrong) {
        const answer = yield* post(world, "owner", "keys", { action: "create", name, expires })
        expect(answer.status).toBe(400)
        expect(fieldProblems(answer)).toEqual([expires === "30d" ? "name" : "expires"])
        expect(shownOn(answer)).toBe("")
        expect(answer.body).not.toContain("n".repeat(101))
        expect(typedOn(answer)).toEqual({
          name: (name ?? "").slice(0, 100),
          expires: expires === "30d" ? "30d" : "90d",
          opens: "everything"
        })
        if (expires === "30d") expect(answer.body).toContain('value="30d" selected')
        if (name === "Export") expect(answer.body).toContain('value="Export"')
      }
      expect(world.calls.insert).toEqual([])
    }))

  test("a name is kept as it can be shown", () =>
    inSettings(function* (world) {
      const answer = yield* create(world, ' <script>\u202e"x" ', "never")
      expect(answer.status).toBe(200)
      expect(answer.body).not.toContain("<script>")
      expect(yield* allGrants(world)).toMatchObject([{ name: '<script> "x"', expiresAt: null }])
    }))

  test("one that has expired is told as such, refused, and can be rotated", () =>
    inSettings(function* (world) {
      const key = shownOn(yield* create(world, "Old", "30d"))
      yield* TestClock.adjust("30 days")
      expect((yield* companies(world, key)).status).toBe(401)
      const page = yield* look(world, "owner", "keys")
      expect(page.body).toContain("Expired")
      const fresh = shownOn(yield* post(world, "owner", "keys", { action: "rotate", id: idsOn(page)[0] }))
      expect((yield* companies(world, fresh)).status).toBe(200)
    }))

  test("when one was last used is told, also once that is written down", () =>
    inSettings(function* (world) {
      const key = shownOn(yield* create(world))
      expect((yield* look(world, "owner", "keys")).body).toContain("<dd>Never</dd>")
      yield* companies(world, key)
      yield* TestClock.adjust("5 minutes")
      expect((yield* look(world, "owner", "keys")).body).not.toContain("<dd>Never</dd>")
      yield* world.services.usage.flush
      yield* TestClock.adjust("5 minutes")
      const page = yield* look(world, "owner", "keys")
      expect(page.body.match(/10 minutes ago/g)?.length).toBe(2)
    }))

  test("unknown ones are told as such: no id, no key's id, a person's grant, a key's whole id", () =>
    inSettings(function* (world) {
      yield* create(world)
      const [key] = yield* allGrants(world)
      for (const action of ["revoke", "rotate"]) {
        for (const id of [undefined, "", "AAAAAAAA", key?.id, "%", `${key?.id.slice(0, 7)}~`]) {
          const answer = yield* post(world, "owner", "keys", { action, id })
          expect(header(answer, "location")).toBe("/settings/keys?done=key-gone")
        }
      }
      expect((yield* allGrants(world)).map(({ _tag }) => _tag)).toEqual(["Key"])
    }))

  test("of 250, every one is on one page and on one only", () =>
    inSettings(function* (world) {
      const ids: Array<string> = []
      for (let n = 0; n < 250; n++) {
        const made = yield* world.services.grants.createKey(world.workspace.id, { name: `Key ${n}`, expiresAt: null })
        ids.push(made.grant.id)
      }
      const pages = yield* allPages(world, "owner", "keys")
      expect(pages.length).toBe(250 / shownMost)
      expect(pages.flatMap(idsOn)).toEqual(ids.sort().map((id) => id.slice(0, 8)))
    }))

  test("a store that does not answer is told with when to come back", () =>
    inSettings(function* (world) {
      yield* create(world)
      const [grant] = yield* allGrants(world)
      const key = { workspace: world.workspace.id, kind: "grant", id: grant?.id ?? "" } as const
      const record = Option.getOrThrow(yield* world.storage.get(key))
      // Of a later release, so this one cannot read it.
      yield* world.storage.replace(record.version, { ...record, body: { _v: 99, _by: "later" } })
      for (const answer of [
        yield* look(world, "owner", "keys"),
        yield* post(world, "owner", "keys", { action: "rotate", id: key.id.slice(0, 8) })
      ]) {
        expect(answer.status).toBe(503)
        expect(header(answer, "retry-after")).toBeDefined()
        expect(pageName(answer)).toBe("error-unavailable")
      }
    }))

  test("of two rotations that met, the one that came second takes back its own key", () =>
    inSettings(function* (world) {
      yield* create(world)
      const [grant] = yield* allGrants(world)
      if (grant?._tag !== "Key") throw new Error("no key")
      const first = yield* rotateKey(world.services, byOwner(world), grant)
      expect(yield* rotateKey(world.services, byOwner(world), grant)).toBeUndefined()
      const alive = (yield* allGrants(world)).filter(({ _tag }) => _tag === "Key")
      expect(alive.map(({ id }) => id)).toEqual([first?.grant.id ?? grant.id])
    }))

  test("an old key outlives a rotation that failed half-way", () =>
    inSettings(function* (world) {
      const key = shownOn(yield* create(world))
      const [grant] = yield* allGrants(world)
      if (grant?._tag !== "Key") throw new Error("no key")
      const away = new StorageUnavailable({ outcome: "not_done", message: "gone fishing" })
      const grants = { ...world.services.grants, revokeGrant: () => Effect.fail(away) }
      const failed = yield* Effect.flip(rotateKey({ ...world.services, grants }, byOwner(world), grant))
      expect(failed).toBe(away)
      expect((yield* companies(world, key)).status).toBe(200)
    }))
})
