import { expect, test } from "bun:test"
import { Effect } from "effect"
import { allowedBefore, connectionsIn, connectionsPage, grantsBeside } from "../../core/engine/connections.ts"
import type { GrantList } from "../../core/engine/lists.ts"
import type { Grant } from "../../core/grant/Grant.ts"
import { revoked } from "../../core/grant/revoke.ts"
import { ClientId, GrantId, PlaceId, UserId } from "../../core/rules/Id.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { standardScopes } from "../../core/rules/Scope.ts"
import { asserterOf, type TrustedIssuer, type TrustedIssuers } from "../../core/rules/TrustedIssuer.ts"
import { active, key, pending, policy, scopes, standing, t0 } from "../grant/given.ts"

const idOf = (n: number) => GrantId.make(String(n).padStart(22, "0"))
const clientOf = (letter: string) => ClientId.make(letter.repeat(22))

const listOf =
  (grants: ReadonlyArray<Grant>): GrantList =>
  ({ after, limit }) => {
    const rest = grants.filter(({ id }) => after === undefined || id > after)
    const values = rest.slice(0, limit)
    return Effect.succeed({ values, next: rest.length > limit ? values.at(-1)?.id : undefined })
  }

const grant = (n: number, client: string): Grant => ({ ...active(), id: idOf(n), client: clientOf(client) })

const all = [
  grant(1, "a"),
  grant(2, "b"),
  revoked(grant(3, "c"), "by_user", policy, t0),
  grant(4, "a"),
  key(),
  { ...pending(), id: idOf(6), client: clientOf("d") }
]

const run = Effect.runSync
const standards = { policy, now: t0, trusted: Effect.die("nothing here was asserted") }

test("grants of one application are one connection, known by the first of them", () => {
  const { connections, last } = run(connectionsIn(listOf(all), standards))
  expect(connections.map(({ grants, id }) => [id, grants.map((one) => one.id)])).toEqual([
    [idOf(1), [idOf(1), idOf(4)]],
    [idOf(2), [idOf(2)]],
    [idOf(6), [idOf(6)]]
  ])
  expect(last).toBeUndefined()
})

test("each is on one page, also where there are more grants than one request looks at", () => {
  const many = Array.from({ length: 1500 }, (_, n) => grant(n, String.fromCharCode(97 + (n % 3)))).map((one, n) =>
    n < 1200 ? one : grant(n, "z")
  )
  const seen: Array<string> = []
  let after: string | undefined
  let pages = 0
  do {
    expect(pages++).toBeLessThan(1000)
    const page = run(connectionsPage(listOf(many), standards, after, 2))
    seen.push(...page.connections.map(({ client }) => client.slice(0, 1)))
    after = page.next
  } while (after !== undefined)
  // Behind the first thousand an application may stand once more.
  expect(new Set(seen)).toEqual(new Set(["a", "b", "c", "z"]))
  expect(seen.slice(0, 3)).toEqual(["a", "b", "c"])
})

test("one ends with all that stand beside it, and with nothing else", () => {
  const beside = (one: Grant) => run(grantsBeside(listOf(all), one)).map(({ id }) => id)
  expect(beside(grant(1, "a"))).toEqual([idOf(1), idOf(4)])
  expect(beside(grant(2, "b"))).toEqual([idOf(2)])
  expect(beside(key())).toEqual([key().id])
})

test("what was allowed before counts for the same resources, and no wider ones", () => {
  const rest = Resource.make("https://auth.example.com/rest")
  const other = Resource.make("https://auth.example.com/restful")
  const asked = (resources: readonly [Resource, ...Array<Resource>] | null) =>
    allowedBefore([active({ scope: scopes("api"), resources: [rest] })], standardScopes, {
      scope: scopes("api", "profile"),
      resources
    }).map(String)
  expect(asked([rest])).toEqual(["api"])
  expect(asked([Resource.make(`${rest}/companies`)])).toEqual(["api"])
  const wider: ReadonlyArray<Parameters<typeof asked>[0]> = [null, [other], [rest, other]]
  for (const one of wider) expect(asked(one)).toEqual([])
  const whole = allowedBefore([active({ scope: scopes("api") })], standardScopes, {
    scope: scopes("api"),
    resources: [rest]
  })
  expect(whole.map(String)).toEqual(["api"])
})

test("an application stands once for each place, and no place is taken for part of another's name", () => {
  const at = (n: number, client: string, place?: string): Grant => ({
    ...active(place === undefined ? {} : { place: PlaceId.make(place) }),
    id: idOf(n),
    client: clientOf(client)
  })
  const list = listOf([at(1, "a", "north"), at(2, "a"), at(3, "a", "south"), at(4, "a", "north"), at(5, "b", "north")])
  const found = run(connectionsIn(list, standards)).connections
  expect(
    found.map(({ client, grants, id, place }) => ({ id, client, place, grants: grants.map((one) => one.id) }))
  ).toEqual([
    { id: idOf(1), client: clientOf("a"), place: PlaceId.make("north"), grants: [idOf(1), idOf(4)] },
    { id: idOf(2), client: clientOf("a"), place: undefined, grants: [idOf(2)] },
    { id: idOf(3), client: clientOf("a"), place: PlaceId.make("south"), grants: [idOf(3)] },
    { id: idOf(5), client: clientOf("b"), place: PlaceId.make("north"), grants: [idOf(5)] }
  ])
  expect(found.map((one) => "place" in one)).toEqual([true, false, true, true])
  const beside = (one: Grant) => run(grantsBeside(list, one)).map(({ id }) => id)
  expect(beside(at(1, "a", "north"))).toEqual([idOf(1), idOf(4)])
  expect(beside(at(2, "a"))).toEqual([idOf(2)])
})

