import { describe, expect, test } from "bun:test"
import { Deferred, Effect, Fiber, Logger, Result } from "effect"
import { TestClock } from "effect/testing"
import { type Kept, RecordCache } from "../../core/engine/caches.ts"
import type { Records } from "../../core/engine/Records.ts"
import { Held } from "../../core/engine/Spending.ts"
import { cleanUpOrWarn, makeGrantDecisions, transact } from "../../core/engine/transact.ts"
import { answer, answerAndKeep, refuse, refuseAndKeep } from "../../core/grant/Decision.ts"
import type { Grant } from "../../core/grant/Grant.ts"
import { revoked } from "../../core/grant/revoke.ts"
import { Conflict, StorageUnavailable, Taken } from "../../core/ports/Storage.ts"
import { Contended } from "../../core/rules/Refusal.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"
import { active, after, policy, standing, t0 } from "../grant/given.ts"

const home = WorkspaceId.make("home")
const away = (outcome: StorageUnavailable["outcome"]) => new StorageUnavailable({ outcome, message: "away" })

/** What happens to a write: it goes through, conflicts with another process, or the store falls silent. */
type Weather =
  | "fair"
  /** Another process writes first. */
  | "lost"
  | "refused"
  /** The store falls silent before the write, or after it … */
  | "silent"
  | "written_silent"
  /** … or after it, and another process has written over it before the reread. */
  | "overwritten_silent"
  /** The store falls silent, and another process writes instead. */
  | "replaced_silent"

interface Shelf {
  readonly records: Records<number>
  readonly writes: Array<string>
  readonly kept: () => Kept<number> | undefined
}

/** One number in a store with weather: a value for each write in turn, fair from then on. */
const shelf = (start: number | undefined, weather: ReadonlyArray<Weather>): Shelf => {
  let kept: Kept<number> | undefined = start === undefined ? undefined : { value: start, version: 1, command: "start" }
  const writes: Array<string> = []
  const put = (value: number, command: string) => {
    kept = { value, version: (kept?.version ?? 0) + 1, command }
  }
  const write = (verb: string, expected: number, value: number, command: string) =>
    Effect.suspend((): Effect.Effect<void, Conflict | StorageUnavailable> => {
      const turn = weather[writes.length] ?? "fair"
      writes.push(`${verb} ${value}`)
      if (turn === "refused") return Effect.fail(away("not_done"))
      if (turn === "lost") put((kept?.value ?? 0) + 100, "somebody else")
      if (turn === "replaced_silent") put((kept?.value ?? 0) + 100, "somebody else")
      if (turn === "silent" || turn === "replaced_silent") return Effect.fail(away("unknown"))
      if (expected !== (kept?.version ?? 0)) return Effect.fail(new Conflict())
      put(value, command)
      if (turn === "overwritten_silent") put(value + 100, "somebody else")
      return turn === "fair" ? Effect.void : Effect.fail(away("unknown"))
    })
  return {
    writes,
    kept: () => kept,
    records: {
      get: (workspace, id) => (workspace === home && id === "it" ? Effect.sync(() => kept) : Effect.succeed(undefined)),
      insert: (_workspace, value, command) => write("insert", 0, value, command),
      replace: (_workspace, expected, value, command) => write("replace", expected, value, command),
      remove: () => Effect.void,
      list: () => Effect.succeed({ values: [], next: undefined })
    }
  }
}

const entropyOf = (byte = 0) => {
  const drawn: Array<number> = []
  return {
    drawn,
    bytes: (length: number) => {
      drawn.push(length)
      return new Uint8Array(length).fill(byte)
    }
  }
}

const addOne = (value: number | undefined) => answerAndKeep((value ?? 0) + 1, `was ${value}`)

const add = (on: Shelf, entropy = entropyOf()) => transact(on.records, entropy, home, "it", addOne)

/** Lets all fibers that can go on without time passing do so, then lets it pass. */
const pass = (millis: number) =>
  Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 40 }), TestClock.adjust(millis)).pipe(
    Effect.andThen(Effect.repeat(Effect.yieldNow, { times: 40 }))
  )

