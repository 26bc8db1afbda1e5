import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeRecords } from "../../core/engine/Records.ts"
import {
  type Account,
  type Active,
  type Email,
  loginIdOf,
  loginKind,
  personNameLength
} from "../../core/people/Account.ts"
import { ensureOwner } from "../../core/people/firstOwner.ts"
import { removeAccount, tellRevoked } from "../../core/people/removal.ts"
import type { Storage } from "../../core/ports/Storage.ts"
import { PlaceId } from "../../core/rules/Id.ts"
import { currentInstant } from "../../core/rules/Instant.ts"
import { seed } from "../adapters/seed.ts"
import { addAccount, Browser, type House, inHouse, password, secret } from "./House.ts"
import { atOnce, jostling, mortal } from "./stores.ts"

const draft = (email: string) => ({ email, name: "", role: "owner", password: secret(password) }) as const

const members = (house: House) =>
  Effect.map(house.accounts.book.list(house.workspace.id, { after: undefined, limit: 1000 }), ({ values }) =>
    values.filter((account): account is Active => account._tag === "Active")
  )

/** All listed people can sign in, and each to their own account. */
const reachable = Effect.fnUntraced(function* (house: House) {
  const all = yield* members(house)
  for (const account of all) {
    expect((yield* house.accounts.book.byEmail(house.workspace.id, account.email))?.id).toBe(account.id)
  }
  return all
})

const tags = (results: ReadonlyArray<{ readonly _tag: string; readonly failure?: unknown }>) =>
  results.map((result) =>
    result._tag === "Success"
      ? "opened"
      : typeof result.failure === "object" && result.failure !== null && "reason" in result.failure
        ? String(result.failure.reason)
        : String(result.failure)
  )

describe("opening an account", () => {
  test("gives each person an id of their own, and none to an email that has one", () =>
    inHouse(function* (house) {
      const ada = yield* addAccount(house)
      const bob = yield* addAccount(house, "bob@example.com")
      expect(ada.id).toMatch(/^[\w-]{22}$/)
      expect(bob.id).not.toBe(ada.id)
      // An owner made the account, so its person has not signed in yet.
      expect([ada.signedInAt, bob.signedInAt]).toEqual([null, null])
      const again = yield* Effect.flip(addAccount(house, "ADA@example.com "))
      expect(again).toMatchObject({ _tag: "AccountRefusal", reason: "email_taken" })
      expect(yield* reachable(house)).toHaveLength(2)
    }))

  test("refuses what is no email, no name and no password", () =>
    inHouse(function* (house) {
      const { open } = house.accounts
      const refusal = (change: Partial<Record<"email" | "name", string>>, typed = password) =>
        Effect.map(
          Effect.flip(open(house.workspace.id, { ...draft("ada@example.com"), ...change, password: secret(typed) })),
          (failure) => ("reason" in failure ? failure.reason : failure._tag)
        )
      for (const email of [
        "",
        "ada",
        "@",
        "ada@",
        "@example.com",
        "a b@example.com",
        "a@b@c",
        `${"a".repeat(251)}@b.c`
      ]) {
        expect(yield* refusal({ email })).toBe("email_malformed")
      }
      for (const unseen of ["\u202e", "\u034f", "\u115f", "\u17b4", "\u180b", "\u3164", "\ufe0f", "\u{e0100}"]) {
        expect([unseen, yield* refusal({ email: `a${unseen}@example.com` })]).toEqual([unseen, "email_malformed"])
        expect([unseen, yield* refusal({ email: `a@exam${unseen}ple.com` })]).toEqual([unseen, "email_malformed"])
      }
      expect(yield* refusal({ name: "n".repeat(101) })).toBe("name_too_long")
      expect(yield* refusal({}, "")).toBe("password_too_short")
      expect(yield* refusal({}, "ninechars")).toBe("password_too_short")
      expect(yield* refusal({}, "ﬁﬁﬁﬁ")).toBe("password_too_short")
      expect(yield* refusal({}, "é".repeat(513))).toBe("password_too_long")
      for (const plain of [" ".repeat(10), " \t\u00a0\u3000 ".repeat(3), "a".repeat(10), "ｘ".repeat(9).concat("x")]) {
        expect([plain, yield* refusal({}, plain)]).toEqual([plain, "password_too_plain"])
      }
      expect(yield* refusal({}, "Ada@Example.com")).toBe("password_is_email")
      expect(yield* refusal({ email: "adalovelace@example.com" }, "AdaLovelace")).toBe("password_is_email")
      expect(house.hashed.hash).toBe(0)
      expect(yield* members(house)).toEqual([])
      yield* open(house.workspace.id, { ...draft("ada@example.com"), password: secret(`ab${"é".repeat(511)}`) })
      yield* open(house.workspace.id, { ...draft("bob@example.com"), name: "Bob\u0000\ud800\u2028 B" })
      expect((yield* reachable(house)).map(({ name }) => name).sort()).toEqual(["Bob B", null])
    }))
})

