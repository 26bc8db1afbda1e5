import { expect, test } from "bun:test"
import { Effect } from "effect"
import { allowedBefore, connectionsIn, connectionsPage, grantsBeside } from "../../core/engine/connections.ts"
import type { GrantList } from "../../core/engine/lists.ts"
import type { Grant } from "../../core/grant/Grant.ts"
import { revoked } from "../../core/grant/revoke.ts"
import { ClientId, GrantId } from "../../core/rules/Id.ts"
import { Resource } from "../../core/rules/Resource.ts"
import { standardScopes } from "../../core/rules/Scope.ts"
import { active, key, pending, policy, scopes, t0 } from "../grant/given.ts"

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
  for (const wider of [null, [other] as const, [rest, other] as const]) expect(asked(wider as never)).toEqual([])
  const whole = allowedBefore([active({ scope: scopes("api") })], standardScopes, {
    scope: scopes("api"),
    resources: [rest]
  })
  expect(whole.map(String)).toEqual(["api"])
})
