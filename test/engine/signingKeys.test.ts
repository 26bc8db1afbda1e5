import { describe, expect, test } from "bun:test"
import { Schema } from "effect"
import {
  type DrawnKey,
  dueAt,
  goneAt,
  keptForHints,
  publishedAt,
  publishedFor,
  readyFor,
  retire,
  rotated,
  type SigningKeys,
  signingAt,
  signsFor,
  stateAt,
  tidied,
  withdrawn,
  withoutNext
} from "../../core/engine/signingKeys.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import type { Algorithm } from "../../core/rules/Jwk.ts"
import { all, array, map, ofSchema } from "../../core/testing/forAll.ts"
import { Issuer, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { lawOf } from "../laws/law.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

const none: SigningKeys = { id: WorkspaceId.make("home"), issuer: Issuer.make("https://auth.example.com"), keys: [] }

const keyOf = (kid: string, algorithm: Algorithm = "ES256"): DrawnKey => ({
  kid,
  algorithm,
  publicKey: { kty: "OKP", crv: "Ed25519", x: "A".repeat(43) },
  wrapped: { by: "a seal key", text: kid }
})

const t0 = Instant.make(1_900_000_000_000)
const at = (millis: number): Instant => later(t0, millis)
const kids = (keys: ReadonlyArray<{ readonly kid: string }>) => keys.map(({ kid }) => kid)

const first = readyFor(none, "ES256", hour, keyOf("one"), t0) ?? none

describe("a workspace's signing keys", () => {
  test("begin with one that signs at once, and are left as they are where there is one", () => {
    expect(signingAt(first, "ES256", t0)?.kid).toBe("one")
    expect(readyFor(first, "ES256", hour, keyOf("two"), at(1))).toBe(first)
    expect(readyFor(none, "ES256", hour, undefined, t0)).toBeUndefined()
  })

  test("know of the longest life that one of them signed for", () => {
    const longer = readyFor(first, "ES256", day, undefined, at(1))
    expect(longer?.keys.map(({ kid, life }) => [kid, life])).toEqual([["one", day]])
    expect(readyFor(longer ?? none, "ES256", hour, undefined, at(2))).toBe(longer)
  })

  test("have one of another algorithm beside it only where that is asked for", () => {
    const both = readyFor(first, "RS256", hour, keyOf("rsa", "RS256"), at(1)) ?? none
    expect(kids(publishedAt(both, at(1)))).toEqual(["one", "rsa"])
    expect(signingAt(both, "ES256", at(1))?.kid).toBe("one")
    expect(signingAt(both, "RS256", at(1))?.kid).toBe("rsa")
  })

  test("publish the next one before it signs, and the last one until what it signed has ended", () => {
    const two = rotated(first, keyOf("two"), at(day))
    const begins = two.keys[1]?.signsFrom ?? t0
    expect(begins - at(day)).toBeGreaterThan(publishedFor)
    expect(kids(publishedAt(two, at(day)))).toEqual(["one", "two"])
    expect(signingAt(two, "ES256", later(begins, -1))?.kid).toBe("one")
    expect(signingAt(two, "ES256", begins)?.kid).toBe("two")
    expect(two.keys.map((key) => stateAt(two, key, begins))).toEqual(["retired", "current"])
    expect(kids(publishedAt(two, later(begins, hour)))).toEqual(["one", "two"])
    expect(kids(publishedAt(two, later(begins, hour + day)))).toEqual(["two"])
    // For ID tokens that come back as hints.
    expect(kids(tidied(two, later(begins, hour + keptForHints)).keys)).toEqual(["one", "two"])
    expect(kids(tidied(two, later(begins, hour + keptForHints + day)).keys)).toEqual(["two"])
  })

  test("are rotated once, however many come for it, and by themselves after 90 days", () => {
    const two = rotated(first, keyOf("two"), at(day))
    expect(rotated(two, keyOf("three"), at(day + 1))).toBe(two)
    expect(withoutNext(two, at(day + 1))).toEqual([])
    expect(signsFor).toBe(90 * day)
    expect(dueAt(first, at(signsFor - 1))).toEqual([])
    expect(dueAt(first, at(signsFor))).toEqual(["ES256"])
    expect(dueAt(two, at(signsFor))).toEqual([])
  })

  test("lose none that signs, is about to, or signed what still lives", () => {
    const two = rotated(first, keyOf("two"), at(day))
    const begins = two.keys[1]?.signsFrom ?? t0
    expect(retire(two, "three", at(day)).outcome).toBe("unknown")
    expect(retire(two, "one", at(day)).outcome).toBe("signs")
    expect(retire(two, "two", later(begins, -1)).outcome).toBe("signs")
    expect(retire(two, "one", begins).outcome).toBe("is_needed")
    expect(retire(two, "one", later(begins, hour + day)).outcome).toBe("retired")
    const undone = retire(two, "two", at(day))
    expect([undone.outcome, kids(undone.keys.keys)]).toEqual(["retired", ["one"]])
  })

  test("of one algorithm know nothing of those of another", () => {
    const both = readyFor(first, "RS256", day, keyOf("rsa", "RS256"), at(day)) ?? none
    const two = rotated(both, keyOf("two"), at(2 * day))
    const begins = at(2 * day + 15 * minute)
    expect(
      two.keys.map(({ algorithm, kid, life, madeAt, signsFrom }) => [kid, algorithm, life, madeAt, signsFrom])
    ).toEqual([
      ["one", "ES256", hour, t0, t0],
      ["rsa", "RS256", day, at(day), at(day)],
      ["two", "ES256", hour, at(2 * day), begins]
    ])
    expect(two.keys.map((key) => stateAt(two, key, at(2 * day)))).toEqual(["current", "current", "next"])
    expect(two.keys.map((key) => stateAt(two, key, begins))).toEqual(["retired", "current", "current"])
    // The one of the other algorithm neither makes way for it nor is kept for less time by it.
    const gone = later(begins, hour + 5 * minute)
    expect(two.keys.map((key) => goneAt(two, key))).toEqual([gone, undefined, undefined])
    expect(kids(publishedAt(two, later(gone, -1)))).toEqual(["one", "rsa", "two"])
    expect(kids(publishedAt(two, gone))).toEqual(["rsa", "two"])
    const untold = later(gone, 30 * day)
    expect(tidied(two, later(untold, -1))).toBe(two)
    expect(kids(tidied(two, untold).keys)).toEqual(["rsa", "two"])
    // Nor is it due, or waits, for the other.
    expect(withoutNext(two, at(2 * day))).toEqual(["RS256"])
    expect([dueAt(both, at(90 * day)), dueAt(both, at(91 * day))]).toEqual([["ES256"], ["ES256", "RS256"]])
    expect(dueAt(two, at(91 * day))).toEqual(["RS256"])
    // Asked to live longer, one does.
    const longer = readyFor(two, "RS256", 2 * day, undefined, at(2 * day))
    expect(longer?.keys.map(({ life }) => life)).toEqual([hour, 2 * day, hour])
    expect(withdrawn(both, "rsa", keyOf("three"), at(day))).toEqual({ keys: both, outcome: "signs" })
  })

  test("stand by when they sign, whenever they were made, and one with none before it lives for no time yet", () => {
    const next = rotated(first, keyOf("next"), at(day))
    const rsa = readyFor(next, "RS256", hour, keyOf("rsa", "RS256"), at(day)) ?? none
    expect(kids(rsa.keys)).toEqual(["one", "rsa", "next"])
    const lone = withdrawn(rsa, "one", undefined, later(at(day), 15 * minute))
    expect([kids(lone.keys.keys), lone.outcome]).toEqual([["rsa", "next"], "retired"])
    const nobodys: SigningKeys = { ...none, keys: next.keys.slice(1) }
    // Its only key waits: nothing signs yet, so that there is no life to take over.
    const early = { ...nobodys, keys: nobodys.keys.map((key) => ({ ...key, algorithm: "EdDSA" as const })) }
    expect(rotated(early, keyOf("other", "EdDSA"), at(day))).toBe(early)
    expect(signingAt(early, "EdDSA", at(day))).toBeUndefined()
  })

  test("that were withdrawn leave the others: one that waits, one that signed", () => {
    const two = rotated(first, keyOf("two"), at(day))
    const begins = at(day + 15 * minute)
    expect(withdrawn(two, "nobody", undefined, at(day))).toEqual({ keys: two, outcome: "unknown" })
    expect([kids(withdrawn(two, "two", undefined, at(day)).keys.keys)]).toEqual([["one"]])
    expect([kids(withdrawn(two, "one", undefined, begins).keys.keys)]).toEqual([["two"]])
    const anew = withdrawn(two, "one", keyOf("three"), at(day + 1))
    expect(anew.outcome).toBe("retired")
    expect(anew.keys.keys.map(({ kid, life, signsFrom }) => [kid, life, signsFrom])).toEqual([
      ["three", hour, at(day + 1)],
      ["two", hour, begins]
    ])
  })

  test("lose one that others have at once, and another signs in its place", () => {
    expect(withdrawn(first, "one", undefined, at(1)).outcome).toBe("signs")
    const { keys, outcome } = withdrawn(first, "one", keyOf("two"), at(1))
    expect([outcome, kids(publishedAt(keys, at(1)))]).toEqual(["retired", ["two"]])
    expect(signingAt(keys, "ES256", at(1))?.kid).toBe("two")
    // One that signs no more does not sign again.
    const later3 = rotated(first, keyOf("two"), at(day))
    const begins = later3.keys[1]?.signsFrom ?? t0
    const without = withdrawn(later3, "two", keyOf("three"), begins)
    expect(signingAt(without.keys, "ES256", begins)?.kid).toBe("three")
    expect(withdrawn(without.keys, "nobody's", undefined, begins).outcome).toBe("unknown")
  })
})

/** What eight processes over one store do, each with a view of the keys that may be a moment old. */
const processes = 8
const staleness = 5000
const waits = [1, staleness - 1, staleness, 5 * minute, 15 * minute - 1, 15 * minute, hour, day, 91 * day] as const
const lives = [5 * minute, hour, 12 * hour] as const
const algorithms = ["ES256", "ES256", "RS256"] as const

const below = (count: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: count - 1 }))
const Does = Schema.Literals(["sign", "sign", "wait", "wait", "rotate", "retire", "keep"])