test("accounts are opened for many networks at once, and for one as far as its share of the hashes goes", () =>
  inHouse(
    function* (house) {
      const openFrom = (name: string, network: string | undefined) =>
        Effect.result(
          house.accounts.open(house.workspace.id, {
            ...draft(`${name}@example.com`),
            ...(network === undefined ? {} : { network })
          })
        )
      const crowd = Array.from({ length: 12 }, (_, index) => index)
      const from = (network: (index: number) => string | undefined) =>
        Effect.map(
          atOnce(crowd.map((index) => openFrom(`p${index}.${network(index) ?? "none"}`, network(index)))),
          (results) => results.filter(({ _tag }) => _tag === "Success").length
        )
      expect(yield* from((index) => `192.0.2.${index}`)).toBe(12)
      expect(yield* from(() => undefined)).toBe(12)
      expect(yield* from(() => "198.51.100.1")).toBe(8)
    },
    { hasher: (below) => ({ ...below, hash: (typed) => Effect.delay(below.hash(typed), 10) }) }
  ))

describe("opening an account that a crash interrupts", () => {
  const open = (house: House, id: Active["id"], email: string) =>
    house.accounts.open(house.workspace.id, draft(email), id)

  for (const writes of [0, 1, 2, 3]) {
    const crashed = (house: House, life: { writes: number }, id: Active["id"]) =>
      Effect.gen(function* () {
        life.writes = writes
        const first = yield* Effect.result(open(house, id, "ada@example.com"))
        expect(first._tag).toBe(writes < 3 ? "Failure" : "Success")
        life.writes = Number.POSITIVE_INFINITY
        expect(yield* reachable(house)).toHaveLength(writes < 3 ? 0 : 1)
      })

    test(`after ${writes} writes can be done again by the same link`, () => {
      const life = { writes: Number.POSITIVE_INFINITY }
      return inHouse(
        function* (house) {
          const id = house.accounts.book.newId()
          yield* crashed(house, life, id)
          const again = yield* Effect.result(open(house, id, "ada@example.com"))
          expect(tags([again])).toEqual([writes < 3 ? "opened" : "link_spent"])
          expect(yield* reachable(house)).toHaveLength(1)
          expect((yield* new Browser(house).signIn()).status).toBe(303)
        },
        { storage: mortal(life) }
      )
    })

    test(`after ${writes} writes leaves the link good for another email, and the email for another account`, () => {
      const life = { writes: Number.POSITIVE_INFINITY }
      return inHouse(
        function* (house) {
          const id = house.accounts.book.newId()
          yield* crashed(house, life, id)
          const other = yield* Effect.result(open(house, id, "other@example.com"))
          const first = new Browser(house)
          expect((yield* first.signIn()).status).toBe(writes < 3 ? 403 : 303)
          const elsewhere = yield* Effect.result(addAccount(house))
          expect(tags([other, elsewhere])).toEqual(writes < 3 ? ["opened", "opened"] : ["link_spent", "email_taken"])
          expect(yield* reachable(house)).toHaveLength(writes < 3 ? 2 : 1)
        },
        { storage: mortal(life) }
      )
    })

    test(`after ${writes} writes is made good by the next start`, () => {
      const life = { writes }
      return inHouse(
        function* (house) {
          const owner = { email: "ada@example.com", password: secret(password) }
          yield* Effect.result(ensureOwner(house.accounts, house.workspace, owner))
          life.writes = Number.POSITIVE_INFINITY
          const next = yield* ensureOwner(house.accounts, house.workspace, owner)
          expect(next).toBe(writes < 3 ? "made" : "present")
          expect(yield* ensureOwner(house.accounts, house.workspace, owner)).toBe("present")
          expect(yield* reachable(house)).toHaveLength(1)
          expect((yield* new Browser(house).signIn()).status).toBe(303)
        },
        { storage: mortal(life) }
      )
    })
  }

  test("opens nothing once its id is blocked, however far it got", () => {
    const life = { writes: 1 }
    return inHouse(
      function* (house) {
        const { book, open } = house.accounts
        const id = book.newId()
        const opening = open(house.workspace.id, draft("ada@example.com"), id)
        yield* Effect.result(opening)
        life.writes = Number.POSITIVE_INFINITY
        expect((yield* book.find(house.workspace.id, id))?._tag).toBe("Reserved")
        expect(yield* book.block(house.workspace.id, id, yield* currentInstant)).toBe(true)
        expect(yield* Effect.flip(opening)).toMatchObject({ reason: "link_spent" })
        expect(yield* book.block(house.workspace.id, id, yield* currentInstant)).toBe(true)
      },
      { storage: mortal(life) }
    )
  })

  test("leaves nothing that is not swept", () => {
    const life = { writes: 1 }
    return inHouse(
      function* (house) {
        yield* Effect.result(addAccount(house))
        life.writes = Number.POSITIVE_INFINITY
        yield* TestClock.adjust("1 day")
        expect(yield* house.storage.sweep(yield* currentInstant, 10)).toBe(1)
      },
      { storage: mortal(life) }
    )
  })
})