const run = <A, E>(body: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(body.pipe(Effect.provide(TestClock.layer())))

describe("read, decide, swap", () => {
  test("inserts where there was nothing, replaces where there was something", () =>
    run(
      Effect.gen(function* () {
        const [empty, full] = [shelf(undefined, []), shelf(7, [])]
        expect(yield* add(empty)).toEqual(Result.succeed("was undefined"))
        expect(yield* add(full)).toEqual(Result.succeed("was 7"))
        expect([empty.writes, full.writes]).toEqual([["insert 1"], ["replace 8"]])
        expect(full.kept()).toMatchObject({ value: 8, version: 2 })
      })
    ))

  test("names each write by a command of nine random bytes", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, [])
        const entropy = entropyOf(0xab)
        yield* add(on, entropy)
        expect([entropy.drawn, on.kept()?.command]).toEqual([[9], "ab".repeat(9)])
      })
    ))

  test("writes nothing where the decision keeps nothing, answer or refusal", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, [])
        const decide = (decision: ReturnType<typeof answer<number>> | ReturnType<typeof refuse<string>>) =>
          transact(on.records, entropyOf(), home, "it", () => decision)
        expect(yield* decide(answer(1))).toEqual(Result.succeed(1))
        expect(yield* decide(refuse("no"))).toEqual(Result.fail("no"))
        expect(on.writes).toEqual([])
      })
    ))

  test("keeps what a refusal keeps before it refuses", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, ["lost"])
        const outcome = yield* transact(on.records, entropyOf(), home, "it", (value) =>
          refuseAndKeep((value ?? 0) + 1, `no, at ${value}`)
        )
        expect([outcome, on.kept()?.value]).toEqual([Result.fail("no, at 107"), 108])
      })
    ))
})

describe("a lost swap", () => {
  test("decides again on what won, at once the first three times, and says so", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, ["lost", "lost", "lost"])
        const entropy = entropyOf()
        expect(yield* add(on, entropy)).toEqual(Result.succeed("was 307"))
        expect(on.writes).toEqual(["replace 8", "replace 108", "replace 208", "replace 308"])
        expect(entropy.drawn).toEqual([9])
      })
    ))

  test("writes nothing where what won leaves nothing to do, answer or refusal", () =>
    run(
      Effect.gen(function* () {
        for (const over of [answer("done already"), refuse("too late")]) {
          const on = shelf(7, ["lost"])
          const outcome = yield* transact(on.records, entropyOf(), home, "it", (value) =>
            value === 7 ? answerAndKeep<string, number>(8, "mine") : over
          )
          expect(outcome).toEqual(over.outcome)
          expect([on.writes, on.kept()?.value]).toEqual([["replace 8"], 107])
        }
      })
    ))

  test("decides again where another process was the first to insert", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(undefined, ["lost"])
        expect(yield* add(on)).toEqual(Result.succeed("was 100"))
        expect(on.writes).toEqual(["insert 1", "replace 101"])
      })
    ))

  test("waits a random moment from the fifth attempt on, at most twice as long each time, up to 64 ms", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, Array<Weather>(15).fill("lost"))
        const fiber = yield* Effect.forkChild(add(on, entropyOf(255)))
        const attemptsAfter: Array<number> = []
        for (const millis of [1, 1, 2, 1, 4, 1, 8, 1, 16, 1, 32, 1]) {
          yield* pass(millis)
          attemptsAfter.push(on.writes.length)
        }
        expect(attemptsAfter).toEqual([4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10])
        yield* pass(64)
        expect(on.writes.length).toBe(10)
        yield* pass(1)
        expect(on.writes.length).toBe(11)
        yield* pass(65)
        expect(on.writes.length).toBe(12)
        yield* pass(65).pipe(Effect.repeat({ times: 10 }))
        expect(yield* Fiber.join(fiber)).toEqual(Result.succeed("was 1507"))
      })
    ))

  test("waits one millisecond at least, however the dice fall", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, Array<Weather>(6).fill("lost"))
        const fiber = yield* Effect.forkChild(add(on, entropyOf(0)))
        yield* pass(2)
        expect(on.writes.length).toBe(6)
        yield* pass(1)
        expect(yield* Fiber.join(fiber)).toEqual(Result.succeed("was 607"))
      })
    ))

  test("is given up after sixteen attempts, and nothing of ours was written", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, Array<Weather>(20).fill("lost"))
        const fiber = yield* Effect.forkChild(Effect.flip(add(on)))
        yield* pass(65).pipe(Effect.repeat({ times: 16 }))
        expect(yield* Fiber.join(fiber)).toEqual(new Contended())
        expect([on.writes.length, on.kept()?.command]).toEqual([16, "somebody else"])
      })
    ))
})

