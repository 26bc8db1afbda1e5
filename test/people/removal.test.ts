import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { accountKind, loginKind } from "../../core/people/Account.ts"
import { hasAccounts } from "../../core/people/firstOwner.ts"
import { finishRemovals, removeAccount, tellRevoked } from "../../core/people/removal.ts"
import { sessionsOwner } from "../../core/people/Sessions.ts"
import { StorageUnavailable } from "../../core/ports/Storage.ts"
import { ClientId, grantIdOf, UserId } from "../../core/rules/Id.ts"
import { currentInstant, Instant, later } from "../../core/rules/Instant.ts"
import { RedirectTarget } from "../../core/rules/RedirectUri.ts"
import { allScopes } from "../../core/rules/Scope.ts"
import { digestOf } from "../../core/rules/Secret.ts"
import { seed } from "../adapters/seed.ts"
import { type Away, partlyAway } from "../given/countingStorage.ts"
import { DocumentsWeb } from "../given/documentsWeb.ts"
import { authorizeTarget, header, hiddenFields, jsonOf, redeem, registerClient, returned, text } from "../given/flow.ts"
import { noticeOn } from "../given/page.ts"
import { t0, theWorkspace } from "../given/World.ts"
import { addAccount, Browser, type House, inHouse, secret } from "./House.ts"
import { atOnce, jostling, mortal } from "./stores.ts"

const untold = (house: House) => tellRevoked(house.services, () => Effect.void)

const remove = (house: House, id: UserId) =>
  removeAccount(house.accounts, untold(house), house.workspace, id, Effect.void)

const finish = (house: House) => finishRemovals(house.accounts, untold(house), house.workspace)

const tagOf = (house: House, id: UserId) =>
  Effect.map(house.accounts.book.find(house.workspace.id, id), (account) => account?._tag)

/** The access token of an application that the browser's person connects. */
const connect = Effect.fnUntraced(function* (house: House, browser: Browser, scope = "api profile") {
  const client = yield* registerClient(house, { backchannel_logout_uri: "https://app.example.org/logout" })
  const page = yield* browser.get(authorizeTarget(client, { scope }))
  const answer = yield* browser.send("POST", "/consent", { ...hiddenFields(page.body), decision: "approve" })
  const issued = yield* redeem(house, client, text(returned(answer).get("code")))
  return text(jsonOf(issued).access_token)
})

/** What a request still writes that found its person signed in before the removal began. */
const lateConsent = Effect.fnUntraced(function* (house: House, user: UserId) {
  const client = yield* registerClient(house)
  const id = grantIdOf(house.services.entropy.bytes(16))
  const approved = {
    client: ClientId.make(client.id),
    user,
    redirectUri: RedirectTarget.make(client.redirectUri),
    challenge: null,
    scope: allScopes(house.services.policy.scopes),
    resources: null
  }
  yield* house.services.grants.begin(house.workspace, approved, id)
  return id
})

const works = (house: House, token: string) =>
  Effect.map(
    house.send("GET", "/rest/companies", { headers: { authorization: `Bearer ${token}` } }),
    ({ status }) => status === 200
  )

