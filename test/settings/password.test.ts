import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { header, hiddenFields, registerClient } from "../given/flow.ts"
import { noticeOn, pageName } from "../given/page.ts"
import { watchedLimiter } from "../given/watchedLimiter.ts"
import { addAccount, Browser, type House, inHouse, password } from "../people/House.ts"
import { idsOn, shownOn } from "./given.ts"

const signedIn = Effect.fnUntraced(function* (house: House, email = "ada@example.com") {
  const browser = new Browser(house)
  yield* browser.signIn(email)
  return browser
})

const keys = "/settings/keys"
const members = "/settings/members"
const clients = "/settings/clients"
const resources = "/settings/resources"
const documents = "/settings/documents"
const issuers = "/settings/issuers"
const listed = "https://orders.example.com"
const login = "https://login.acme.example"
const typedIssuer = { issuer: login, keys: `${login}/keys` }
const newKey = { action: "create", name: "Nightly & <export>", expires: "30d" }

/** A house with a second member and a key, whose owner signed in long ago. */
const lived = Effect.fnUntraced(function* (house: House) {
  const { id: ada } = yield* addAccount(house)
  const { id: bea } = yield* addAccount(house, "bea@example.com", "member")
  const owner = yield* signedIn(house)
  yield* owner.submit(keys, { action: "create", name: "Old", expires: "never" })
  yield* owner.submit(members, { action: "invite", email: "cy@example.com", role: "member" })
  yield* owner.submit(members, { action: "set-place", id: bea, place: "acme" })
  yield* owner.submit(resources, { action: "add", at: listed, name: "" })
  yield* owner.submit(documents, { action: "block", host: "evil.example" })
  yield* owner.submit(issuers, { action: "add", ...typedIssuer })
  const [key = ""] = idsOn(yield* owner.get(keys))
  const { id: client } = yield* registerClient(house, { grant_types: ["authorization_code", "client_credentials"] })
  const [invitation = ""] = idsOn(yield* owner.get(members)).filter((id) => id !== bea)
  yield* TestClock.adjust("5 minutes")
  return { ada, bea, client, invitation, key, owner }
})

type Lived = Effect.Success<ReturnType<typeof lived>>

const send = Effect.fnUntraced(function* (browser: Browser, at: string, fields: Readonly<Record<string, string>>) {
  const { csrf = "" } = hiddenFields((yield* browser.get(at)).body)
  return yield* browser.send("POST", at, { csrf, ...fields })
})

const changes = (house: House) =>
  house.audit.flatMap(({ event }) =>
    event._tag === "KeyCreated" ||
    event._tag === "KeyRevoked" ||
    event._tag === "ResourceAdded" ||
    event._tag === "ResourceRemoved" ||
    event._tag === "AccountChanged" ||
    event._tag === "ClientChanged" ||
    event._tag === "ClientDocumentsChanged" ||
    event._tag === "ClientHostBlocked" ||
    event._tag === "ClientHostUnblocked" ||
    event._tag.startsWith("Issuer")
      ? [event._tag]
      : []
  )

const titleOf = ({ body }: { readonly body: string }) => /<title>([^<]*)<\/title>/.exec(body)?.[1]

/** Every form that gives access, or takes a person's away. */
const guarded: Record<string, (house: Lived) => readonly [string, Readonly<Record<string, string>>]> = {
  "makes a key": () => [keys, newKey],
  "rotates a key": ({ key }) => [keys, { action: "rotate", id: key }],
  "invites a member": () => [members, { action: "invite", email: "dee@example.com", role: "owner" }],
  "approves access without a person": ({ client }) => [clients, { action: "approve", id: client }],
  "lists an API": () => [resources, { action: "add", at: "https://tools.example.com", name: "T", "scope.api": "yes" }],
  "takes an API off the list": () => [resources, { action: "remove", at: listed }],
  "says whose documents are taken": () => [documents, { action: "take", takes: "some", hosts: "claude.ai" }],
  "blocks a host": () => [documents, { action: "block", host: "mallory.example" }],
  "unblocks a host": () => [documents, { action: "unblock", host: "evil.example" }],
  "trusts an issuer": () => [issuers, { action: "add", issuer: "https://b.example", keys: "https://b.example/keys" }],
  "changes an issuer": () => [issuers, { action: "change", ...typedIssuer, people: "made" }],
  "removes an issuer": () => [issuers, { action: "remove", issuer: login }],
  "removes a member": ({ bea }) => [members, { action: "remove", id: bea }],
  "gives a member a place": ({ bea }) => [
    members,
    { action: "set-place", id: bea, place: "org_2", "scope.api": "yes" }
  ],
  "takes a place from a member": ({ bea }) => [members, { action: "remove-place", id: bea, place: "acme" }]
}

