import { expect, test } from "bun:test"
import { Effect, Layer } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { createKey } from "../../core/engine/administerGrants.ts"
import { blockClientHost } from "../../core/engine/administerWorkspace.ts"
import { shownMost } from "../../core/engine/lists.ts"
import type { HttpResponse } from "../../core/http/Http.ts"
import { lastUseOf, liveSessions, sessionMark } from "../../core/people/Sessions.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { currentInstant, later } from "../../core/rules/Instant.ts"
import { byOwner } from "../given/auditContext.ts"
import { registerClient, signInToApp } from "../given/flow.ts"
import { noticeOn } from "../given/page.ts"
import { addAccount, Browser, inHouse, isSignedIn } from "../people/House.ts"
import { accountSections, follow, idsOn, inSettings, look, nextOf, post, sections } from "./given.ts"

/** A store that counts what its lists give. */
const counting = () => {
  const listed: Array<number> = []
  const storage = (below: Storage["Service"]): Storage["Service"] => ({
    ...below,
    list: (listing) =>
      Effect.tap(below.list(listing), ({ records }) => Effect.sync(() => void listed.push(records.length)))
  })
  const store = Layer.effect(Storage, Effect.map(Storage, storage)).pipe(Layer.provide(Memory.layer))
  return { listed, storage, store }
}

test("a page of settings reads one list, and of it no more than it shows and the one that tells of a next page", () => {
  const { listed, store } = counting()
  return inSettings(
    function* (world) {
      for (let n = 0; n < 2 * shownMost; n++) {
        const client = yield* registerClient(world, { client_name: `Client ${n}` })
        yield* signInToApp(world, client, {}, "owner")
        yield* createKey(world.services, byOwner(world), { name: `Key ${n}`, lasts: undefined })
      }
      for (const section of sections.filter((one) => !["resources", "documents", "issuers"].includes(one))) {
        listed.length = 0
        for (const verb of Object.values(world.calls)) verb.length = 0
        const page = yield* look(world, "owner", section)
        expect(idsOn(page)).toHaveLength(shownMost)
        // Grants of one application are shown as one, so more of them are looked at.
        expect(listed).toEqual([section === "apps" ? 2 * shownMost : shownMost + 1])
        // The last use of each, and for an application its client.
        expect(world.calls.get.length).toBeLessThanOrEqual(2 * (shownMost + 1))
      }
      listed.length = 0
      expect((yield* world.send("GET", "/", { as: "owner" })).status).toBe(200)
      expect(listed).toEqual([])
    },
    { store }
  )
})

test("a form of a later page leads back to that page", () =>
  inSettings(function* (world) {
    for (let n = 0; n < 2 * shownMost; n++) {
      const client = yield* registerClient(world, { client_name: `Client ${n}` })
      yield* signInToApp(world, client, {}, "owner")
      yield* createKey(world.services, byOwner(world), { name: `Key ${n}`, lasts: undefined })
      yield* blockClientHost(world.services, byOwner(world), world.workspace, `host-${n}.example`)
    }
    const acts = [
      ["keys", "revoke", "id"],
      ["apps", "revoke", "id"],
      ["clients", "delete", "id"],
      ["clients", "enable", "id", "?q=client"],
      ["documents", "unblock", "host"]
    ] as const
    for (const [section, action, field, query = ""] of acts) {
      const listed = (page: HttpResponse) =>
        new Set(
          [...page.body.matchAll(new RegExp(`name="${field}" value="([^"]*)"`, "g"))].map(([, value = ""]) => value)
        )
      const second = nextOf(yield* look(world, "owner", section, query)) ?? expect.unreachable()
      const page = yield* world.send("GET", second, { as: "owner" })
      // As the page has it.
      const [, address = ""] = /<form method="post" action="([^"]*)" class="confirm-body">/.exec(page.body) ?? []
      const [, asked = ""] = address.replaceAll("&amp;", "&").split("?")
      const [one = "", ...others] = listed(page)
      const answer = yield* post(world, "owner", section, { action, [field]: one }, `?${asked}`)
      const back = yield* follow(world, "owner", answer)
      expect([section, noticeOn(back)]).toEqual([section, "done"])
      const left = action === "enable" ? [one, ...others] : others
      expect([section, ...listed(back)].slice(0, shownMost)).toEqual([section, ...left].slice(0, shownMost))
    }
  }))