describe("removing a person", () => {
  test("ends their sessions, their sign-in and every application that they connected", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      const browser = new Browser(house)
      yield* browser.signIn("bob@example.com")
      const tokens = [yield* connect(house, browser), yield* connect(house, browser)]
      for (const token of tokens) expect(yield* works(house, token)).toBe(true)
      yield* remove(house, bob.id)
      for (const token of tokens) expect(yield* works(house, token)).toBe(false)
      expect((yield* browser.get("/settings/profile")).status).toBe(303)
      expect((yield* browser.signIn("bob@example.com")).status).toBe(403)
      expect((yield* house.services.owner.profile(house.workspace, bob.id))._tag).toBe("None")
    }))

  test("is told grant by grant where an owner does it", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      const browser = new Browser(house)
      yield* browser.signIn("bob@example.com")
      for (let count = 0; count < 2; count++) yield* connect(house, browser)
      const begun = house.audit.flatMap(({ event }) => (event._tag === "ConsentGiven" ? [event.grant] : []))
      const owner = new Browser(house)
      yield* owner.signIn()
      yield* owner.submit("/settings/members", { action: "remove", id: bob.id })
      const ended = house.audit.flatMap(({ event }) => (event._tag === "GrantRevoked" ? [event] : []))
      expect(ended.map(({ grant }) => grant).toSorted()).toEqual(begun.toSorted())
      expect(ended.map(({ by, why }) => [by, why])).toEqual(Array(2).fill([ada.id, "by_owner"]))
    }))

  test("is told and noted once, though what they allowed could only be revoked later", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        const ada = yield* addAccount(house)
        const bob = yield* addAccount(house, "bob@example.com", "member")
        const browser = new Browser(house)
        yield* browser.signIn("bob@example.com")
        const token = yield* connect(house, browser)
        const owner = new Browser(house)
        yield* owner.signIn()
        away.add("list grant")
        const removed = yield* owner.submit("/settings/members", { action: "remove", id: bob.id })
        expect(header(removed, "location")).toBe("/settings/members?done=removing")
        expect(noticeOn(yield* owner.get("/settings/members?done=removing"))).toBe("done")
        expect((yield* browser.get("/settings/profile")).status).toBe(303)
        expect(house.log.filter((line) => line.includes('"fault"'))).toEqual([
          expect.stringContaining(`"account":"${bob.id}"`)
        ])
        expect(yield* works(house, token)).toBe(true)
        away.clear()
        yield* finish(house)
        expect(yield* works(house, token)).toBe(false)
        const told = house.audit.flatMap(({ event }) => (event._tag.startsWith("Account") ? [event] : []))
        expect(told).toEqual([{ _tag: "AccountChanged", account: bob.id, change: "removed", by: ada.id }])
      },
      { storage: partlyAway(away) }
    )
  })

  test("ends more grants than fit on one page of a listing", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      const browser = new Browser(house)
      yield* browser.signIn("bob@example.com")
      const tokens: Array<string> = []
      for (let count = 0; count < 120; count++) tokens.push(yield* connect(house, browser))
      yield* remove(house, bob.id)
      for (const token of tokens) expect(yield* works(house, token)).toBe(false)
    }))

  test("tells no grant that another process has ended meanwhile", () =>
    inHouse(function* (house) {
      const told: Array<string> = []
      for (const outcome of ["revoked", "was_revoked", "unknown"] as const) {
        const { services } = house
        const grants = { ...services.grants, revokeGrant: () => Effect.succeed(outcome) }
        const { revokeGrant } = tellRevoked({ grants, logouts: services.logouts }, () =>
          Effect.sync(() => void told.push(outcome))
        )
        expect(yield* revokeGrant(theWorkspace.id, grantIdOf(new Uint8Array(16)), "by_owner")).toBe(outcome)
      }
      expect(told).toEqual(["revoked"])
    }))

  test("forgets no person whom another process has let back in meanwhile", () =>
    inHouse(function* (house) {
      const { book } = house.accounts
      const { id } = yield* addAccount(house)
      const since = yield* currentInstant
      const left = yield* book.change(house.workspace.id, id, (account) => ({ ...account, _tag: "Leaving", since }))
      if (left?._tag !== "Leaving") throw new Error(`the account is ${left?._tag}`)
      yield* book.restore(house.workspace.id, left)
      yield* book.forget(house.workspace.id, left, since)
      expect(yield* tagOf(house, id)).toBe("Active")
      expect((yield* new Browser(house).signIn()).status).toBe(303)
    }))

  test("leaves no session in the store, however many there were", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      for (let session = 0; session < 101; session++) {
        yield* house.accounts.sessions.start(house.workspace.id, bob, yield* currentInstant)
      }
      yield* remove(house, bob.id)
      const left = yield* house.storage.list({
        workspace: house.workspace.id,
        kind: "session",
        owner: sessionsOwner(bob.id),
        after: undefined,
        limit: 1
      })
      expect(left.records).toEqual([])
    }))

  test("frees an owner's email only once no owner can take the removal back, and a member's at once", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const since = yield* currentInstant
      for (const [email, role, outcome] of [
        ["bob@example.com", "owner", "Failure"],
        ["eve@example.com", "member", "Success"]
      ] as const) {
        const { id } = yield* addAccount(house, email, role)
        yield* house.accounts.book.change(house.workspace.id, id, (account) => ({
          ...account,
          _tag: "Leaving",
          since
        }))
        expect([email, (yield* Effect.result(addAccount(house, email)))._tag]).toEqual([email, outcome])
      }
    }))

  test("keeps the id for 400 days more, so that it never names another person, and the login for one", () => {
    const at = Instant.make(t0)
    const day = 24 * 60 * 60 * 1000
    const id = UserId.make("bob")
    expect(accountKind.expiresAt({ _tag: "Gone", id, at })).toBe(later(at, 400 * day))
    expect(loginKind.expiresAt({ id: digestOf("bob"), account: null, vacatedAt: at })).toBe(later(at, day))
    expect(loginKind.expiresAt({ id: digestOf("bob"), account: id, vacatedAt: null })).toBeNull()
  })

  test("frees the email, for an account with another id", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      yield* remove(house, bob.id)
      const next = yield* addAccount(house, "bob@example.com", "member")
      expect(next.id).not.toBe(bob.id)
      yield* TestClock.adjust("1 hour")
      expect(yield* finish(house)).toBe(1)
      expect((yield* new Browser(house).signIn("bob@example.com")).status).toBe(303)
      expect(yield* tagOf(house, bob.id)).toBe("Gone")
    }))

  test("takes no invitation of the owner as whom a member comes back", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      yield* remove(house, bob.id)
      yield* addAccount(house, "bob@example.com", "owner")
      const browser = new Browser(house)
      yield* browser.signIn("bob@example.com")
      const made = yield* browser.submit("/settings/members", { action: "invite", email: "", role: "member" })
      const link = /\/invite\?token=[\w-]{43}/.exec(made.body)?.[0] ?? ""
      yield* finish(house)
      expect((yield* new Browser(house).get(link)).status).toBe(200)
      yield* TestClock.adjust("15 minutes")
      expect(yield* finish(house)).toBe(1)
      expect((yield* new Browser(house).get(link)).status).toBe(200)
    }))

  test("catches a consent that was given while it went on", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      yield* remove(house, bob.id)
      const grant = yield* lateConsent(house, bob.id)
      expect(yield* tagOf(house, bob.id)).toBe("Leaving")
      expect(yield* finish(house)).toBe(0)
      expect((yield* house.services.grants.approvalOf(house.workspace, grant))._tag).toBe("Used")
      yield* TestClock.adjust(15 * 60 * 1000 - 1)
      expect(yield* finish(house)).toBe(0)
      yield* TestClock.adjust(1)
      expect(yield* finish(house)).toBe(1)
      expect(yield* tagOf(house, bob.id)).toBe("Gone")
    }))

  test("is refused for the last owner, who keeps everything", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      yield* addAccount(house, "bob@example.com", "member")
      const browser = new Browser(house)
      yield* browser.signIn()
      const refusal = yield* Effect.flip(remove(house, ada.id))
      expect(refusal).toMatchObject({ reason: "last_owner" })
      expect((yield* browser.get("/settings/members")).status).toBe(200)
      expect((yield* new Browser(house).signIn()).status).toBe(303)
      yield* addAccount(house, "eve@example.com")
      yield* remove(house, ada.id)
      expect((yield* browser.get("/settings/members")).status).toBe(303)
    }))

  test("is refused for who is no member", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com", "member")
      yield* remove(house, bob.id)
      expect(yield* Effect.flip(remove(house, bob.id))).toMatchObject({ reason: "unknown" })
      expect(yield* Effect.flip(remove(house, house.accounts.book.newId()))).toMatchObject({ reason: "unknown" })
    }))

  test("of an owner, where the store cannot say whether there is another, is taken back", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const bob = yield* addAccount(house, "bob@example.com")
        const browser = new Browser(house)
        yield* browser.signIn("bob@example.com")
        away.add("list account")
        expect(yield* Effect.flip(remove(house, bob.id))).toMatchObject({ _tag: "StorageUnavailable" })
        away.clear()
        expect(yield* tagOf(house, bob.id)).toBe("Active")
        expect((yield* browser.get("/settings/members")).status).toBe(200)
        yield* remove(house, bob.id)
        expect((yield* browser.get("/settings/members")).status).toBe(303)
        // For a member, the removal does not depend on who else is there.
        const eve = yield* addAccount(house, "eve@example.com", "member")
        away.add("list account")
        expect(yield* remove(house, eve.id)).toBe("removed")
      },
      { storage: partlyAway(away) }
    )
  })

  test("of an owner that can be neither finished nor taken back says of whom, and is settled by the next run", () => {
    const away: Away = new Set()
    let writes = Number.POSITIVE_INFINITY
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const bob = yield* addAccount(house, "bob@example.com")
        away.add("list account")
        writes = 1
        expect(yield* Effect.flip(remove(house, bob.id))).toMatchObject({ _tag: "StorageUnavailable" })
        writes = Number.POSITIVE_INFINITY
        expect(house.log.filter((line) => line.includes(`"account":"${bob.id}"`))).toHaveLength(1)
        expect(yield* tagOf(house, bob.id)).toBe("Leaving")
        away.clear()
        yield* TestClock.adjust("15 minutes")
        expect(yield* finish(house)).toBe(1)
        expect(yield* tagOf(house, bob.id)).toBe("Gone")
      },
      {
        storage: (below) => {
          const partly = partlyAway(away)(below)
          return {
            ...partly,
            replace: (expected, record) => {
              if (record.kind === "account" && writes-- <= 0) {
                return new StorageUnavailable({ outcome: "not_done", message: "the test said so" })
              }
              return partly.replace(expected, record)
            }
          }
        }
      }
    )
  })

  test("of a member goes on in a workspace that has no owner", () =>
    inHouse(function* (house) {
      const bob = yield* addAccount(house, "bob@example.com", "member")
      expect(yield* remove(house, bob.id)).toBe("removed")
      yield* TestClock.adjust("15 minutes")
      expect(yield* finish(house)).toBe(1)
      expect(yield* tagOf(house, bob.id)).toBe("Gone")
    }))

  test("takes every application's access though no session could be removed, and those count for nothing", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        yield* addAccount(house)
        const bob = yield* addAccount(house, "bob@example.com", "member")
        const browser = new Browser(house)
        yield* browser.signIn("bob@example.com")
        const token = yield* connect(house, browser)
        away.add("list session")
        yield* Effect.ignore(remove(house, bob.id))
        away.clear()
        expect(yield* works(house, token)).toBe(false)
        expect((yield* browser.get("/settings/profile")).status).toBe(303)
      },
      { storage: partlyAway(away) }
    )
  })

  test("is seen through by the next start, wherever a crash stopped it", async () => {
    let stopped = 0
    for (let writes = 0; writes < 12; writes++) {
      const life = { writes: Number.POSITIVE_INFINITY }
      await inHouse(
        function* (house) {
          yield* addAccount(house)
          const bob = yield* addAccount(house, "bob@example.com", "owner")
          const browser = new Browser(house)
          yield* browser.signIn("bob@example.com")
          const token = yield* connect(house, browser)
          life.writes = writes
          const removed = yield* Effect.result(remove(house, bob.id))
          life.writes = Number.POSITIVE_INFINITY
          if (removed._tag === "Failure" || removed.success === "removing") stopped++
          yield* finish(house)
          const isGone = (yield* tagOf(house, bob.id)) !== "Active"
          // Before its first write nothing has happened; from then on everything does.
          expect(isGone).toBe(writes > 0)
          expect(yield* works(house, token)).toBe(!isGone)
          expect((yield* new Browser(house).signIn("bob@example.com")).status).toBe(isGone ? 403 : 303)
        },
        { storage: mortal(life) }
      )
    }
    // Before the account's own write, the session's and the grant's.
    expect(stopped).toBe(3)
  })

  test("takes along the sessions that a new password ended and the store could not remove, once", () => {
    const away: Away = new Set()
    let looked = 0
    let changes = 0
    return inHouse(
      function* (house) {
        const ada = yield* addAccount(house)
        const flagOf = Effect.map(house.accounts.book.find(house.workspace.id, ada.id), (found) => {
          const account = found ?? expect.unreachable()
          return account._tag === "Active" && account.endsSessions === true
        })
        const listing = { kind: "session", workspace: house.workspace.id, owner: sessionsOwner(ada.id) } as const
        const kept = Effect.map(
          house.storage.list({ ...listing, after: undefined, limit: 10 }),
          ({ records }) => records.length
        )
        const changed = (password: string) =>
          house.accounts.changePassword(house.workspace, ada.id, secret(password), untold(house).farewell)
        yield* new Browser(house).signIn()
        away.add("list session")
        const first = yield* changed("another long password")
        const second = yield* changed("a third long password")
        away.clear()
        yield* new Browser(house).signIn("ada@example.com", "a third long password")
        expect([yield* flagOf, yield* kept]).toEqual([true, 2])
        const warned = house.log.filter((line) => line.includes(`"account":"${ada.id}"`))
        expect(warned.map((line) => line.includes('"fault":"StorageUnavailable"'))).toEqual([true, true])
        // A process that still ends those of the first change leaves those of the second to the next run.
        yield* house.accounts.finishSessions(house.workspace, first, untold(house).farewell)
        expect([yield* flagOf, yield* kept]).toEqual([true, 1])
        yield* finish(house)
        expect([yield* flagOf, yield* kept]).toEqual([false, 1])
        looked = 0
        changes = 0
        yield* finish(house)
        yield* house.accounts.finishSessions(house.workspace, second, untold(house).farewell)
        expect([looked, changes, yield* flagOf, yield* kept]).toEqual([1, 0, false, 1])
      },
      {
        storage: (below) => {
          const partly = partlyAway(away)(below)
          return {
            ...partly,
            list: (asked) => {
              if (asked.kind === "session") looked++
              return partly.list(asked)
            },
            replace: (expected, record) => {
              if (record.kind === "account") changes++
              return partly.replace(expected, record)
            }
          }
        }
      }
    )
  })

  test("and the end of sessions tell each sign-in at an application that ends, as an owner's doing", () => {
    const away: Away = new Set()
    return inHouse(
      function* (house) {
        const { accounts, services, workspace } = house
        const told: Array<ReadonlyArray<string>> = []
        const telling = tellRevoked(services, (grant, why) => Effect.sync(() => void told.push([grant, why])))
        const ada = yield* addAccount(house)
        const browser = new Browser(house)
        yield* browser.signIn()
        yield* connect(house, browser, "openid")
        const [grant = "none"] = house.audit.flatMap(({ event }) =>
          event._tag === "ConsentGiven" ? [event.grant] : []
        )
        away.add("list session")
        yield* accounts.changePassword(workspace, ada.id, secret("another long password"), telling.farewell)
        away.clear()
        expect(told).toEqual([])
        yield* finishRemovals(accounts, telling, workspace)
        expect(told).toEqual([[grant, "by_owner"]])
      },
      { storage: partlyAway(away), documents: new DocumentsWeb().layer() }
    )
  })

  test("that crashed with the last owner half out lets them back in", () => {
    const life = { writes: Number.POSITIVE_INFINITY }
    return inHouse(
      function* (house) {
        const ada = yield* addAccount(house)
        life.writes = 1
        yield* Effect.result(remove(house, ada.id))
        life.writes = Number.POSITIVE_INFINITY
        expect(yield* tagOf(house, ada.id)).toBe("Leaving")
        expect(yield* hasAccounts(house.accounts, house.workspace.id)).toBe(true)
        expect(yield* finish(house)).toBe(0)
        expect((yield* new Browser(house).signIn()).status).toBe(303)
      },
      { storage: mortal(life) }
    )
  })
})