describe("a store that falls silent", () => {
  test("at the last attempt: the answer does not say that nothing was written", () =>
    run(
      Effect.gen(function* () {
        for (const last of ["written_silent", "silent"] as const) {
          const on = shelf(7, [...Array<Weather>(15).fill("lost"), last])
          const fiber = yield* Effect.forkChild(Effect.flip(add(on)))
          yield* pass(65).pipe(Effect.repeat({ times: 16 }))
          expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "StorageUnavailable", outcome: "unknown" })
        }
      })
    ))

  test("before it wrote anything: the failure is told, and nothing is repeated", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, ["refused"])
        expect(yield* Effect.flip(add(on))).toEqual(away("not_done"))
        expect([on.writes, on.kept()?.value]).toEqual([["replace 8"], 7])
      })
    ))

  test("after it wrote: the own write is recognised, and answered for as if nothing had been", () =>
    run(
      Effect.gen(function* () {
        for (const start of [7, undefined]) {
          const on = shelf(start, ["written_silent"])
          expect(yield* add(on)).toEqual(Result.succeed(`was ${start}`))
          expect([on.writes.length, on.kept()?.value]).toEqual([1, (start ?? 0) + 1])
        }
      })
    ))

  test("and did not write: the write is made once more", () =>
    run(
      Effect.gen(function* () {
        for (const start of [7, undefined]) {
          const on = shelf(start, ["silent"])
          expect(yield* add(on)).toEqual(Result.succeed(`was ${start}`))
          expect([on.writes.length, on.kept()?.value]).toEqual([2, (start ?? 0) + 1])
        }
      })
    ))

  test("again and again: every write is looked for before the next", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, ["lost", "silent", "written_silent"])
        expect(yield* add(on)).toEqual(Result.succeed("was 107"))
        expect([on.writes.length, on.kept()?.value]).toEqual([3, 108])
      })
    ))

  test("and another process has written since, over our write or instead of it: there is no telling", () =>
    run(
      Effect.gen(function* () {
        const unknown = new StorageUnavailable({ outcome: "unknown", message: "the outcome of a write is not known" })
        for (const weather of ["overwritten_silent", "replaced_silent"] as const) {
          for (const start of [7, undefined]) {
            const on = shelf(start, [weather])
            expect(yield* Effect.flip(add(on))).toEqual(unknown)
            expect(on.writes).toHaveLength(1)
          }
        }
      })
    ))

  test("and cannot be asked, or refuses the next write: the outcome stays unknown, whatever it says of that", () =>
    run(
      Effect.gen(function* () {
        for (const start of [7, undefined]) {
          const on = shelf(start, ["written_silent"])
          let reads = 0
          const get: Shelf["records"]["get"] = (workspace, id) =>
            reads++ === 0 ? on.records.get(workspace, id) : Effect.fail(away("not_done"))
          const looked = transact({ ...on.records, get }, entropyOf(), home, "it", addOne)
          expect(yield* Effect.flip(looked)).toEqual(away("unknown"))

          const refused = shelf(start, ["silent", "refused"])
          expect(yield* Effect.flip(add(refused))).toEqual(away("unknown"))
          expect(refused.writes).toHaveLength(2)
        }
      })
    ))

  test("where nothing is uncertain: a look that fails is told as it is", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, ["lost"])
        let reads = 0
        const get: Shelf["records"]["get"] = (workspace, id) =>
          reads++ === 0 ? on.records.get(workspace, id) : Effect.fail(away("not_done"))
        const looked = transact({ ...on.records, get }, entropyOf(), home, "it", addOne)
        expect(yield* Effect.flip(looked)).toEqual(away("not_done"))
      })
    ))

  test("when it is read: the failure is told", () =>
    run(
      Effect.gen(function* () {
        const on = shelf(7, [])
        const records = { ...on.records, get: () => Effect.fail(away("not_done")) }
        expect(yield* Effect.flip(transact(records, entropyOf(), home, "it", addOne))).toEqual(away("not_done"))
      })
    ))
})

