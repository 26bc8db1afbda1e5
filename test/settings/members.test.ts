import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { lookedAtMost, shownMost } from "../../core/engine/lists.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { ClientId, grantIdOf, idLength } from "../../core/rules/Id.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { RedirectTarget } from "../../core/rules/RedirectUri.ts"
import { allScopes } from "../../core/rules/Scope.ts"
import { type Away, partlyAway } from "../given/countingStorage.ts"
import { header, hiddenFields } from "../given/flow.ts"
import { emptyList, fieldProblems, noticeOn, typedOn } from "../given/page.ts"
import { t0 } from "../given/World.ts"
import { addAccount, Browser, type House, inHouse } from "../people/House.ts"
import { nextOf, shownOn } from "./given.ts"

const signedIn = Effect.fnUntraced(function* (house: House, email = "ada@example.com") {
  const browser = new Browser(house)
  yield* browser.signIn(email)
  return browser
})

describe("the members", () => {
  test("are shown to owners alone", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      yield* addAccount(house, "bob@example.com", "member")
      const owner = yield* signedIn(house)
      const bob = yield* signedIn(house, "bob@example.com")
      const page = yield* owner.get("/settings/members")
      expect(page.body.replaceAll("<wbr>", "")).toContain("bob@example.com")
      expect((yield* bob.get("/settings/members")).status).toBe(403)
      expect(house.audit.at(-1)?.event).toMatchObject({ _tag: "Refused", refusal: "OwnersOnly" })
      const { csrf = "" } = hiddenFields((yield* bob.get("/settings/profile")).body)
      const forged = yield* bob.send("POST", "/settings/members", {
        csrf,
        action: "invite",
        email: "",
        role: "owner"
      })
      expect(forged.status).toBe(403)
      expect(forged.body).not.toContain("/invite?token=")
    }))

  test("are told with when they last signed in, oneself apart, and the others with a way to remove them", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      yield* house.accounts.rename(house.workspace.id, ada.id, "")
      yield* house.accounts.rename(house.workspace.id, bob.id, "Bob")
      const owner = yield* signedIn(house)
      const page = yield* owner.get("/settings/members")
      const rows = page.body.replaceAll("<wbr>", "").split('<li class="row">').slice(1)
      const told = rows.map((row) => ({
        title: /<h3><bdi>([^<]*)/.exec(row)?.[1],
        below: /<\/h3><p class="hint"><bdi>([^<]*)/.exec(row)?.[1],
        isVisitor: row.includes('class="badge"'),
        removes: /value="remove"><input[^>]*name="id" value="([^"]*)"/.exec(row)?.[1],
        times: row.match(/<time /g)?.length
      }))
      expect(told.toSorted((one, other) => (one.title ?? "").localeCompare(other.title ?? ""))).toEqual([
        { title: "ada@example.com", below: undefined, isVisitor: true, removes: undefined, times: 2 },
        { title: "Bob", below: "bob@example.com", isVisitor: false, removes: bob.id, times: 1 }
      ])
    }))

  test("come page by page, each once", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      for (let index = 0; index < 119; index++) yield* addAccount(house, `p${index}@example.com`, "member")
      const owner = yield* signedIn(house)
      const seen: Array<string> = []
      let target: string | undefined = "/settings/members"
      while (target !== undefined) {
        const page: string = (yield* owner.get(target)).body.replaceAll("<wbr>", "")
        seen.push(...[...page.matchAll(/<bdi>(\w+@example\.com)<\/bdi><\/p>/g)].map(([, email = ""]) => email))
        target = /href="([^"]*after=[^"]*)"/.exec(page)?.[1]
      }
      expect(seen).toHaveLength(120)
      expect(new Set(seen).size).toBe(120)
    }))

  test("are found behind all whose invitation was withdrawn", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const owner = yield* signedIn(house)
      for (let before = 0; before < 120; ) {
        const id = house.accounts.book.newId()
        if (id > ada.id) continue
        yield* house.accounts.book.block(house.workspace.id, id, Instant.make(t0))
        before++
      }
      const page = (yield* owner.get("/settings/members")).body.replaceAll("<wbr>", "")
      expect([emptyList({ body: page }), /after=/.test(page)]).toEqual([undefined, false])
      expect(page).toContain("<bdi>ada@example.com</bdi></p>")
    }))

  test("are not said to be none while there is more to look through", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = yield* signedIn(house)
      const { book } = house.accounts
      const withdrawn = Array.from({ length: 2 * lookedAtMost + 1 }, () => book.newId())
      for (const id of withdrawn) yield* book.block(house.workspace.id, id, Instant.make(t0))
      const pages: Array<string> = []
      let target: string | undefined = "/settings/members"
      while (target !== undefined) {
        const page: string = (yield* owner.get(target)).body
        pages.push(page)
        target = /href="([^"]*after=[^"]*)"/.exec(page)?.[1]
      }
      const lists = pages.map((body) => emptyList({ body }))
      expect(pages.length).toBeGreaterThan(2)
      expect([lists.includes("none"), lists.includes("more")]).toEqual([false, true])
      const behindAll = yield* owner.get(`/settings/members?after=${withdrawn.toSorted().at(-1)}`)
      expect(emptyList(behindAll)).toBe("end")
    }))

  test("are invited by a link that is shown once", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = yield* signedIn(house)
      const made = yield* owner.submit("/settings/members", {
        action: "invite",
        email: "b@example.com",
        role: "member"
      })
      const link = /https:[^"]*\/invite\?token=[\w-]{43}/.exec(made.body)?.[0] ?? "no link"
      const later = yield* owner.get("/settings/members")
      expect(later.body).not.toContain(link.split("=")[1] ?? "no token")
      expect(later.body.replaceAll("<wbr>", "")).toContain("b@example.com")
      expect(JSON.stringify([house.log, house.audit])).not.toContain(link.split("=")[1] ?? "no token")
    }))

  test("are invited by a link that is shown though the list could not be read, and that is a warning", async () => {
    for (const kind of ["account", "link"]) {
      const away: Away = new Set()
      await inHouse(
        function* (house) {
          yield* addAccount(house)
          const owner = yield* signedIn(house)
          const form = hiddenFields((yield* owner.get("/settings/members")).body)
          away.add(`list ${kind}`)
          const made = yield* owner.send("POST", "/settings/members", { ...form, action: "invite", email: "" })
          away.clear()
          const page = made.body.replaceAll("<wbr>", "")
          expect([made.status, noticeOn(made)]).toEqual([200, "problem"])
          // The title says it, too.
          expect(made.body).not.toContain("<title>undefined")
          expect([emptyList(made), page.includes("<bdi>ada@example.com</bdi></p>")]).toEqual([undefined, true])
          expect([page.includes('class="pager"'), page.includes('value="withdraw"')]).toEqual([false, false])
          const token = /\/invite\?token=([\w-]{43})/.exec(page)?.[1] ?? "no token"
          expect((yield* house.send("GET", `/invite?token=${token}`)).status).toBe(200)
          expect(house.log.filter((line) => line.includes('"fault"'))).toHaveLength(1)
          expect(JSON.stringify([house.log, house.audit])).not.toContain(token)
          expect((yield* owner.get("/settings/members")).body).toContain('value="withdraw"')
        },
        { storage: partlyAway(away) }
      )
    }
  })

  test("are invited as members where the form does not say owner, and no longer listed once it is too late", () =>
    inHouse(function* (house) {
      const { id } = yield* addAccount(house)
      const owner = yield* signedIn(house)
      for (const role of ["", "admin", "Owner"]) {
        yield* owner.submit("/settings/members", { action: "invite", email: "b@example.com", role })
      }
      const changes = house.audit.flatMap(({ event }) => (event._tag === "AccountChanged" ? [event] : []))
      expect(changes.map(({ by, change }) => [by, change])).toEqual(Array(3).fill([id, "invited as member"]))
      const isListed = Effect.map(owner.get("/settings/members"), ({ body }) =>
        body.replaceAll("<wbr>", "").includes("b@example.com")
      )
      yield* TestClock.adjust(7 * 24 * 60 * 60 * 1000 - 1)
      expect(yield* isListed).toBe(true)
      yield* TestClock.adjust(1)
      expect(yield* isListed).toBe(false)
    }))

  test("say nothing of the form before in the answer to the next", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = yield* signedIn(house)
      const page = yield* owner.get("/settings/members?done=withdraw")
      expect(noticeOn(page)).toBe("done")
      const form = { ...hiddenFields(page.body), action: "invite", email: "nonsense" }
      const answer = yield* owner.send("POST", "/settings/members?done=withdraw", form)
      expect([answer.status, noticeOn(answer)]).toEqual([400, undefined])
    }))

  test("are not invited twice, nor at what is no address", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = yield* signedIn(house)
      const invite = (email: string) => owner.submit("/settings/members", { action: "invite", email, role: "member" })
      for (const email of ["ADA@example.com", "ada"]) {
        const answer = yield* invite(email)
        expect([answer.status, fieldProblems(answer)]).toEqual([400, ["email"]])
      }
    }))

  test("are removed by an owner, but no owner by themselves, and none twice", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "owner")
      const owner = yield* signedIn(house)
      const other = yield* signedIn(house, "bob@example.com")
      const own = yield* owner.submit("/settings/members", { action: "remove", id: ada.id })
      expect([own.status, noticeOn(own)]).toEqual([409, "problem"])
      const removed = yield* owner.submit("/settings/members", { action: "remove", id: bob.id })
      expect(header(removed, "location")).toBe("/settings/members?done=removed")
      expect((yield* other.get("/settings/members")).status).toBe(303)
      const again = yield* owner.submit("/settings/members", { action: "remove", id: bob.id })
      expect([again.status, noticeOn(again)]).toEqual([409, "problem"])
      expect(house.audit.map(({ event }) => event)).toContainEqual({
        _tag: "AccountChanged",
        account: bob.id,
        change: "removed",
        by: ada.id
      })
      expect(house.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "AccountRefused")).toEqual([
        { _tag: "AccountRefused", change: "removed", reason: "oneself", by: ada.id, account: ada.id },
        { _tag: "AccountRefused", change: "removed", reason: "unknown", by: ada.id, account: bob.id }
      ])
    }))

  test("come back with what was typed where they cannot be invited", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = yield* signedIn(house)
      const page = yield* owner.get("/settings/members")
      expect(typedOn(page)).toEqual({ email: "", role: "member" })
      for (const role of ["owner", "member"]) {
        for (const email of ["ada", " ADA@example.com "]) {
          const answer = yield* owner.submit("/settings/members", { action: "invite", email, role })
          expect([answer.status, fieldProblems(answer), shownOn(answer)]).toEqual([400, ["email"], ""])
          expect(typedOn(answer)).toEqual({ email: email.trim(), role })
        }
      }
      expect(house.audit.filter(({ event }) => event._tag === "AccountChanged")).toEqual([])
    }))

  test("are told of an invitation by link and end, until it is withdrawn, which is done once", () =>
    inHouse(function* (house) {
      const { id: by } = yield* addAccount(house)
      const owner = yield* signedIn(house)
      const withdraw = (id: string) => owner.submit("/settings/members", { action: "withdraw", id })
      for (const [email, role] of [
        ["", "owner"],
        ["bob@example.com", "member"]
      ] as const) {
        house.audit.length = 0
        const made = yield* owner.submit("/settings/members", { action: "invite", email, role })
        const link = shownOn(made)
        expect(link).toStartWith(`${house.workspace.issuer}/invite?token=`)
        const until = new Date((yield* Effect.clockWith((clock) => clock.currentTimeMillis)) + 7 * 86_400_000)
        const [, advice = ""] = made.body.split('id="once-advice"')
        expect(advice.slice(0, advice.indexOf("</p>"))).toContain(`datetime="${until.toISOString()}"`)
        const [, labelled = ""] = /<label for="once">([^<]*)/.exec(made.body) ?? []
        expect(labelled.includes("bob@example.com")).toBe(email !== "")
        const invited = yield* owner.get(link.slice(house.workspace.issuer.length))
        expect(invited.body.includes("bob@example.com")).toBe(email !== "")
        expect(invited.body).toContain("ada@example.com")

        const page = yield* owner.get("/settings/members")
        const [id = ""] = [...page.body.matchAll(/value="withdraw"><input[^>]*name="id" value="([^"]*)"/g)].map(
          ([, found]) => found
        )
        const answer = yield* withdraw(id)
        expect(header(answer, "location")).toBe("/settings/members?done=withdraw")
        expect(noticeOn(yield* owner.get("/settings/members?done=withdraw"))).toBe("done")
        expect((yield* owner.get(link.slice(house.workspace.issuer.length))).status).toBe(410)
        expect((yield* owner.get("/settings/members")).body).not.toContain('value="withdraw"')
        for (const late of [id, "nonsense", ""]) {
          const again = yield* withdraw(late)
          expect([late, again.status, noticeOn(again)]).toEqual([late, 409, "problem"])
        }
        const events = house.audit.map(({ event }) => event).filter(({ _tag }) => _tag === "AccountChanged")
        const account = expect.any(String) as unknown as string
        expect<unknown>(events).toEqual([
          { _tag: "AccountChanged", account, change: `invited as ${role}`, by },
          { _tag: "AccountChanged", account, change: "invitation withdrawn", by }
        ])
      }
    }))

  test("see every open invitation, some on each page, and go on from there once they have withdrawn one", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = yield* signedIn(house)
      for (let made = 0; made < 130; made++) {
        yield* house.accounts.links.make(house.workspace.id, (id) => ({
          _tag: "Invitation",
          id,
          account: house.accounts.book.newId(),
          role: "member",
          email: null,
          invitedBy: "ada@example.com",
          createdAt: Instant.make(t0),
          expiresAt: Instant.make(t0 + 3_600_000)
        }))
      }
      const invitesOn = ({ body }: HttpResponse) =>
        body.match(/(?<=value="withdraw"><input type="hidden" name="id" value=")[^"]*/g) ?? []
      const pages: Array<HttpResponse> = []
      for (
        let next: string | undefined = "/settings/members";
        next !== undefined;
        next = nextOf(pages.at(-1) ?? expect.unreachable())
      ) {
        pages.push(yield* owner.get(next))
      }
      const shown = pages.map((page) => invitesOn(page).length)
      expect(shown).toEqual([shownMost, shownMost, shownMost, shownMost, shownMost, 5])
      expect(new Set(pages.flatMap(invitesOn)).size).toBe(130)

      const [first = "", ...others] = invitesOn(pages[2] ?? expect.unreachable())
      const address = nextOf(pages[1] ?? expect.unreachable()) ?? ""
      const { csrf = "" } = hiddenFields(pages[2]?.body ?? "")
      const done = yield* owner.send("POST", address, { csrf, action: "withdraw", id: first })
      expect(invitesOn(yield* owner.get(header(done, "location") ?? "")).slice(0, 24)).toEqual(others)
    }))

  test("withdraw no link that invites no person, nor an invitation that was used already", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const owner = yield* signedIn(house)
      const { book, links } = house.accounts
      const until = { createdAt: Instant.make(t0), expiresAt: Instant.make(t0 + 3_600_000) }
      const { link: setUp } = yield* links.make(house.workspace.id, (id) => ({
        _tag: "SetUp",
        id,
        account: book.newId(),
        ...until
      }))
      const { link: used } = yield* links.make(house.workspace.id, (id) => ({
        _tag: "Invitation",
        id,
        account: ada.id,
        role: "member",
        email: null,
        invitedBy: "ada@example.com",
        ...until
      }))
      house.audit.length = 0
      for (const { id } of [setUp, used]) {
        const answer = yield* owner.submit("/settings/members", { action: "withdraw", id })
        expect([answer.status, noticeOn(answer)]).toEqual([409, "problem"])
      }
      expect(house.audit).toEqual([])
      expect(yield* links.byId(house.workspace.id, setUp.id)).toBeDefined()
      expect(yield* links.byId(house.workspace.id, used.id)).toBeUndefined()
      expect((yield* owner.get("/settings/members")).status).toBe(200)
    }))

  test("are removed with their grants, of each of which the audit is told", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      const owner = yield* signedIn(house)
      const approved = {
        client: ClientId.make("A".repeat(22)),
        redirectUri: RedirectTarget.make("https://app.example.org/callback"),
        challenge: null,
        scope: allScopes(standardPolicy.scopes),
        resources: null
      }
      const [hers, ...his] = [ada, bob, bob].map(({ id: user }) => {
        const id = grantIdOf(house.services.entropy.bytes(idLength))
        return { id, begun: house.services.grants.begin(house.workspace, { ...approved, user }, id) }
      })
      for (const { begun } of [hers, ...his].flatMap((one) => one ?? [])) yield* begun
      house.audit.length = 0
      yield* owner.submit("/settings/members", { action: "remove", id: bob.id })
      const told = house.audit.filter(({ event }) => event._tag === "GrantRevoked")
      const [at, workspace, by] = [Instant.make(t0), house.workspace.id, ada.id]
      const requestId = expect.stringMatching(/^.{8,}$/) as unknown as string
      const marks = his.map(({ id }) => id.slice(0, 8))
      const ofEach = marks.map((grant) => ({
        at,
        requestId,
        workspace,
        event: { _tag: "GrantRevoked", grant, why: "by_owner", by } as const
      }))
      expect(told).toHaveLength(2)
      expect(told).toEqual(expect.arrayContaining(ofEach))
    }))

  test("come with a title that says first what became of a form", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const owner = yield* signedIn(house)
      const titleOf = ({ body }: { readonly body: string }) => /<title>([^<]*)/.exec(body)?.[1] ?? ""
      const plain = titleOf(yield* owner.get("/settings/members"))
      const done = titleOf(yield* owner.get("/settings/members?done=withdraw"))
      const problems = [
        yield* owner.submit("/settings/members", { action: "withdraw", id: "nonsense" }),
        yield* owner.submit("/settings/members", { action: "remove", id: ada.id })
      ].map(titleOf)
      expect(new Set(problems).size).toBe(1)
      const [problem = ""] = problems
      expect(new Set([plain, done, problem]).size).toBe(3)
      for (const title of [done, problem]) expect(title).toEndWith(plain)
      expect(problem).not.toContain("undefined")
    }))

  test("are not removed by what is no person's id, which is noted without one", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const owner = yield* signedIn(house)
      for (const id of ["", "no body", "a".repeat(129)]) {
        house.audit.length = 0
        const answer = yield* owner.submit("/settings/members", { action: "remove", id })
        expect([id, answer.status, noticeOn(answer)]).toEqual([id, 409, "problem"])
        expect(house.audit.map(({ event }) => event)).toEqual([
          { _tag: "AccountRefused", change: "removed", reason: "unknown", by: ada.id }
        ])
      }
    }))
})