describe("the last owner's removal", () => {
  test(`is refused and harms nothing, also while removals are finished (seed ${seed})`, async () => {
    for (let run = 0; run < 60; run++) {
      await inHouse(
        function* (house) {
          const ada = yield* addAccount(house)
          const browser = new Browser(house)
          yield* browser.signIn()
          const token = yield* connect(house, browser)
          const [refused] = yield* atOnce([
            Effect.result(remove(house, ada.id)),
            Effect.as(finish(house), undefined),
            Effect.as(Effect.andThen(finish(house), finish(house)), undefined)
          ])
          expect({ seed, run, refused: refused?._tag }).toEqual({ seed, run, refused: "Failure" })
          expect(yield* tagOf(house, ada.id)).toBe("Active")
          expect(yield* works(house, token)).toBe(true)
          expect((yield* browser.get("/settings/profile")).status).toBe(200)
        },
        { storage: jostling(`last ${seed} ${run}`), seed: `last ${seed} ${run}` }
      )
    }
  })
})

describe("owners who remove each other at once", () => {
  test(`never leave the workspace without an owner (seed ${seed})`, async () => {
    const outcomes = new Map<string, number>()
    for (let run = 0; run < 80; run++) {
      await inHouse(
        function* (house) {
          const owners = [
            yield* addAccount(house, "ada@example.com"),
            yield* addAccount(house, "bob@example.com"),
            ...(run % 2 === 0 ? [] : [yield* addAccount(house, "eve@example.com")])
          ]
          const others = run % 4 < 2 ? [] : [Effect.asVoid(finish(house))]
          yield* atOnce([...owners.map(({ id }) => Effect.ignore(remove(house, id))), ...others])
          yield* finish(house)
          const left: Array<string> = []
          for (const { email, id } of owners) {
            if ((yield* tagOf(house, id)) !== "Active") continue
            left.push(email)
            expect((yield* house.accounts.book.byEmail(house.workspace.id, email))?.id).toBe(id)
          }
          expect({ seed, run, isOwned: left.length > 0 }).toEqual({ seed, run, isOwned: true })
          const kind = `${left.length} of ${owners.length}`
          outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1)
        },
        { storage: jostling(`owners ${seed} ${run}`), seed: `owners ${seed} ${run}` }
      )
    }
    expect(outcomes.size).toBeGreaterThan(1)
  })
})