describe("decisions about grants", () => {
  const staleness = policy.clientStaleness

  /** One grant in a store, and how often it was read. `held`: what a read waits for. */
  const shelfOf = (start: Grant) => {
    let kept: Kept<Grant> = { value: start, version: 1, command: "start" }
    const held: Effect.Effect<void> = Effect.void
    const on = { reads: 0, held, gone: false, lost: false, kept: () => kept.value }
    const records: Records<Grant> = {
      get: () =>
        Effect.suspend(() => {
          on.reads++
          const found = on.gone ? undefined : kept
          return Effect.as(on.held, found)
        }),
      insert: () => Effect.die("it is there"),
      replace: (_workspace, version, value, command) =>
        Effect.suspend((): Effect.Effect<void, Conflict | StorageUnavailable> => {
          if (on.lost) return Effect.fail(away("not_done"))
          if (version !== kept.version) return Effect.fail(new Conflict())
          kept = { value, version: version + 1, command }
          return Effect.void
        }),
      remove: () => Effect.void,
      list: () => Effect.succeed({ values: [], next: undefined })
    }
    return { on, decisions: makeGrantDecisions(records, entropyOf(), policy) }
  }

  const own = standing()
  const epochOf = (grant: Grant | undefined) => (grant?._tag === "Standing" ? grant.access.epoch : undefined)
  const look = (grant: Grant | undefined) => answer(epochOf(grant))
  const raise = (grant: Grant | undefined) =>
    grant?._tag === "Standing"
      ? answerAndKeep<number, Grant>({ ...grant, access: { ...grant.access, epoch: grant.access.epoch + 1 } }, 0)
      : answer(0)

  test("look at a client's own grant as it was a moment ago, and at every other one as it is", () =>
    run(
      Effect.gen(function* () {
        const { decisions, on } = shelfOf(own)
        const ownAt = (millis: number) => decisions.decideOwn(home, own.id, look, after(millis))
        for (const [millis, reads] of [
          [0, 1],
          [staleness - 1, 1],
          [staleness, 2],
          [staleness + 1, 2],
          // A clock that was set back does not tell for how long it has been.
          [0, 3]
        ] as const) {
          expect(yield* ownAt(millis)).toEqual(Result.succeed(0))
          expect([millis, on.reads]).toEqual([millis, reads])
        }
        expect(yield* decisions.decide(home, own.id, look)).toEqual(Result.succeed(0))
        expect(on.reads).toBe(4)
        yield* decisions.decideOwn(WorkspaceId.make("elsewhere"), own.id, look, after(1))
        expect(on.reads).toBe(5)
      })
    ))

  test("remember no grant that belongs to a person's sign-in", () =>
    run(
      Effect.gen(function* () {
        const { decisions, on } = shelfOf(active())
        for (const reads of [1, 2]) {
          yield* decisions.decideOwn(home, own.id, look, t0)
          expect(on.reads).toBe(reads)
        }
      })
    ))

  test("that write are made on the stored grant, and the one that was remembered counts no more", () =>
    run(
      Effect.gen(function* () {
        const { decisions, on } = shelfOf(own)
        const epoch = Effect.suspend(() => decisions.decideOwn(home, own.id, look, t0))
        expect(yield* epoch).toEqual(Result.succeed(0))
        yield* decisions.decideOwn(home, own.id, raise, t0)
        expect([on.reads, epochOf(on.kept())]).toEqual([2, 1])
        expect(yield* epoch).toEqual(Result.succeed(1))
        yield* decisions.decide(home, own.id, raise)
        expect(yield* epoch).toEqual(Result.succeed(2))
        // What changes nothing, or is refused, is no reason to read again.
        const { reads } = on
        yield* decisions.decide(home, own.id, look)
        yield* decisions.decide(home, own.id, () => refuse("no"))
        expect(yield* epoch).toEqual(Result.succeed(2))
        expect(on.reads).toBe(reads + 2)
        decisions.forget(home, own.id)
        yield* epoch
        expect(on.reads).toBe(reads + 3)
      })
    ))

  test("leave no copy behind of a grant that ended, or where the answer of the store was lost", () =>
    run(
      Effect.gen(function* () {
        const { decisions, on } = shelfOf(own)
        const ends = (grant: Grant | undefined) =>
          grant === undefined ? answer(0) : answerAndKeep(revoked(grant, "by_owner", policy, t0), 0)
        const tagged = (grant: Grant | undefined) => answer(grant?._tag)
        const tag = Effect.suspend(() => decisions.decideOwn(home, own.id, tagged, t0))
        expect(yield* tag).toEqual(Result.succeed("Standing"))
        on.lost = true
        expect(yield* Effect.flip(decisions.decide(home, own.id, ends))).toEqual(away("not_done"))
        on.lost = false
        const { reads } = on
        expect(yield* tag).toEqual(Result.succeed("Standing"))
        expect(on.reads).toBe(reads + 1)
        yield* decisions.decide(home, own.id, ends)
        expect(yield* tag).toEqual(Result.succeed("Revoked"))
        on.gone = true
        expect(yield* tag).toEqual(Result.succeed(undefined))
      })
    ))

  test("hand on what they are to wait for before they write, and write nothing where that fails", () =>
    run(
      Effect.gen(function* () {
        const { decisions, on } = shelfOf(own)
        const no = { ready: () => Effect.fail("no"), spending: undefined }
        expect(yield* Effect.flip(decisions.decideOwn(home, own.id, raise, t0, no))).toBe("no")
        yield* decisions.decideOwn(home, own.id, look, t0, no)
        // Also where it is at hand.
        expect(yield* Effect.flip(decisions.decideOwn(home, own.id, raise, t0, no))).toBe("no")
        expect(yield* Effect.flip(decisions.decide(home, own.id, raise, no))).toBe("no")
        expect(epochOf(on.kept())).toBe(0)
      })
    ))

  test("do not remember what was read before a change that ended meanwhile", () =>
    run(
      Effect.gen(function* () {
        const { decisions, on } = shelfOf(own)
        const gate = yield* Deferred.make<void>()
        on.held = Deferred.await(gate)
        const slow = yield* Effect.forkChild(decisions.decideOwn(home, own.id, look, t0), { startImmediately: true })
        on.held = Effect.void
        yield* decisions.decide(home, own.id, raise)
        yield* Deferred.succeed(gate, undefined)
        expect(yield* Fiber.join(slow)).toEqual(Result.succeed(0))
        expect(yield* decisions.decideOwn(home, own.id, look, t0)).toEqual(Result.succeed(1))
      })
    ))

  test("forget what was read while they wrote", () =>
    run(
      Effect.gen(function* () {
        const { decisions } = shelfOf(own)
        // Begun while the write is under way, and read as it was before.
        const between = () => Effect.asVoid(Effect.orDie(decisions.decideOwn(home, own.id, look, t0)))
        yield* decisions.decide(home, own.id, raise, { ready: between, spending: undefined })
        expect(yield* decisions.decideOwn(home, own.id, look, t0)).toEqual(Result.succeed(1))
      })
    ))
})