/** The store, with something that happens before a login is read or written. */
const before =
  (meanwhile: { read?: Effect.Effect<unknown>; write?: Effect.Effect<unknown> }) =>
  (below: Storage["Service"]): Storage["Service"] => ({
    ...below,
    get: (key) => Effect.andThen(key.kind === "login" ? (meanwhile.read ?? Effect.void) : Effect.void, below.get(key)),
    insert: (record) =>
      Effect.andThen(record.kind === "login" ? (meanwhile.write ?? Effect.void) : Effect.void, below.insert(record))
  })

describe("an email", () => {
  const email = "bob@example.com" as Email

  /** Takes them as far out as the store lets it. */
  const forgotten = Effect.fnUntraced(function* (house: House, { id }: Active) {
    const since = yield* currentInstant
    const left = yield* house.accounts.book.change(house.workspace.id, id, (account) => ({
      ...account,
      _tag: "Leaving",
      since
    }))
    yield* Effect.ignore(house.accounts.book.forget(house.workspace.id, left as never, since))
  })

  test("is free where the account that had it is gone, also where a crash left it theirs, and at no other time", () => {
    const life = { writes: Number.POSITIVE_INFINITY }
    return inHouse(
      function* (house) {
        const { book } = house.accounts
        const tagOf = (id: Active["id"]) => Effect.map(book.find(house.workspace.id, id), (found) => found?._tag)
        const again = Effect.map(Effect.result(addAccount(house, email, "member")), (result) => tags([result])[0])
        for (const role of ["owner", "member"] as const) {
          const bob = yield* addAccount(house, email, role)
          expect([role, yield* again]).toEqual([role, "email_taken"])
          life.writes = 2
          yield* forgotten(house, bob)
          life.writes = Number.POSITIVE_INFINITY
          expect([role, yield* tagOf(bob.id), yield* again]).toEqual([role, "Gone", "opened"])
          const next = (yield* book.byEmail(house.workspace.id, email)) ?? expect.unreachable()
          life.writes = 2
          yield* forgotten(house, next)
          life.writes = Number.POSITIVE_INFINITY
          yield* TestClock.adjust("500 days")
          yield* house.storage.sweep(yield* currentInstant, 10)
          expect([role, yield* tagOf(next.id), yield* again]).toEqual([role, undefined, "opened"])
          yield* forgotten(house, (yield* book.byEmail(house.workspace.id, email)) ?? expect.unreachable())
        }
      },
      { storage: mortal(life) }
    )
  })

  test("of a person who is gone is marked as unused, unless it is another person's by then, or lost", () =>
    inHouse(function* (house) {
      const { id: workspace } = house.workspace
      const logins = makeRecords(house.storage, loginKind)
      const login = loginIdOf(email)
      const kept = Effect.map(logins.get(workspace, login), (found) => found?.value)
      const bob = yield* addAccount(house, email, "member")
      expect(yield* kept).toEqual({ id: login, account: bob.id, vacatedAt: null })
      yield* TestClock.adjust("1 minute")
      yield* forgotten(house, bob)
      expect(yield* kept).toEqual({ id: login, account: null, vacatedAt: yield* currentInstant })

      const left = yield* addAccount(house, email, "member")
      const since = yield* currentInstant
      const leaving: Account = { ...left, _tag: "Leaving", since }
      yield* house.accounts.book.change(workspace, left.id, () => leaving)
      const heir = yield* addAccount(house, email, "member")
      yield* house.accounts.book.forget(workspace, leaving, since)
      expect(yield* kept).toEqual({ id: login, account: heir.id, vacatedAt: null })

      yield* logins.remove(workspace, login)
      yield* forgotten(house, heir)
      expect(yield* kept).toBeUndefined()
    }))

  test("opens no account whose reservation was blocked, lost or taken meanwhile", () => {
    const meanwhile: Parameters<typeof before>[0] = {}
    return inHouse(
      function* (house) {
        const { book, open } = house.accounts
        const { id: workspace } = house.workspace
        const happenings: Readonly<Record<string, (id: Active["id"]) => Effect.Effect<unknown, unknown>>> = {
          blocked: (id) => Effect.flatMap(currentInstant, (now) => book.block(workspace, id, now)),
          lost: (id) => house.storage.remove({ workspace, kind: "account", id }),
          taken: (id) => open(workspace, draft("other@example.com"), id)
        }
        for (const [what, happens] of Object.entries(happenings)) {
          const id = book.newId()
          meanwhile.write = Effect.suspend(() => {
            delete meanwhile.write
            return Effect.orDie(happens(id))
          })
          const opened = yield* Effect.result(open(workspace, draft(`${what}@example.com`), id))
          expect([what, tags([opened])]).toEqual([what, ["link_spent"]])
        }
        expect((yield* reachable(house)).map((account) => account.email as string)).toEqual(["other@example.com"])
      },
      { storage: before(meanwhile) }
    )
  })

  test("that changes hands at each look is given up, not sought for ever", () => {
    const meanwhile: Parameters<typeof before>[0] = {}
    return inHouse(
      function* (house) {
        const { id: workspace } = house.workspace
        const logins = makeRecords(house.storage, loginKind)
        const login = loginIdOf(email)
        let looks = 0
        const changed = Effect.suspend(() =>
          looks++ % 2 === 0
            ? logins.insert(
                workspace,
                { id: login, account: house.accounts.book.newId(), vacatedAt: null },
                `command ${looks}`
              )
            : logins.remove(workspace, login)
        )
        meanwhile.read = Effect.orDie(changed)
        expect(yield* Effect.flip(addAccount(house, email))).toMatchObject({ _tag: "Contended" })
        expect(looks).toBe(16)
        delete meanwhile.read
        yield* addAccount(house, email)
        expect(yield* reachable(house)).toHaveLength(1)
      },
      { storage: before(meanwhile) }
    )
  })
})