describe("the places of a member", () => {
  const at = "/settings/members"

  const titlesOn = ({ body }: { readonly body: string }) =>
    [...body.matchAll(/<h3><bdi>([^<]*)/g)].map(([, title]) => title)

  const changesIn = (house: House) =>
    house.audit.flatMap(({ event }) => (event._tag.startsWith("Account") ? [event] : []))

  test("are given, changed and taken away by an owner, as the audit is told", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      const owner = yield* signedIn(house)
      const page = `${at}?of=${bob.id}`
      expect([titlesOn(yield* owner.get(page)), emptyList(yield* owner.get(page))]).toEqual([[], "none"])
      const set = (fields: Readonly<Record<string, string>>) =>
        owner.submit(page, { action: "set-place", id: bob.id, ...fields })
      const first = yield* set({ place: " acme ", label: "Acme", detail: "acme.example", "scope.profile": "yes" })
      expect(header(first, "location")).toBe(`${at}?done=place-set&of=${bob.id}`)
      expect(noticeOn(yield* owner.get(header(first, "location") ?? ""))).toBe("done")
      yield* set({ place: "org_2", label: "", "scope.nothing": "yes" })
      yield* set({ place: "org_2", label: "Museum" })
      const shown = yield* owner.get(page)
      expect(titlesOn(shown)).toEqual(["Acme", "Museum"])
      expect(shown.body.replaceAll("<wbr>", "").includes("<bdi>acme.example</bdi>")).toBe(true)
      const [acme] = (yield* house.services.owner.places?.(house.workspace, bob.id) ?? Effect.succeed([])).slice(0, 1)
      expect<unknown>(acme).toEqual({ id: "acme", label: "Acme", detail: "acme.example", scopes: ["profile"] })
      expect((yield* owner.get(at)).body.includes("<bdi>Acme</bdi>, <bdi>Museum</bdi>")).toBe(true)
      const remove = (place: string) => owner.submit(page, { action: "remove-place", id: bob.id, place })
      expect(header(yield* remove("acme"), "location")).toBe(`${at}?done=place-removed&of=${bob.id}`)
      for (const place of ["acme", "", "a b", "bank"]) {
        expect(header(yield* remove(place), "location")).toBe(`${at}?done=place-gone&of=${bob.id}`)
      }
      expect(titlesOn(yield* owner.get(page))).toEqual(["Museum"])
      const told = { _tag: "AccountChanged", account: bob.id, by: ada.id } as const
      expect(changesIn(house)).toEqual([
        { ...told, change: "place set", place: "acme" },
        { ...told, change: "place set", place: "org_2" },
        { ...told, change: "place set", place: "org_2" },
        { ...told, change: "place removed", place: "acme" }
      ])
    }))

  test("are an owner's own, too, and are not told or given by a member", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      const owner = yield* signedIn(house)
      yield* owner.submit(at, { action: "set-place", id: ada.id, place: "acme" })
      expect(titlesOn(yield* owner.get(`${at}?of=${ada.id}`))).toEqual(["acme"])
      const member = yield* signedIn(house, "bob@example.com")
      expect((yield* member.get(`${at}?of=${bob.id}`)).status).toBe(403)
      const { csrf = "" } = hiddenFields((yield* member.get("/settings/profile")).body)
      for (const form of [
        { action: "set-place", id: bob.id, place: "bank" },
        { action: "remove-place", id: ada.id, place: "acme" }
      ]) {
        expect((yield* member.send("POST", at, { csrf, ...form })).status).toBe(403)
      }
      const places = [ada, bob].map(
        ({ id }) => house.services.owner.places?.(house.workspace, id) ?? Effect.succeed([])
      )
      expect((yield* Effect.all(places)).map((all) => all.length)).toEqual([1, 0])
    }))

  test("come back with what was typed where they cannot be given", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      const owner = yield* signedIn(house)
      const page = `${at}?of=${bob.id}`
      for (const [wrong, fields] of [
        ["place", { place: "a b" }],
        ["place", { place: "" }],
        ["place", { place: "x".repeat(129) }],
        ["label", { place: "acme", label: "\u200b" }],
        ["label", { place: "acme", label: "x".repeat(101) }],
        ["detail", { place: "acme", detail: "x".repeat(201) }]
      ] as const) {
        const typed = { label: "Acme", detail: "acme.example", "scope.api": "yes", ...fields }
        const answer = yield* owner.submit(page, { action: "set-place", id: bob.id, ...typed })
        expect([answer.status, fieldProblems(answer)]).toEqual([400, [wrong]])
        expect(typedOn(answer)).toEqual({
          ...typed,
          place: typed.place.slice(0, 128),
          label: typed.label.slice(0, 100),
          detail: typed.detail.slice(0, 200)
        })
      }
      for (let n = 0; n < 50; n++) yield* owner.submit(page, { action: "set-place", id: bob.id, place: `org_${n}` })
      const full = yield* owner.submit(page, { action: "set-place", id: bob.id, place: "org_50" })
      expect([full.status, fieldProblems(full)]).toEqual([400, ["place"]])
      expect(titlesOn(yield* owner.get(page))).toHaveLength(50)
    }))

  test("have ids of any signs, each of which can be taken away again", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      const owner = yield* signedIn(house)
      const page = `${at}?of=${bob.id}`
      const odd = [`"><script>alert(1)</script>`, "&amp;", "../../x?y#z", "__proto__", "'", "-", "%00"]
      for (const place of odd) yield* owner.submit(page, { action: "set-place", id: bob.id, place })
      const shown = yield* owner.get(page)
      expect(shown.body.includes("<script>alert")).toBe(false)
      const forms = shown.body.split('value="remove-place"').slice(1)
      expect(forms.map((form) => hiddenFields(form).place)).toEqual(odd)
      for (const place of odd) yield* owner.submit(page, { action: "remove-place", id: bob.id, place })
      expect(emptyList(yield* owner.get(page))).toBe("none")
    }))

  test("of who is no member are told as such", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      const owner = yield* signedIn(house)
      yield* owner.submit(at, { action: "remove", id: bob.id })
      const before = changesIn(house).length
      for (const id of [bob.id, "", "no body", "\u0000"]) {
        const page = yield* owner.get(`${at}?of=${encodeURIComponent(id)}`)
        // A parameter without a value is none.
        expect([id, page.status, noticeOn(page)]).toEqual(id === "" ? [id, 200, undefined] : [id, 404, "problem"])
        for (const action of ["set-place", "remove-place"]) {
          const answer = yield* owner.submit(at, { action, id, place: "acme" })
          expect([id, answer.status, noticeOn(answer)]).toEqual([id, 409, "problem"])
        }
      }
      expect(changesIn(house)).toHaveLength(before)
    }))
})
