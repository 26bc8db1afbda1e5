import { describe, expect, test } from "bun:test"
import type { UserPlace } from "../../core/ports/ResourceOwner.ts"
import {
  type Choosing,
  choiceOf,
  chosenIn,
  lastPlace,
  type Offer,
  offerOf,
  placedAt
} from "../../core/request/places.ts"
import { PlaceId } from "../../core/rules/Id.ts"
import { ScopeName, standardScopes } from "../../core/rules/Scope.ts"
import { active, after, me, scopes } from "../grant/given.ts"

const id = (name: string) => PlaceId.make(name)
const place = (name: string, more: Partial<UserPlace> = {}): UserPlace => ({ id: id(name), label: name, ...more })
const both = scopes("api", "profile")
const offer = (...places: ReadonlyArray<UserPlace>): Offer => offerOf(places, both, standardScopes)

describe("where a person lets a client act", () => {
  const only = scopes("profile")
  const none = place("none", { scopes: [] })

  test("is offered for what each place takes, and asked only where there is a choice", () => {
    expect(offer()).toEqual({ _tag: "Nowhere" })
    expect(offer(none)).toEqual({ _tag: "Refused" })
    expect(offer(place("a"))).toMatchObject({ _tag: "Here", place: { id: "a", granted: both } })
    expect(offer(none, place("a", { scopes: only }))).toMatchObject({ _tag: "Here", place: { id: "a", granted: only } })
    expect(offer(place("a", { scopes: only }), none, place("b"))).toMatchObject({
      _tag: "Choice",
      places: [
        { id: "a", granted: only },
        { id: "b", granted: both }
      ]
    })
  })

  test("is kept in the request, with what is to be had there", () => {
    const here = offer(place("a", { scopes: only }))
    if (here._tag !== "Here") throw new Error("not here")
    expect(placedAt({ scope: both, other: 1 }, here.place)).toEqual({ scope: only, other: 1, place: id("a") })
  })

  const choice = offer(place("a"), place("b"))
  const rows: ReadonlyArray<readonly [string, Offer, string | undefined, boolean, string | undefined, string]> = [
    ["none, as drawn", offer(), undefined, false, undefined, "none"],
    ["none, and one was drawn", offer(), "a", false, undefined, "Outdated"],
    ["none, and a choice was drawn", offer(), undefined, true, undefined, "Outdated"],
    ["none, and one is posted", offer(), undefined, false, "a", "Outdated"],
    ["one, as drawn", offer(place("a")), "a", false, undefined, "a"],
    ["one, as posted", offer(place("a")), undefined, true, "a", "a"],
    ["one, and another was drawn", offer(place("a")), "b", false, undefined, "Outdated"],
    ["one, and another is posted", offer(place("a")), "a", false, "b", "Outdated"],
    ["one, and nothing was drawn", offer(place("a")), undefined, false, undefined, "Outdated"],
    ["of two the one that is posted", choice, undefined, true, "b", "b"],
    ["of two none yet", choice, "a", true, undefined, "Choose"],
    ["of two one that is not there", choice, undefined, true, "c", "Choose"],
    ["none that takes it", offer(none), undefined, false, undefined, "Outdated"]
  ]
  for (const [what, of, drawn, chooses, posted, expected] of rows) {
    test(`counts as the offer has it: ${what}`, () => {
      const chosen = chosenIn(of, { place: drawn === undefined ? undefined : id(drawn), chooses }, posted)
      expect<string>(chosen._tag === "Chosen" ? (chosen.place?.id ?? "none") : chosen._tag).toBe(expected)
    })
  }

  test("was last where the youngest of their grants is", () => {
    const grant = (at: number, name?: string) => ({
      ...active(name === undefined ? {} : { place: id(name) }),
      createdAt: after(at)
    })
    const connection = (...grants: ReadonlyArray<ReturnType<typeof grant>>) => ({
      id: active().id,
      client: me.client.id,
      grants
    })
    expect(lastPlace([])).toBeUndefined()
    expect(lastPlace([connection(grant(9))])).toBeUndefined()
    expect(lastPlace([connection(grant(1, "a"), grant(3, "c")), connection(grant(2, "b"), grant(9))])).toBe(id("c"))
    expect(lastPlace([connection(grant(2, "a")), connection(grant(3, "b"), grant(3, "c"))])).toBe(id("b"))
  })
})

describe("a choice as a page shows it", () => {
  const names = Array.from({ length: 30 }, (_, at) => `p${at}`)
  const many = offer(...names.map((name) => place(name, { detail: `Detail of ${name}` })))
  const show = (choosing: Partial<Choosing>, of = many, all = false) =>
    choiceOf(of, { last: undefined, hint: undefined, ...choosing }, both, standardScopes, all)
  const ids = (choosing: Partial<Choosing>, all = false) =>
    show(choosing, many, all)?.shown.map((one) => `${one.id}${one.chosen ? "*" : ""}`)

  test("is there where there is one", () => {
    for (const of of [offer(), offer(place("a")), offer(place("a", { scopes: [] }))])
      expect(show({}, of)).toBeUndefined()
  })

  test("begins with the last place, then the one that is chosen, hinted or last", () => {
    expect(ids({})).toEqual(names.slice(0, 10))
    expect(ids({}, true)).toEqual(names)
    expect(show({})?.count).toBe(30)
    expect(ids({ last: id("p20") })?.slice(0, 2)).toEqual(["p20*", "p0"])
    expect(ids({ last: id("p20"), hint: "p21" })?.slice(0, 3)).toEqual(["p20", "p21*", "p0"])
    expect(ids({ last: id("p20"), hint: "p21", chosen: "p22" })?.slice(0, 3)).toEqual(["p20", "p22*", "p0"])
    expect(ids({ last: id("gone"), hint: "gone", chosen: "gone" })).toEqual(names.slice(0, 10))
    expect(ids({ last: id("p20") }, true)).toEqual(["p20*", ...names.filter((name) => name !== "p20")])
  })

  test("is searched in label, detail and id, by whatever case and keyboard, twenty-five at most", () => {
    expect(ids({ search: " P2 " })).toEqual(["p2", ...names.slice(20)])
    expect(ids({ search: "ｄｅｔａｉｌ of p29" })).toEqual(["p29"])
    expect(ids({ search: "nothing" })).toEqual([])
    expect(ids({ search: "nothing", chosen: "p3" })).toEqual(["p3*"])
    expect(ids({ search: "detail" })).toEqual(names.slice(0, 25))
    expect(ids({ search: "p3", chosen: "p3" })).toEqual(["p3*"])
    expect(show({ search: ` ${"x".repeat(200)}` })?.search).toBe("x".repeat(99))
    expect(ids({ search: "  " })).toEqual(names.slice(0, 10))
    expect("search" in (show({ search: "  " }) ?? {})).toBe(false)
  })

  test("says what is to be had where that is not all, and what is wrong", () => {
    const some = offer(place("a", { scopes: scopes("profile"), detail: "A" }), place("b"))
    expect(show({ problem: "Choose." }, some)).toStrictEqual({
      shown: [
        {
          id: id("a"),
          label: "a",
          detail: "A",
          chosen: false,
          only: [{ scope: ScopeName.make("profile"), words: "See your name and email" }]
        },
        { id: id("b"), label: "b", chosen: false }
      ],
      count: 2,
      problem: "Choose."
    })
    expect("problem" in (show({}, some) ?? {})).toBe(false)
  })
})
