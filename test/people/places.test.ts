import { describe, expect, test } from "bun:test"
import { Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { activeOf } from "../../core/people/Account.ts"
import { type PlaceTyped, readPlace, removePlace, setPlace } from "../../core/people/places.ts"
import { finishRemovals, removeAccount, tellRevoked, withoutLeft } from "../../core/people/removal.ts"
import { ClientId, grantIdOf, PlaceId, type UserId } from "../../core/rules/Id.ts"
import { later } from "../../core/rules/Instant.ts"
import { RedirectTarget } from "../../core/rules/RedirectUri.ts"
import { allScopes, standardScopes } from "../../core/rules/Scope.ts"
import { seed } from "../adapters/seed.ts"
import { type Away, partlyAway } from "../given/countingStorage.ts"
import {
  authorizeTarget,
  hiddenFields,
  introspectBy,
  jsonOf,
  redeem,
  registerClient,
  returned,
  text
} from "../given/flow.ts"
import { addAccount, Browser, type House, inHouse } from "./House.ts"
import { atOnce, jostling, mortal } from "./stores.ts"

const untold = (house: House) => tellRevoked(house.services, () => Effect.void)

const finish = (house: House) => finishRemovals(house.accounts, untold(house), house.workspace)

const typed = (id: string, more: Partial<PlaceTyped> = {}): PlaceTyped => ({
  id,
  label: "",
  detail: "",
  scopes: [],
  ...more
})

const give = (house: House, user: UserId, id: string, more: Partial<PlaceTyped> = {}) => {
  const place = Result.getOrThrow(readPlace(typed(id, more), house.services.policy.scopes))
  return setPlace(house.accounts, untold(house), house.workspace.id, user, place)
}

const take = (house: House, user: UserId, place: string) =>
  removePlace(house.accounts, untold(house), house.workspace.id, user, place, Effect.void)

const accountOf = (house: House, id: UserId) =>
  Effect.map(house.accounts.book.find(house.workspace.id, id), (found) => activeOf(found) ?? expect.unreachable())

const idsOf = (house: House, id: UserId) =>
  Effect.map(accountOf(house, id), ({ places = [] }) => places.map((place) => place.id))

const leftBy = (house: House, id: UserId) =>
  Effect.map(accountOf(house, id), ({ leftPlaces = [] }) => leftPlaces.map((place) => place.id))

/** What an application has of the browser's person, at the place that they choose. */
const connect = Effect.fnUntraced(function* (house: House, browser: Browser, place?: string) {
  const client = yield* registerClient(house, { scope: "api profile" })
  const page = yield* browser.get(authorizeTarget(client, { scope: "api profile" }))
  const chosen = place === undefined ? {} : { place }
  const sent = { ...hiddenFields(page.body), ...chosen, decision: "approve" }
  const answer = yield* browser.send("POST", "/consent", sent)
  if (answer.status !== 303) return { client, page, answer, token: "" }
  const issued = yield* redeem(house, client, text(returned(answer).get("code")))
  return { client, page, answer, token: text(jsonOf(issued).access_token) }
})

/** What introspection says of its application's token. */
const introspected = (house: House, { client, token }: Effect.Success<ReturnType<typeof connect>>) =>
  Effect.map(introspectBy(house, client, token), jsonOf)

const works = (house: House, connected: Effect.Success<ReturnType<typeof connect>>) =>
  Effect.map(introspected(house, connected), ({ active }) => active)

/** What a request still writes that was told the person's places before one was taken away. */
const lateConsent = Effect.fnUntraced(function* (house: House, user: UserId, place: string) {
  const { entropy, grants, policy } = house.services
  const approved = {
    client: ClientId.make("A".repeat(22)),
    user,
    redirectUri: RedirectTarget.make("https://app.example.org/callback"),
    challenge: null,
    scope: allScopes(policy.scopes),
    resources: null,
    place: PlaceId.make(place)
  }
  const id = grantIdOf(entropy.bytes(16))
  yield* grants.begin(house.workspace, approved, id)
  return Effect.map(grants.approvalOf(house.workspace, id), ({ _tag }) => _tag)
})

const inBobs = (
  body: (given: { house: House; bob: { readonly id: UserId }; browser: Browser }) => Effect.Effect<void, unknown>,
  options?: Parameters<typeof inHouse>[1]
) =>
  inHouse(function* (house) {
    yield* addAccount(house)
    const bob = yield* addAccount(house, "bob@example.com", "member")
    const browser = new Browser(house)
    yield* browser.signIn("bob@example.com")
    yield* body({ house, bob, browser })
  }, options)

describe("a place as an owner types it", () => {
  const read = (place: Partial<PlaceTyped>) => readPlace(typed("acme", place), standardScopes)
  const why = (place: Partial<PlaceTyped>) => Result.match(read(place), { onFailure: String, onSuccess: () => "read" })

  test("is called by its id where it has no name, and keeps what is fit to be read", () => {
    expect(read({})).toEqual(Result.succeed({ id: PlaceId.make("acme"), label: "acme" }))
    expect<unknown>(
      read({ label: " Acme\u0000\u202e  Ltda\u0301 ", detail: "acme\n.example", scopes: ["api", "api"] })
    ).toEqual(Result.succeed({ id: "acme", label: "Acme Ltdá", detail: "acme .example", scopes: ["api"] }))
  })

  test("may have any id of printable characters, and no other", () => {
    const odd = ["<script>alert(1)</script>", "../..", "__proto__", "a&b=c#d", "-", `"'`, "~".repeat(128)]
    for (const id of odd) expect([id, Result.isSuccess(read({ id }))]).toEqual([id, true])
    for (const id of ["", "a b", "ä", "a\n", "a\u0000", "~".repeat(129)]) {
      expect(Result.getOrThrow(Result.flip(read({ id })))).toMatchObject({ reason: "id" })
    }
  })

  test("has a name and a detail that are bounded and can be read", () => {
    expect(why({ label: "x".repeat(100), detail: "🏳️".repeat(100) })).toBe("read")
    for (const label of ["x".repeat(101), "\u200b\u2060", "a\u0301".repeat(101)]) {
      expect(Result.getOrThrow(Result.flip(read({ label })))).toMatchObject({ reason: "label" })
    }
    for (const detail of ["x".repeat(201), "\u0007"]) {
      expect(Result.getOrThrow(Result.flip(read({ detail })))).toMatchObject({ reason: "detail" })
    }
  })

  test("has scopes that the workspace knows; others are refused by name", () => {
    expect(Result.getOrThrow(Result.flip(read({ scopes: ["api", "nothing", "offline_access"] })))).toMatchObject({
      reason: "scopes",
      unknown: ["nothing", "offline_access"]
    })
  })
})

describe("the places of a built-in account", () => {
  test("are asked about where there are several, and the grant keeps the one that is chosen", () =>
    inBobs(({ bob, browser, house }) =>
      Effect.gen(function* () {
        yield* give(house, bob.id, "acme", { label: "Acme", detail: "acme.example" })
        yield* give(house, bob.id, "museum", { scopes: ["profile"] })
        expect((yield* connect(house, browser)).answer.status).toBe(400)
        const at = yield* connect(house, browser, "museum")
        const shown = at.page.body.replaceAll("<wbr>", "")
        for (const told of ['value="acme"', ">Acme<", ">acme.example<", 'value="museum"']) {
          expect([told, shown.includes(told)]).toEqual([told, true])
        }
        expect(yield* introspected(house, at)).toMatchObject({
          active: true,
          place: "museum",
          scope: "profile"
        })
        expect((yield* browser.get("/settings/apps")).body.includes("<bdi>museum</bdi>")).toBe(true)
      })
    ))

  test("leave out the question where there is one, and leave no place where there is none", () =>
    inBobs(({ bob, browser, house }) =>
      Effect.gen(function* () {
        const before = yield* connect(house, browser)
        expect(yield* introspected(house, before)).not.toHaveProperty("place")
        yield* give(house, bob.id, "acme")
        const at = yield* connect(house, browser)
        expect(at.page.body.includes('type="radio"')).toBe(false)
        expect(yield* introspected(house, at)).toMatchObject({ active: true, place: "acme" })
        // As with a host: what has no place goes on, and does not get one.
        expect(yield* works(house, before)).toBe(true)
        expect(yield* introspected(house, before)).not.toHaveProperty("place")
      })
    ))

  test("change what they are called and take, from the next application on", () =>
    inBobs(({ bob, browser, house }) =>
      Effect.gen(function* () {
        yield* give(house, bob.id, "acme", { label: "Acme" })
        const before = yield* connect(house, browser)
        yield* give(house, bob.id, "acme", { label: "Acme & Sons", scopes: ["profile"] })
        expect(yield* idsOf(house, bob.id)).toEqual([PlaceId.make("acme")])
        expect(yield* introspected(house, before)).toMatchObject({ active: true, scope: "api profile" })
        expect(yield* introspected(house, yield* connect(house, browser))).toMatchObject({ scope: "profile" })
      })
    ))

  test("are those of the account alone, and of no account that has left", () =>
    inBobs(({ bob, house }) =>
      Effect.gen(function* () {
        const eve = yield* addAccount(house, "eve@example.com", "member")
        yield* give(house, bob.id, "acme")
        const told = (user: UserId) =>
          house.services.owner.places?.(house.workspace, user) ?? Effect.succeed([{ id: "no function" }])
        expect((yield* told(bob.id)).map(({ id }) => String(id))).toEqual(["acme"])
        expect(yield* told(eve.id)).toEqual([])
        yield* removeAccount(house.accounts, untold(house), house.workspace, bob.id, Effect.void)
        expect(yield* told(bob.id)).toEqual([])
        expect(yield* Effect.flip(give(house, bob.id, "bank"))).toMatchObject({ reason: "unknown" })
      })
    ))

  test("are fifty at most, and a change of one of them is none more", () =>
    inBobs(({ bob, house }) =>
      Effect.gen(function* () {
        for (let at = 0; at < 50; at++) yield* give(house, bob.id, `org_${at}`)
        expect(yield* Effect.flip(give(house, bob.id, "org_50"))).toMatchObject({ _tag: "BadPlace", reason: "full" })
        yield* give(house, bob.id, "org_49", { label: "The last" })
        expect(yield* idsOf(house, bob.id)).toHaveLength(50)
        // Those that were left a short while ago are bounded, too.
        for (let at = 0; at < 50; at++) yield* take(house, bob.id, `org_${at}`)
        expect(yield* Effect.flip(give(house, bob.id, "another"))).toMatchObject({ _tag: "BadPlace", reason: "full" })
        yield* TestClock.adjust("15 minutes")
        yield* finish(house)
        yield* give(house, bob.id, "another")
        expect(yield* idsOf(house, bob.id)).toEqual([PlaceId.make("another")])
      })
    ))
})

describe("a place that is taken away", () => {
  test("ends what applications had there, at once, and nothing else of the person's or another's", () =>
    inBobs(({ bob, browser, house }) =>
      Effect.gen(function* () {
        const eve = yield* addAccount(house, "eve@example.com", "member")
        const hers = new Browser(house)
        yield* hers.signIn("eve@example.com")
        for (const user of [bob.id, eve.id]) for (const id of ["acme", "museum"]) yield* give(house, user, id)
        const [there, elsewhere, another] = [
          yield* connect(house, browser, "acme"),
          yield* connect(house, browser, "museum"),
          yield* connect(house, hers, "acme")
        ]
        expect(yield* take(house, bob.id, "acme")).toBe("removed")
        expect([yield* works(house, there), yield* works(house, elsewhere), yield* works(house, another)]).toEqual([
          false,
          true,
          true
        ])
        expect(yield* idsOf(house, bob.id)).toEqual([PlaceId.make("museum")])
        for (const place of ["acme", "bank", "a b", ""]) expect(yield* take(house, bob.id, place)).toBe("unknown")
        expect(yield* take(house, house.accounts.book.newId(), "acme")).toBe("unknown")
      })
    ))

  test("is no place for a page that was drawn before", () =>
    inBobs(({ bob, browser, house }) =>
      Effect.gen(function* () {
        for (const id of ["acme", "museum", "bank"]) yield* give(house, bob.id, id)
        const client = yield* registerClient(house)
        const page = yield* browser.get(authorizeTarget(client))
        yield* take(house, bob.id, "acme")
        const sent = { ...hiddenFields(page.body), place: "acme", decision: "approve" }
        expect((yield* browser.send("POST", "/consent", sent)).status).toBe(400)
      })
    ))

  test("ends once more what a request under way wrote, for a quarter of an hour", () =>
    inBobs(({ bob, house }) =>
      Effect.gen(function* () {
        for (const id of ["acme", "museum"]) yield* give(house, bob.id, id)
        yield* take(house, bob.id, "acme")
        yield* TestClock.adjust(15 * 60_000 - 1)
        const late = yield* lateConsent(house, bob.id, "acme")
        const other = yield* lateConsent(house, bob.id, "museum")
        expect([yield* late, yield* other]).toEqual(["Waiting", "Waiting"])
        yield* finish(house)
        expect([yield* late, yield* other]).toEqual(["Used", "Waiting"])
        expect(yield* leftBy(house, bob.id)).toEqual([PlaceId.make("acme")])
        yield* TestClock.adjust(1)
        yield* finish(house)
        expect(yield* leftBy(house, bob.id)).toEqual([])
      })
    ))

  test("and given back opens nothing that was allowed before, though the store failed in between", () => {
    const away: Away = new Set()
    return inBobs(
      ({ bob, browser, house }) =>
        Effect.gen(function* () {
          yield* give(house, bob.id, "acme")
          const before = yield* connect(house, browser)
          away.add("list grant")
          expect(yield* take(house, bob.id, "acme")).toBe("removing")
          expect(house.log.filter((line) => line.includes('"place":"acme"'))).toHaveLength(1)
          expect(yield* Effect.flip(give(house, bob.id, "acme"))).toMatchObject({ _tag: "StorageUnavailable" })
          away.clear()
          expect([yield* idsOf(house, bob.id), yield* works(house, before)]).toEqual([[], true])
          yield* give(house, bob.id, "acme")
          expect([yield* leftBy(house, bob.id), yield* works(house, before)]).toEqual([[], false])
          const after = yield* connect(house, browser)
          yield* finish(house)
          yield* TestClock.adjust("15 minutes")
          yield* finish(house)
          expect(yield* works(house, after)).toBe(true)
        }),
      { storage: partlyAway(away) }
    )
  })

  test("is forgotten as it was left: if it was left again meanwhile, that stands", () =>
    inBobs(({ bob, house }) =>
      Effect.gen(function* () {
        for (let round = 0; round < 2; round++) {
          yield* give(house, bob.id, "acme")
          yield* TestClock.adjust(1)
          yield* take(house, bob.id, "acme")
        }
        const account = yield* accountOf(house, bob.id)
        const [last] = account.leftPlaces ?? []
        if (last === undefined) throw new Error("nothing was left")
        expect(withoutLeft(account, [{ ...last, since: later(last.since, -1) }])).toEqual(account)
        expect(withoutLeft(account, [last])).not.toHaveProperty("leftPlaces")
      })
    ))

  test("and given back while removals are finished keeps what is allowed there from then on", () => {
    let meanwhile: Effect.Effect<void> = Effect.void
    return inBobs(
      ({ bob, browser, house }) =>
        Effect.gen(function* () {
          yield* give(house, bob.id, "acme")
          yield* take(house, bob.id, "acme")
          let after: Effect.Success<ReturnType<typeof connect>> | undefined
          meanwhile = Effect.gen(function* () {
            meanwhile = Effect.void
            yield* give(house, bob.id, "acme")
            after = yield* connect(house, browser)
          }).pipe(Effect.orDie)
          yield* finish(house)
          expect(after && (yield* works(house, after))).toBe(true)
        }),
      {
        storage: (below) => ({
          ...below,
          list: (asked) =>
            Effect.tap(below.list(asked), () =>
              asked.kind === "account" ? Effect.suspend(() => meanwhile) : Effect.void
            )
        })
      }
    )
  })

  test("is seen through by the next start, wherever a crash stopped it", async () => {
    let stopped = 0
    for (let writes = 0; writes < 5; writes++) {
      const life = { writes: Number.POSITIVE_INFINITY }
      await inBobs(
        ({ bob, browser, house }) =>
          Effect.gen(function* () {
            for (const id of ["acme", "museum"]) yield* give(house, bob.id, id)
            const all = [yield* connect(house, browser, "acme"), yield* connect(house, browser, "acme")]
            life.writes = writes
            const taken = yield* Effect.result(take(house, bob.id, "acme"))
            life.writes = Number.POSITIVE_INFINITY
            if (Result.isFailure(taken) || taken.success === "removing") stopped++
            yield* finish(house)
            // Before its first write nothing has happened; from then on everything does.
            const isThere = writes === 0
            expect((yield* idsOf(house, bob.id)).length).toBe(isThere ? 2 : 1)
            for (const one of all) expect(yield* works(house, one)).toBe(isThere)
          }),
        { storage: mortal(life) }
      )
    }
    // Before the account's own write, and those of both grants.
    expect(stopped).toBe(3)
  })
})

describe("two owners at once", () => {
  test(`lose nothing that either did (seed ${seed})`, async () => {
    for (let run = 0; run < 40; run++) {
      await inHouse(
        function* (house) {
          const bob = yield* addAccount(house, "bob@example.com", "member")
          for (let at = 0; at < 48; at++) yield* give(house, bob.id, `org_${at}`)
          const outcomes = yield* atOnce([
            Effect.result(give(house, bob.id, "acme")),
            Effect.result(give(house, bob.id, "bank")),
            Effect.result(give(house, bob.id, "museum")),
            Effect.result(house.accounts.rename(house.workspace.id, bob.id, "Bob"))
          ])
          const kept = yield* accountOf(house, bob.id)
          const refused = outcomes.filter(Result.isFailure).map(({ failure }) => failure)
          expect<unknown>({ seed, run, count: kept.places?.length, name: kept.name, refused }).toMatchObject({
            seed,
            run,
            count: 50,
            name: "Bob",
            refused: [{ _tag: "BadPlace", reason: "full" }]
          })
        },
        { storage: jostling(`places ${seed} ${run}`), seed: `places ${seed} ${run}` }
      )
    }
  })

  test(`leave no token at a place that is gone, in whichever order (seed ${seed})`, async () => {
    const ends = new Set<string>()
    for (let run = 0; run < 40; run++) {
      await inBobs(
        ({ bob, browser, house }) =>
          Effect.gen(function* () {
            yield* give(house, bob.id, "acme")
            const before = yield* connect(house, browser)
            yield* atOnce([
              Effect.asVoid(Effect.result(take(house, bob.id, "acme"))),
              Effect.asVoid(Effect.result(give(house, bob.id, "acme", { label: "Again" }))),
              Effect.asVoid(finish(house))
            ])
            const [place] = yield* idsOf(house, bob.id)
            // Else the new one would be taken for the one that they left.
            if (place !== undefined)
              expect({ seed, run, left: yield* leftBy(house, bob.id) }).toMatchObject({ left: [] })
            ends.add(String(place))
            // Where they have it, it was given anew after it was taken: every way leads by the end of what was there.
            expect({ seed, run, works: yield* works(house, before) }).toEqual({ seed, run, works: false })
            yield* finish(house)
            if (place === undefined) return
            yield* TestClock.adjust("15 minutes")
            yield* finish(house)
            expect(yield* leftBy(house, bob.id)).toEqual([])
          }),
        { storage: jostling(`taken ${seed} ${run}`), seed: `taken ${seed} ${run}` }
      )
    }
    expect(ends.size).toBe(2)
  })
})