describe("accounts that are opened at once", () => {
  const runs = 60
  const crowd = [0, 1, 2, 3, 4]

  test(`with one email: one is opened, and its owner can sign in (seed ${seed})`, async () => {
    for (let run = 0; run < runs; run++) {
      await inHouse(
        function* (house) {
          const results = yield* atOnce(crowd.map(() => Effect.result(addAccount(house))))
          const outcomes = tags(results).sort()
          expect({ seed, run, outcomes }).toEqual({
            seed,
            run,
            outcomes: [...Array.from({ length: crowd.length - 1 }, () => "email_taken"), "opened"]
          })
          expect(yield* reachable(house)).toHaveLength(1)
        },
        { storage: jostling(`email ${seed} ${run}`), seed: `email ${seed} ${run}` }
      )
    }
  })

  test(`with one id, as by one link: one is opened, and no email is lost (seed ${seed})`, async () => {
    for (let run = 0; run < runs; run++) {
      await inHouse(
        function* (house) {
          const id = house.accounts.book.newId()
          const results = yield* atOnce(
            crowd.map((person) =>
              Effect.result(house.accounts.open(house.workspace.id, draft(`p${person}@example.com`), id))
            )
          )
          const opened = tags(results).filter((tag) => tag === "opened").length
          expect({ seed, run, opened }).toEqual({ seed, run, opened: 1 })
          const [winner] = yield* reachable(house)
          for (const person of crowd) {
            const email = `p${person}@example.com`
            if (email !== winner?.email) yield* addAccount(house, email)
          }
          expect(yield* reachable(house)).toHaveLength(crowd.length)
        },
        { storage: jostling(`id ${seed} ${run}`), seed: `id ${seed} ${run}` }
      )
    }
  })

  test(`by the configuration of several processes: one owner (seed ${seed})`, async () => {
    for (let run = 0; run < runs; run++) {
      await inHouse(
        function* (house) {
          const owner = { email: "ada@example.com", password: secret(password) }
          const results = yield* atOnce(crowd.map(() => ensureOwner(house.accounts, house.workspace, owner)))
          expect(results.filter((result) => result === "made")).toHaveLength(1)
          expect(yield* reachable(house)).toHaveLength(1)
        },
        { storage: jostling(`owner ${seed} ${run}`), seed: `owner ${seed} ${run}` }
      )
    }
  })
})

