import { expect } from "bun:test"
import { Effect } from "effect"
import { ResourceAddress } from "../../core/rules/Resource.ts"
import { ScopeName } from "../../core/rules/Scope.ts"
import type { Dice } from "../../core/testing/Dice.ts"
import { Issuer, type Workspace } from "../../core/workspace/Workspace.ts"
import {
  authorizeTarget,
  bearing,
  decide,
  form,
  formHeaders,
  header,
  jsonOf,
  registerClient,
  type TestClient,
  text,
  verifier
} from "../given/flow.ts"
import { inWorld, theWorkspace, type World } from "../given/World.ts"
import { law } from "./law.ts"
import { runs } from "./runs.ts"

/** Places of APIs: below each other, beside each other by a prefix, and on hosts of their own. */
const places = [
  "https://x.example",
  "https://x.example/v1",
  "https://x.example/v1/deep",
  "https://x.example/v12",
  "https://y.example/v1",
  `${theWorkspace.issuer}/mcp`
] as const

const names = ["a", "b", "c", "d"] as const
type Name = (typeof names)[number]

interface Registry {
  /** What each scope implies, in one step: none implies one before it. */
  readonly implies: ReadonlyMap<Name, ReadonlyArray<Name>>
  /** The scopes that each listed API takes; `null` is all. */
  readonly takes: ReadonlyMap<string, ReadonlyArray<Name> | null>
}

const some = <A>(dice: Dice, all: ReadonlyArray<A>, percent = 50): ReadonlyArray<A> =>
  all.filter(() => dice.chance(percent))

const drawRegistry = (dice: Dice): Registry => ({
  implies: new Map(names.map((name, at) => [name, some(dice, names.slice(at + 1), 40)])),
  takes: new Map(
    some(dice, places, 60).map((place) => {
      const scopes = some(dice, names, 40)
      return [place, scopes.length === 0 ? null : scopes]
    })
  )
})

const workspaceOf = ({ implies, takes }: Registry): Workspace => {
  const [first, ...others] = names.map((name) => ({
    name: ScopeName.make(name),
    meaning: `What ${name} lets do`,
    needsUser: false,
    byDefault: name === "b",
    implies: (implies.get(name) ?? []).map((one) => ScopeName.make(one))
  }))
  if (first === undefined) throw new Error("there are no scopes")
  return {
    ...theWorkspace,
    issuer: Issuer.make(theWorkspace.issuer),
    scopes: [first, ...others],
    resources: [...takes].map(([place, taken]) => {
      const [one, ...more] = (taken ?? []).map((name) => ScopeName.make(name))
      const at = ResourceAddress.make(place)
      return one === undefined ? { at, name: place } : { at, name: place, scopes: [one, ...more] }
    })
  }
}

const isName = (word: string): word is Name => names.some((name) => name === word)
const words = (scope: unknown): ReadonlyArray<Name> =>
  String(scope ?? "")
    .split(" ")
    .filter(isName)

/** Everything that scopes let do. */
const closure = ({ implies }: Registry, scopes: ReadonlyArray<Name>): ReadonlySet<Name> => {
  const all = new Set(scopes)
  for (const one of all) for (const other of implies.get(one) ?? []) all.add(other)
  return all
}

const isWithin = (inner: ReadonlySet<Name>, outer: ReadonlySet<Name>): boolean =>
  [...inner].every((one) => outer.has(one))

const isBelow = (inner: string, outer: string): boolean => inner === outer || inner.startsWith(`${outer}/`)

/** The nearest listed API that a place is part of. */
const listedAt = ({ takes }: Registry, place: string): string | undefined =>
  [...takes.keys()].filter((one) => isBelow(place, one)).sort((one, other) => other.length - one.length)[0]

/** What a token with every scope may do at these places. */
const takenAt = (registry: Registry, at: ReadonlyArray<string>): ReadonlySet<Name> => {
  const taken = at.flatMap((place) => {
    const listed = listedAt(registry, place)
    return (listed === undefined ? null : registry.takes.get(listed)) ?? names
  })
  return closure(registry, taken)
}

interface Token {
  readonly access: string
  readonly refresh: string
  readonly scope: ReadonlyArray<Name>
  /** What it names; `null`: nothing. */
  readonly at: ReadonlyArray<string> | null
}

const asking = (fields: Readonly<Record<string, string>>, at: ReadonlyArray<string> | null): string => {
  const resources = (at ?? []).map((one) => `resource=${encodeURIComponent(one)}`)
  return [form(fields), ...resources].join("&")
}

const tokensFor = (world: World, client: TestClient, fields: Readonly<Record<string, string>>, at: Token["at"]) =>
  world.send("POST", "/oauth/token", {
    headers: formHeaders,
    body: asking({ client_id: client.id, client_secret: client.secret ?? "", ...fields }, at)
  })

