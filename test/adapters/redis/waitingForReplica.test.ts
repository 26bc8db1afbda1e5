import { expect, test } from "bun:test"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { onceSettled } from "../../../adapters/redis/reads.ts"
import { insertScript } from "../../../adapters/redis/scripts.ts"
import type { Wire } from "../../../adapters/redis/Wire.ts"
import { waitingForReplica } from "../../../adapters/redis/waitingForReplica.ts"
import { StorageUnavailable } from "../../../core/ports/Storage.ts"

/** A server whose replicas and connections a test has in its hand. */
const openServer = () => {
  const server = {
    /** How many replicas have what was written last. */
    replicas: 1,
    losses: 0,
    asked: [] as Array<readonly [name: string, ...args: ReadonlyArray<string | number>]>,
    /** What happens between a write and the question for its replicas. */
    written: Effect.void as Effect.Effect<void>,
    answer: 1 as unknown
  }
  const wire: Wire = {
    deadline: () => performance.now() + 1000,
    ask: (name, args) =>
      Effect.sync(() => {
        server.asked.push([name, ...args])
        return name === "wait" ? server.replicas : "OK"
      }),
    run: () =>
      Effect.as(
        Effect.suspend(() => server.written),
        server.answer
      ),
    tooBusy: () => new StorageUnavailable({ outcome: "not_done", message: "busy" }),
    losses: () => server.losses,
    masters: () => []
  }
  const waiting = waitingForReplica(wire, "mark")
  const write = (record: string, deadline = waiting.deadline()) =>
    Effect.exit(waiting.run(insertScript, [record, "shard"], [], deadline))
  const isUnsure = (record: string) => waiting.settled(record) !== undefined
  return { server, waiting, write, isUnsure }
}

const unknown = Exit.fail(expect.objectContaining({ outcome: "unknown" }))

test("a write is done where the replica is asked over the connection that wrote, and unknown over the next", () =>
  Effect.gen(function* () {
    const { isUnsure, server, write } = openServer()
    expect(yield* write("a")).toEqual(Exit.succeed(1))
    server.written = Effect.sync(() => {
      server.losses++
    })
    expect(yield* write("a")).toEqual(unknown)
    expect(isUnsure("a")).toBe(true)
    expect(isUnsure("b")).toBe(false)
  }).pipe(Effect.runPromise))

test("a replica that has what was written before says nothing of what was written since", () =>
  Effect.gen(function* () {
    const { isUnsure, server, waiting, write } = openServer()
    server.replicas = 0
    expect(yield* write("a")).toEqual(unknown)
    // Another write begins, and while it is under way one is made that no replica has.
    const [begun, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    server.written = Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(goOn))
    const other = yield* Effect.forkChild(write("b"))
    yield* Deferred.await(begun)
    server.written = Effect.void
    expect(yield* write("c")).toEqual(unknown)
    server.replicas = 1
    yield* Deferred.succeed(goOn, undefined)
    expect(yield* Fiber.join(other)).toEqual(Exit.succeed(1))
    expect(["a", "b", "c"].map(isUnsure)).toEqual([false, false, true])
    // Asked about it, the replica has it by now.
    yield* waiting.settled("c") ?? Effect.die("nothing to wait for")
    expect(isUnsure("c")).toBe(false)
  }).pipe(Effect.runPromise))

test("a record that may be on no replica is written only once one has it", () =>
  Effect.gen(function* () {
    const { server, write } = openServer()
    server.replicas = 0
    expect(yield* write("a")).toEqual(unknown)
    let writes = 0
    server.written = Effect.sync(() => {
      writes++
    })
    expect(yield* write("a")).toEqual(Exit.fail(expect.objectContaining({ outcome: "not_done" })))
    expect(writes).toBe(0)
    server.replicas = 1
    expect(yield* write("a")).toEqual(Exit.succeed(1))
  }).pipe(Effect.runPromise))

test("what was read over a connection that is lost by now is read again over the next", () =>
  Effect.gen(function* () {
    const { server, waiting, write } = openServer()
    server.replicas = 0
    expect(yield* write("a")).toEqual(unknown)
    server.replicas = 1
    let reads = 0
    const read = Effect.sync(() => {
      reads++
      if (reads === 1) server.losses++
      return reads
    })
    expect(yield* onceSettled(waiting, "a", read)).toBe(2)
    expect(yield* onceSettled(waiting, "a", read)).toBe(3)
  }).pipe(Effect.runPromise))

test("where too many are on no replica to know each, all wait", () =>
  Effect.gen(function* () {
    const { isUnsure, server, write } = openServer()
    server.replicas = 0
    yield* Effect.forEach(
      Array.from({ length: 9999 }, (_, n) => `record ${n}`),
      (record) => write(record)
    )
    expect(isUnsure("another")).toBe(false)
    yield* write("the last one")
    expect(isUnsure("another")).toBe(true)
  }).pipe(Effect.runPromise))

test("a replica is waited for no longer than a second, and never for ever", () =>
  Effect.gen(function* () {
    const { server, waiting, write } = openServer()
    for (const left of [-50, 0, 0.5, 100, 60_000]) yield* write("a", performance.now() + left)
    const waited = server.asked.filter(([name]) => name === "wait").map(([, , millis]) => Number(millis))
    expect(waited.slice(0, 3)).toEqual([1, 1, 1])
    expect(waited[3]).toBeLessThanOrEqual(50)
    expect(waited[4]).toBe(1000)
    expect(waiting.settled("a")).toBeUndefined()
  }).pipe(Effect.runPromise))

test("what wrote nothing waits for no replica", () =>
  Effect.gen(function* () {
    const { server, write } = openServer()
    server.replicas = 0
    for (const answer of [0, null, "00E", ["path", '1 1 - x "o"']]) {
      server.answer = answer
      expect(yield* write("a")).toEqual(Exit.succeed(answer))
    }
    for (const answer of [1, "01", '1 3 - x "o"']) {
      server.answer = answer
      expect(yield* write(`${answer}`)).toEqual(unknown)
    }
  }).pipe(Effect.runPromise))