test("so does a page about accounts, and that of members the open invitations, all of which it shows", () => {
  const { listed, storage } = counting()
  return inHouse(
    function* (house) {
      const ada = yield* addAccount(house)
      const browser = new Browser(house)
      yield* browser.signIn()
      for (let n = 0; n < 2 * shownMost; n++) {
        yield* addAccount(house, `member-${n}@example.com`, "member")
        yield* house.accounts.sessions.start(house.workspace.id, ada, yield* currentInstant)
      }
      const rows = 'name="action" value="withdraw"'
      for (let n = 0; n < 2; n++) {
        const made = yield* browser.submit("/settings/members", { action: "invite", email: "", role: "member" })
        expect(made.status).toBe(200)
      }
      for (const section of accountSections) {
        listed.length = 0
        const page = yield* browser.get(`/settings/${section}`)
        const invitations = page.body.split(rows).length - 1
        expect([section, ...listed]).toEqual([section, shownMost + 1, ...(section === "members" ? [invitations] : [])])
        expect([section, page.status, nextOf(page) === undefined]).toEqual([section, 200, false])
        expect(page.body.split('<li class="row">').length - 1 - invitations).toBeLessThanOrEqual(shownMost + 1)
      }
    },
    { storage }
  )
})

const marksOn = (page: HttpResponse) => idsOn(page).filter((id) => id !== "")
const isHere = (page: HttpResponse) => page.body.split("This browser").length - 1

test("the browser that asks is on the first page of all, each other one on one page, and all of them end at once", () =>
  inHouse(function* (house) {
    const ada = yield* addAccount(house)
    const { sessions } = house.accounts
    const now = yield* currentInstant
    for (let n = 0; n < 3 * shownMost; n++) {
      // Some of them are over, or began before the last change of the account.
      const { epoch } = ada
      yield* sessions.start(house.workspace.id, n % 5 === 0 ? { ...ada, epoch: epoch - 1 } : ada, later(now, -n))
    }
    const here = new Browser(house)
    yield* here.signIn()
    const live = yield* liveSessions(sessions, house.workspace.id, ada, now)
    const lastUsed = new Map(live.map((session) => [sessionMark(session), lastUseOf(session)]))
    const pages: Array<HttpResponse> = []
    for (
      let next: string | undefined = "/settings/sessions";
      next !== undefined;
      next = nextOf(pages.at(-1) ?? expect.unreachable())
    ) {
      pages.push(yield* here.get(next))
    }
    expect(pages.map(isHere)).toEqual(pages.map((_, at) => (at === 0 ? 1 : 0)))
    expect(pages[0]?.body.indexOf("This browser")).toBeLessThan(pages[0]?.body.indexOf("<details") ?? 0)
    const marks = pages.map(marksOn)
    expect(marks.every((page) => page.length <= shownMost)).toBe(true)
    for (const page of marks) {
      const times = page.map((mark) => lastUsed.get(mark) ?? 0)
      expect(times).toEqual(times.toSorted((one, other) => other - one))
    }
    const shown = marks.flat()
    expect(new Set(shown).size).toBe(shown.length)
    expect(shown).toHaveLength(live.length - 1)
    expect(shown.every((mark) => lastUsed.has(mark))).toBe(true)
    const answer = yield* here.submit("/settings/sessions", { action: "end-others" })
    expect(answer.status).toBe(303)
    expect(yield* liveSessions(sessions, house.workspace.id, ada, now)).toHaveLength(1)
    expect(yield* isSignedIn(here)).toBe(true)
  }))