interface Step {
  readonly does: typeof Does.Type
  readonly process: number
  readonly pick: number
}

const steps = array(
  map(
    all([ofSchema(Does), ofSchema(below(processes)), ofSchema(below(1000))]),
    ([does, process, pick]): Step => ({
      does,
      process,
      pick
    })
  )
)

interface Signature {
  readonly kid: string
  readonly at: number
  readonly until: number
}

const choose = <A>(from: ReadonlyArray<A>, pick: number): A => {
  const chosen = from[pick % from.length]
  if (chosen === undefined) throw new Error("nothing to choose from")
  return chosen
}

/** Plays the steps; answers what was signed, and what the store held when. */
const play = (played: ReadonlyArray<Step>) => {
  const written: Array<readonly [at: number, keys: SigningKeys]> = [[0, none]]
  const signed: Array<Signature> = []
  const views = new Map<number, { readonly keys: SigningKeys; readonly until: number }>()
  let time: number = t0
  let drawn = 0
  const held = (): SigningKeys => written.at(-1)?.[1] ?? none
  const draw = (algorithm: Algorithm) => keyOf(`key ${drawn++}`, algorithm)
  const write = (keys: SigningKeys) => {
    if (keys !== held()) written.push([time, keys])
  }

  for (const { does, pick, process } of [...played, { does: "sign", process: 0, pick: 0 } as const]) {
    // No two clocks agree.
    const now = Instant.make(time + process * 30_000)
    const algorithm = choose(algorithms, pick)
    if (does === "wait") time += choose(waits, pick)
    if (does === "rotate") write(rotated(held(), draw(algorithm), now))
    if (does === "keep") {
      for (const due of dueAt(held(), now)) write(rotated(held(), draw(due), now))
      write(tidied(held(), now))
    }
    if (does === "retire" && held().keys.length > 0) write(retire(held(), choose(held().keys, pick).kid, now).keys)
    if (does === "sign") {
      const life = choose(lives, pick)
      const seen = views.get(process)
      const view = seen !== undefined && time < seen.until ? seen.keys : held()
      const ready = signingAt(view, algorithm, now)
      if (seen === undefined || time >= seen.until) views.set(process, { keys: view, until: time + staleness })
      if (ready === undefined || ready.life < life) {
        const next = readyFor(held(), algorithm, life, draw(algorithm), now) ?? held()
        write(next)
        views.set(process, { keys: next, until: time + staleness })
        signed.push({ kid: signingAt(next, algorithm, now)?.kid ?? "", at: time, until: now + life })
      } else signed.push({ kid: ready.kid, at: time, until: now + life })
    }
  }
  return { signed, written }
}

lawOf(
  "whatever is signed is verifiable by what any process publishes, from one cache lifetime before until it expires",
  steps,
  (played) => {
    const { signed, written } = play(played)
    const storedAt = (time: number) => written.findLast(([at]) => at <= time)?.[1] ?? none
    const isPublished = (kid: string, time: number) =>
      Array.from({ length: processes }, (_, process) => Instant.make(time + process * 30_000)).every((now) =>
        publishedAt(storedAt(time), now).some((key) => key.kid === kid)
      )
    return signed.every(({ at, kid, until }) => {
      const born = written.find(([, { keys }]) => keys.some((key) => key.kid === kid))
      const key = born?.[1].keys.find((one) => one.kid === kid)
      if (born === undefined || key === undefined) return false
      // The first of its algorithm signs at once.
      const from = key.signsFrom === key.madeAt ? Math.max(born[0], at - publishedFor) : at - publishedFor
      const moments = [from, at, until - 1, ...written.map(([time]) => time)]
      return moments.filter((time) => time >= from && time < until).every((time) => isPublished(kid, time))
    })
  }
)