test("what an issuer asserted connects for as long as that issuer is trusted; nothing else is looked up", () => {
  const keys = { _tag: "Fetched", jwksUri: "https://idp.example/jwks" } as const
  const trusted: TrustedIssuer = { issuer: "https://idp.example", keys, people: "known" }
  const asserted = asserterOf(trusted)
  const subject = { _tag: "User", id: UserId.make("alice") } as const
  const list = listOf([
    { ...standing({ subject }), id: idOf(1), client: clientOf("a") },
    { ...standing({ subject, asserted }), id: idOf(2), client: clientOf("b") }
  ])
  const idsWhere = (issuers: TrustedIssuers | undefined) =>
    run(connectionsIn(list, { ...standards, trusted: Effect.succeed(issuers) })).connections.map(({ id }) => id)
  expect(idsWhere(undefined)).toEqual([idOf(1)])
  expect(idsWhere([trusted])).toEqual([idOf(1), idOf(2)])
})

test("a grant of a client's own has nothing beside it, nor has one that ended or is a key", () => {
  const own = { ...standing(), id: idOf(1), client: clientOf("a") }
  const ended = revoked({ ...standing(), id: idOf(2), client: clientOf("a") }, "by_user", policy, t0)
  expect(run(grantsBeside(listOf([own, ended, { ...key(), id: idOf(3) }]), own))).toEqual([own])
  expect(run(grantsBeside(() => Effect.die("not asked"), key()))).toEqual([key()])
  const nobodys = { ...ended, client: null } as Grant
  expect(run(grantsBeside(() => Effect.die("not asked"), nobodys))).toEqual([nobodys])
})

test("a request looks at a thousand grants, a hundred at a time", () => {
  const asked: Array<readonly [string | undefined, number]> = []
  const many = Array.from({ length: 1050 }, (_, n) => grant(n, "a"))
  const list: GrantList = (slice) => {
    asked.push([slice.after, slice.limit])
    return listOf(many)(slice)
  }
  expect(run(connectionsIn(list, standards)).last).toBe(idOf(999))
  expect(asked).toEqual(Array.from({ length: 10 }, (_, n) => [n === 0 ? undefined : idOf(n * 100 - 1), 100] as const))
  asked.length = 0
  expect(run(connectionsIn(list, standards, idOf(899), 130)).last).toBe(idOf(1029))
  expect(asked).toEqual([
    [idOf(899), 100],
    [idOf(999), 30]
  ])
  expect(run(connectionsIn(list, standards, idOf(1000))).last).toBeUndefined()
})

test("a page says where the next begins, and no page follows the last", () => {
  const letters = ["a", "b", "c", "d", "e"]
  const list = listOf(letters.map((letter, n) => grant(n, letter)))
  const pageBehind = (after: number | undefined, limit: number) => {
    const page = run(connectionsPage(list, standards, after === undefined ? undefined : idOf(after), limit))
    return { ids: page.connections.map(({ id }) => Number(id)), next: page.next && Number(page.next) }
  }
  expect(pageBehind(undefined, 2)).toEqual({ ids: [0, 1], next: 1 })
  expect(pageBehind(1, 2)).toEqual({ ids: [2, 3], next: 3 })
  expect(pageBehind(3, 2)).toEqual({ ids: [4], next: undefined })
  expect(pageBehind(2, 2)).toEqual({ ids: [3, 4], next: undefined })
  expect(pageBehind(undefined, 0)).toEqual({ ids: [], next: undefined })
  expect(pageBehind(undefined, 5)).toEqual({ ids: [0, 1, 2, 3, 4], next: undefined })
  expect(pageBehind(4, 2)).toEqual({ ids: [], next: undefined })
})

test("behind what one request looks at, each page looks at as many grants as it may show", () => {
  const many = Array.from({ length: 1010 }, (_, n) => grant(n, n < 1000 ? "a" : String.fromCharCode(98 + n - 1000)))
  const slices: Array<readonly [string | undefined, number]> = []
  const list: GrantList = (slice) => {
    slices.push([slice.after, slice.limit])
    return listOf(many)(slice)
  }
  const pageBehind = (after: number | undefined) => {
    slices.length = 0
    const page = run(connectionsPage(list, standards, after === undefined ? undefined : idOf(after), 4))
    return { ids: page.connections.map(({ id }) => Number(id)), next: page.next && Number(page.next) }
  }
  expect(pageBehind(undefined)).toEqual({ ids: [0], next: 999 })
  expect(slices).toHaveLength(10)
  // Between the first grant and the thousandth nothing more is to be shown.
  expect(pageBehind(500)).toEqual({ ids: [], next: 999 })
  expect(slices).toHaveLength(10)
  expect(pageBehind(999)).toEqual({ ids: [1000, 1001, 1002, 1003], next: 1003 })
  expect(slices.at(-1)).toEqual([idOf(999), 4])
  expect(pageBehind(1007)).toEqual({ ids: [1008, 1009], next: undefined })
})