/** What a request spends beside a decision: it is new, another's, or taken by a write before. */
const spendingOn = (on: Shelf, weather: ReadonlyArray<Weather | "taken">) => {
  const asked: Array<string> = []
  let isTaken = false
  const spend = Effect.suspend(() => {
    asked.push("spend")
    return isTaken ? Effect.fail("replayed") : Effect.void
  })
  const held = new Held<string>(anyRecord, spend, Effect.fail("replayed"))
  const records: Records<number> = {
    ...on.records,
    replaceWith: (added, workspace, expected, value, command) =>
      Effect.suspend((): Effect.Effect<void, Taken | Conflict | StorageUnavailable> => {
        const turn = weather[asked.length] ?? "fair"
        asked.push(`with ${added.map(({ id }) => id).join(" and ")}`)
        if (turn === "taken") {
          isTaken = true
          return Effect.fail(new Taken({ id: "jti" }))
        }
        return on.records.replace(workspace, expected, value, command)
      })
  }
  const first = { spending: { held: [held], spent: held.spent } }
  return { asked, decided: transact(remembering(records, on), entropyOf(), home, "it", addOne, first) }
}

const anyRecord = { workspace: home, kind: "once" as const, id: "jti", owner: "o", expiresAt: null, body: {} }

/** With the record at hand. */
const remembering = (records: Records<number>, on: Shelf): Records<number> => {
  const cache = new RecordCache<number>(9)
  const kept = on.kept()
  if (kept !== undefined) cache.wrote(home, "it", {}, kept)
  return { ...records, cache }
}