describe("a session's cookie alone", () => {
  for (const [what, formOf] of Object.entries(guarded)) {
    test(`never ${what}: the password is asked for, and the form goes on as it was typed`, () =>
      inHouse(function* (house) {
        const before = yield* lived(house)
        const [at, fields] = formOf(before)
        const noted = changes(house)
        const asked = yield* send(before.owner, at, fields)
        expect([asked.status, pageName(asked), noticeOn(asked)]).toEqual([403, "confirm-password", undefined])
        expect(changes(house)).toEqual(noted)
        expect(asked.body).toContain(`<form method="post" action="${at}">`)
        // For what fills passwords in, and against a page that opened this one.
        expect(asked.body).toMatch(/<input[^>]* type="password"[^>]* autocomplete="current-password"[^>]* autofocus/)
        expect(header(asked, "cross-origin-opener-policy")).toBe("same-origin")
        // A person who does not go on is back at the page of that section.
        expect(asked.body).toMatch(new RegExp(`<p class="aside"><a href="${at}">`))
        const { csrf = "", ...kept } = hiddenFields(asked.body)
        expect(kept).toEqual(fields)

        const wrong = yield* before.owner.send("POST", at, { ...kept, csrf, confirm_password: "not it" })
        expect([wrong.status, pageName(wrong), noticeOn(wrong)]).toEqual([403, "confirm-password", "problem"])
        expect(hiddenFields(wrong.body)).toEqual({ ...fields, csrf })
        const [title, titleOfWrong] = [titleOf(asked), titleOf(wrong)]
        expect(title?.trim().length).toBeGreaterThan(0)
        expect(titleOfWrong).not.toBe(title)
        expect(changes(house)).toEqual(noted)
        expect(house.audit.at(-1)?.event).toMatchObject({
          _tag: "AccountRefused",
          change: "confirmed",
          reason: "wrong_password",
          account: before.ada,
          by: before.ada
        })

        const done = yield* before.owner.send("POST", at, { ...kept, csrf, confirm_password: password })
        expect(done.status).toBeLessThan(400)
        expect(changes(house).length).toBeGreaterThan(noted.length)
        expect(JSON.stringify([header(done, "location") ?? "", house.log, house.audit])).not.toContain(password)
        expect(done.body).not.toContain(password)
      }))
  }

  test("is asked again where the password is empty, and nothing is tried", () =>
    inHouse(function* (house) {
      const { owner } = yield* lived(house)
      const verified = house.hashed.verify
      const answer = yield* send(owner, keys, { ...newKey, confirm_password: "" })
      expect([answer.status, pageName(answer), noticeOn(answer)]).toEqual([403, "confirm-password", undefined])
      expect(house.hashed.verify).toBe(verified)
    }))

  test("is enough to take access away from what is stolen", () =>
    inHouse(function* (house) {
      const { invitation, key, owner } = yield* lived(house)
      const revoked = yield* send(owner, keys, { action: "revoke", id: key })
      expect(header(revoked, "location")).toBe(`${keys}?done=key-revoked`)
      const withdrawn = yield* send(owner, members, { action: "withdraw", id: invitation })
      expect(header(withdrawn, "location")).toBe(`${members}?done=withdraw`)
    }))
})

describe("a password that was given", () => {
  test("counts for five minutes in its session, for every form, and in no other session", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const owner = yield* signedIn(house)
      const elsewhere = yield* signedIn(house)
      yield* TestClock.adjust("299 seconds")
      expect(shownOn(yield* send(owner, keys, newKey))).not.toBe("")
      yield* TestClock.adjust("1 second")
      expect(pageName(yield* send(owner, keys, newKey))).toBe("confirm-password")

      const confirmed = yield* send(owner, keys, { ...newKey, confirm_password: password })
      expect(shownOn(confirmed)).not.toBe("")
      yield* TestClock.adjust("299 seconds")
      expect(shownOn(yield* send(owner, keys, newKey))).not.toBe("")
      expect((yield* send(owner, members, { action: "invite", email: "", role: "member" })).status).toBe(200)
      expect(pageName(yield* send(elsewhere, keys, newKey))).toBe("confirm-password")
      yield* TestClock.adjust("1 second")
      expect(pageName(yield* send(owner, keys, newKey))).toBe("confirm-password")
    }))

  test("counts for nothing beside a form of another page, or once the session has ended", () =>
    inHouse(function* (house) {
      const { owner } = yield* lived(house)
      const verified = house.hashed.verify
      const fields = { ...newKey, confirm_password: password }
      const forged = yield* owner.send("POST", keys, { ...fields, csrf: "forged" })
      expect([forged.status, pageName(forged)]).toEqual([403, "error-form-expired"])
      const { csrf = "" } = hiddenFields((yield* owner.get(keys)).body)
      yield* owner.send("POST", "/logout", { csrf })
      const late = yield* owner.send("POST", keys, { ...fields, csrf })
      expect(header(late, "location")).toStartWith("/login?")
      expect(house.hashed.verify).toBe(verified)
    }))

  test("is guessed as slowly as at the sign-in", () => {
    const { limiter, taken } = watchedLimiter()
    return inHouse(
      function* (house) {
        const { owner } = yield* lived(house)
        taken.splice(0)
        const guess = (confirm_password: string) => send(owner, keys, { ...newKey, confirm_password })
        for (let times = 0; times < 5; times++) expect((yield* guess("not it")).status).toBe(403)
        const verified = house.hashed.verify
        const late = yield* guess(password)
        expect([late.status, pageName(late)]).toEqual([429, "rate-limited"])
        expect(house.hashed.verify).toBe(verified)
        // Nobody in the owner's network can spend what the owner guesses by, or confirms by.
        expect(taken.map((key) => key.split(" ", 1)[0])).toEqual(Array(6).fill("account"))
        yield* TestClock.adjust("1 second")
        expect(shownOn(yield* guess(password))).not.toBe("")
      },
      { limiter }
    )
  })
})