describe("an owner who saw the removal coming", () => {
  test("comes back by no invitation of their own", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const mallory = yield* addAccount(house, "mallory@example.com")
      const browser = new Browser(house)
      yield* browser.signIn("mallory@example.com")
      const made = yield* browser.submit("/settings/members", { action: "invite", email: "", role: "owner" })
      const link = /\/invite\?token=[A-Za-z0-9_-]{43}/.exec(made.body)?.[0] ?? ""
      expect((yield* new Browser(house).get(link)).status).toBe(200)
      const token = link.split("token=")[1] ?? ""
      const invitation =
        (yield* house.accounts.links.find(house.workspace.id, token, yield* currentInstant)) ?? expect.unreachable()

      yield* removeAccount(house.accounts, untold(house), house.workspace, mallory.id, Effect.void)
      expect((yield* new Browser(house).get(link)).status).toBe(410)
      const open = yield* house.accounts.links.list(house.workspace.id, "Invitation", { after: undefined, limit: 10 })
      expect(open.values).toEqual([])
      // Nor by a form that was on its way: the account that it would open cannot be opened any more.
      const { book } = house.accounts
      expect((yield* book.find(house.workspace.id, invitation.account))?._tag).toBe("Gone")
    }))

  test("leaves the invitations of others alone", () =>
    inHouse(function* (house) {
      yield* addAccount(house)
      const mallory = yield* addAccount(house, "mallory@example.com")
      const browser = new Browser(house)
      yield* browser.signIn()
      const made = yield* browser.submit("/settings/members", { action: "invite", email: "", role: "member" })
      const link = /\/invite\?token=[A-Za-z0-9_-]{43}/.exec(made.body)?.[0] ?? ""
      yield* removeAccount(house.accounts, untold(house), house.workspace, mallory.id, Effect.void)
      expect((yield* new Browser(house).get(link)).status).toBe(200)
    }))
})