describe("what a request spends", () => {
  /** By what happens to the write that takes it along: what is asked for, and how it ends. */
  const rows = [
    { weather: ["fair"], asked: ["with jti"], writes: ["replace 8"], ends: Result.succeed("was 7") },
    { weather: ["lost"], asked: ["with jti"], writes: ["replace 8", "replace 108"], ends: Result.succeed("was 107") },
    {
      weather: ["silent"],
      asked: ["with jti", "spend"],
      writes: ["replace 8", "replace 8"],
      ends: Result.succeed("was 7")
    },
    { weather: ["written_silent"], asked: ["with jti"], writes: ["replace 8"], ends: Result.succeed("was 7") },
    { weather: ["refused"], asked: ["with jti"], writes: ["replace 8"], ends: away("not_done") },
    { weather: ["taken"], asked: ["with jti"], writes: [], ends: "replayed" }
  ] as const
  for (const { asked, ends, weather, writes } of rows) {
    test(`goes along with a write on a record at hand: ${weather}`, () =>
      run(
        Effect.gen(function* () {
          const on = shelf(
            7,
            weather.filter((one) => one !== "taken")
          )
          const spending = spendingOn(on, weather)
          const ended = yield* Effect.catch(spending.decided, (fault) => Effect.succeed<unknown>(fault))
          expect([ended, spending.asked, on.writes]).toEqual([ends, [...asked], [...writes]])
        })
      ))
  }

  test("is spent beside a read, and by itself where nothing is replaced", () =>
    run(
      Effect.gen(function* () {
        const unread = shelf(7, [])
        const held = new Held<string>(anyRecord, Effect.void, Effect.fail("replayed"))
        const first = { spending: { held: [held], spent: held.spent } }
        expect(yield* transact(unread.records, entropyOf(), home, "it", addOne, first)).toEqual(Result.succeed("was 7"))
        expect([held.isBegun, unread.writes]).toEqual([true, ["replace 8"]])
      })
    ))

  test("is spent once, whoever waits for it, and a refusal is told to all", () =>
    run(
      Effect.gen(function* () {
        let spent = 0
        const held = new Held<string>(
          anyRecord,
          Effect.sync(() => void spent++),
          Effect.suspend(() => {
            spent++
            return Effect.fail("replayed")
          })
        )
        yield* held.spent
        yield* held.spent
        expect(spent).toBe(1)
        const other = new Held<string>(anyRecord, Effect.die("asked for twice"), Effect.fail("replayed"))
        expect([yield* Effect.flip(other.refuse), yield* Effect.flip(other.spent)]).toEqual(["replayed", "replayed"])
      })
    ))
})

describe("a clean-up after the write that decides", () => {
  test("is answered for, and one that fails is logged with what it was about, and fails nothing", () =>
    run(
      Effect.gen(function* () {
        const lines: Array<unknown> = []
        const logger = Logger.make(({ message }) => lines.push(message))
        const cleaned = (tidying: Effect.Effect<void, StorageUnavailable>) =>
          cleanUpOrWarn(home, tidying, "left", { grant: "g" }).pipe(Effect.provide(Logger.layer([logger])))
        expect(yield* cleaned(Effect.void)).toBe(true)
        expect(lines).toEqual([])
        expect(yield* cleaned(Effect.fail(away("not_done")))).toBe(false)
        expect(lines).toEqual([["left", { workspace: home, grant: "g", fault: "StorageUnavailable" }]])
      })
    ))
})