/** Whether a guard of the API `of` lets a token do `needed` at a place. */
const isAdmitted = (world: World, token: Token, of: string, place: string, needed: Name) =>
  Effect.map(
    world.guard(new URL(place).pathname, { scopes: [needed], resource: of }, bearing(token.access)),
    ({ _tag }) => _tag === "Admitted"
  )

/** The APIs that a token which names none is for: those that take what it has. */
const unnamed = (registry: Registry, scope: ReadonlyArray<Name>): ReadonlyArray<string> => {
  const has = closure(registry, scope)
  const takers = [...registry.takes].filter(([, taken]) =>
    [...closure(registry, taken ?? names)].some((one) => has.has(one))
  )
  return [theWorkspace.issuer, ...takers.map(([place]) => place)]
}

const checkReach = Effect.fnUntraced(function* (world: World, registry: Registry, token: Token, dice: Dice) {
  const at = token.at ?? unnamed(registry, token.scope)
  const has = closure(registry, token.scope)
  for (const place of some(dice, places)) {
    for (const under of [place, `${place}/more`]) {
      const needed = dice.pick(names)
      const opened = yield* isAdmitted(world, token, place, under, needed)
      const named = at.some((one) => isBelow(under, one))
      if (opened)
        expect({ under, needed, named, has: has.has(needed) }).toEqual({ under, needed, named: true, has: true })
      else if (at.includes(place))
        expect({ under, needed, has: has.has(needed) }).toEqual({ under, needed, has: false })
    }
  }
})

law(
  "no token opens a place that it does not name, and no narrowing widens by what scopes imply",
  (dice, seed) =>
    Effect.promise(() => {
      const registry = drawRegistry(dice)
      const workspace = workspaceOf(registry)
      const listed = [...registry.takes.keys()]
      const drawAt = (from: ReadonlyArray<string>): Token["at"] => {
        const at = some(dice, from, 40)
        return at.length === 0 ? null : at
      }
      return inWorld(
        function* (world) {
          const client = yield* registerClient(world)
          const wanted = some(dice, names, 60)
          const asked = wanted.length === 0 ? (["b"] as const) : wanted
          const at = drawAt(listed)
          const scope = wanted.length === 0 ? {} : { scope: wanted.join(" ") }
          const [path = ""] = authorizeTarget(client, scope).split("&resource=")
          const page = yield* world.send("GET", `${path}${at === null ? "" : `&${asking({}, at).replace(/^&/, "")}`}`, {
            as: "alice"
          })
          const may = takenAt(registry, at ?? listed)
          if (!page.body.includes('data-page="consent"')) {
            // What was asked for has nothing in common with what these take.
            expect(page.body).toContain("invalid_scope")
            return
          }
          const back = new URL(header(yield* decide(world, page, "approve"), "location") ?? "")
          const most = closure(registry, asked)
          let newest: Token | undefined
          for (let step = 2 + dice.under(4); step > 0; step--) {
            const narrower = drawAt(dice.chance(80) && at !== null ? at : [...places, "https://z.example"])
            const fields =
              newest === undefined
                ? {
                    grant_type: "authorization_code",
                    code: text(back.searchParams.get("code")),
                    redirect_uri: client.redirectUri,
                    code_verifier: verifier
                  }
                : {
                    grant_type: "refresh_token",
                    refresh_token: newest.refresh,
                    ...(dice.chance(60) ? { scope: some(dice, names).join(" ") } : {})
                  }
            const answer = yield* tokensFor(world, client, fields, narrower)
            const told = jsonOf(answer)
            if (answer.status !== 200) {
              expect([answer.status, ["invalid_scope", "invalid_target"].includes(text(told.error))]).toEqual([
                400,
                true
              ])
              continue
            }
            const token: Token = {
              access: text(told.access_token),
              refresh: text(told.refresh_token),
              scope: words(told.scope),
              at: narrower ?? at
            }
            const has = closure(registry, token.scope)
            expect({ has: [...has], within: isWithin(has, most) }).toEqual({ has: [...has], within: true })
            if (token.at !== null) expect(isWithin(has, takenAt(registry, token.at))).toBe(true)
            if (at !== null) expect(isWithin(has, may)).toBe(true)
            expect(at === null || token.at?.every((one) => at.some((outer) => isBelow(one, outer)))).toBe(true)
            yield* checkReach(world, registry, token, dice)
            // A refresh narrows one token, and the grant stays as wide as it was.
            newest = token
          }
        },
        { workspaces: [workspace], resolve: () => workspace, seed: `resources ${seed}` }
      )
    }),
  // A run has a registry and a dozen tokens.
  Math.ceil(runs / 3)
)