describe("what is done to an account", () => {
  test("is noted where it signs in, by being opened too", () =>
    inHouse(function* (house) {
      const { accounts, workspace } = house
      const opened = yield* accounts.open(workspace.id, draft("ada@example.com"))
      const signed = yield* accounts.open(workspace.id, { ...draft("bob@example.com"), signsIn: true })
      expect([opened.signedInAt, signed.signedInAt]).toEqual([null, yield* currentInstant])
    }))

  test("takes a name as people write it, without what cannot be shown, so many characters at most", () =>
    inHouse(function* (house) {
      const { id } = yield* addAccount(house)
      const named = (typed: string) =>
        Effect.match(house.accounts.rename(house.workspace.id, id, typed), {
          onSuccess: ({ name }) => name,
          onFailure: (fault) => ("reason" in fault ? fault.reason : fault._tag)
        })
      const most = "\u{1f600}".repeat(personNameLength)
      const rows: ReadonlyArray<readonly [string, string | null]> = [
        ["  Ada \n\t Lovelace\u0007 ", "Ada Lovelace"],
        ["Zoe\u0308", "Zo\u00eb"],
        ["A\ud800b", "A b"],
        [" \u0000 ", null],
        ["", null],
        [` ${most} `, most],
        [`${most}a`, "name_too_long"]
      ]
      for (const [typed, name] of rows) expect([typed, yield* named(typed)]).toEqual([typed, name])
    }))

  test("is refused where its person was removed while the new password was hashed, for person and owner alike", () => {
    let meanwhile: Effect.Effect<unknown> = Effect.void
    return inHouse(
      function* (house) {
        const { accounts, services, workspace } = house
        const farewell = { logouts: services.logouts, why: "by_owner" } as const
        const since = yield* currentInstant
        const outcomes = []
        for (const asked of [false, true]) {
          const ada = yield* addAccount(house)
          meanwhile = Effect.orDie(
            accounts.book.change(workspace.id, ada.id, (account) => ({
              ...account,
              _tag: "Leaving",
              since,
              role: "member"
            }))
          )
          const epoch = asked ? ada.epoch : undefined
          const changed = accounts.changePassword(workspace, ada.id, secret("another long password"), farewell, epoch)
          outcomes.push(yield* Effect.flip(changed))
          meanwhile = Effect.void
        }
        expect(outcomes).toMatchObject([{ reason: "unknown" }, { reason: "wrong_password" }])
      },
      { hasher: (below) => ({ ...below, hash: (typed) => Effect.tap(below.hash(typed), () => meanwhile) }) }
    )
  })

  test("is refused once another password was set than the one that was given, or it is gone", () =>
    inHouse(function* (house) {
      const { accounts, services, workspace } = house
      const farewell = { logouts: services.logouts, why: "by_user" } as const
      const ada = yield* addAccount(house)
      const change = (id: Active["id"], confirmed?: Active["epoch"]) =>
        Effect.match(accounts.changePassword(workspace, id, secret("another long password"), farewell, confirmed), {
          onSuccess: ({ epoch }) => epoch,
          onFailure: (fault) => ("reason" in fault ? fault.reason : fault._tag)
        })
      expect(yield* change(ada.id, ada.epoch)).toBe(ada.epoch + 1)
      expect(yield* change(ada.id, ada.epoch)).toBe("wrong_password")
      expect(yield* change(ada.id)).toBe(ada.epoch + 2)
      const nobody = accounts.book.newId()
      expect([yield* change(nobody), yield* change(nobody, ada.epoch)]).toEqual(["unknown", "unknown"])
      expect(yield* Effect.flip(accounts.rename(workspace.id, nobody, "Bob"))).toMatchObject({ reason: "unknown" })
    }))

  test("leaves all else of the account as it is, and so does each other change", () =>
    inHouse(function* (house) {
      const { accounts, services, workspace } = house
      const farewell = { logouts: services.logouts, why: "by_user" } as const
      const { email, id } = yield* addAccount(house)
      const [here, left] = [PlaceId.make("mill"), PlaceId.make("farm")]
      const since = yield* currentInstant
      yield* accounts.book.change(workspace.id, id, (account) => ({
        ...account,
        places: [{ id: here, label: "Mill" }],
        leftPlaces: [{ id: left, since }],
        endsSessions: true
      }))
      yield* TestClock.adjust(1000)
      const typed = { email, password: secret(password), network: undefined, device: undefined }
      const signIn = Effect.flatMap(currentInstant, (now) => accounts.signIn(workspace.id, typed, now))
      const telling = tellRevoked(services, () => Effect.void)
      const kept = Effect.map(accounts.book.find(workspace.id, id), (found) => new Map(Object.entries(found ?? {})))
      const changes = [
        [["signedInAt"], Effect.asVoid(signIn)],
        [["name"], Effect.asVoid(accounts.rename(workspace.id, id, "Ada King"))],
        // The last owner's removal is taken back.
        [[], Effect.asVoid(Effect.flip(removeAccount(accounts, telling, workspace, id, Effect.void)))],
        [
          ["endsSessions", "epoch", "password"],
          Effect.asVoid(accounts.changePassword(workspace, id, secret("another long password"), farewell))
        ]
      ] as const
      for (const [changed, change] of changes) {
        const before = yield* kept
        yield* change
        const after = yield* kept
        const differ = [...new Set([...before.keys(), ...after.keys()])].filter(
          (name) => JSON.stringify(before.get(name)) !== JSON.stringify(after.get(name))
        )
        expect(differ.sort()).toEqual([...changed])
      }
    }))
})
