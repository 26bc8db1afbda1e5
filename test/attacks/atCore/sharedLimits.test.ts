import { describe, expect, test } from "bun:test"
import { Context, Effect, Fiber, Latch, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import * as Memory from "../../../adapters/memory/Memory.ts"
import { LimitSharing, limitKind, layer as sharedLimits } from "../../../core/limits/SharedLimiter.ts"
import { Entropy } from "../../../core/ports/Entropy.ts"
import { allowances, Limiter, type LimitKey } from "../../../core/ports/Limiter.ts"
import { Storage, StorageUnavailable } from "../../../core/ports/Storage.ts"
import { digestOf } from "../../../core/rules/Secret.ts"
import { WorkspaceId } from "../../../core/workspace/Workspace.ts"

const home = WorkspaceId.make("home")

const run = <A, E>(body: Effect.Effect<A, E, Storage | Entropy | Scope.Scope>): Promise<A> =>
  Effect.runPromise(
    Effect.scoped(TestClock.setTime(1_900_000_000_000).pipe(Effect.andThen(body))).pipe(
      Effect.provide(Layer.merge(Memory.layer, Entropy.layer)),
      Effect.provide(TestClock.layer())
    )
  )

const process = Effect.flatMap(Effect.context<Storage | Entropy>(), (below) =>
  Layer.build(Layer.fresh(sharedLimits)).pipe(Effect.provideContext(below))
)

describe("telling other processes what was taken", () => {
  test("does not punish a caller for what has long been refilled", () =>
    run(
      Effect.gen(function* () {
        const one = yield* process
        const { share } = Context.get(one, LimitSharing)
        const key: LimitKey = { allowance: allowances.authorize, workspace: home, of: "198.51.100.7" }
        let refused = 0
        // A little more than is refilled: in ten minutes 31,200 of the 33,000 that there may be.
        for (let second = 0; second < 600; second++) {
          for (let request = 0; request < 52; request++) {
            const taken = yield* Effect.result(Context.get(one, Limiter).take(key))
            if (taken._tag === "Failure") refused++
          }
          yield* share
          yield* TestClock.adjust("1 second")
        }
        expect(refused).toBe(0)
      })
    ))

  test("goes on past one record that cannot be had", () =>
    run(
      Effect.gen(function* () {
        const storage = yield* Storage
        const one = yield* process
        const two = yield* process
        const allowance = { name: "knock", burst: 10, refill: 1000 }
        const of = (name: string): LimitKey => ({ allowance, workspace: home, of: name })
        // As a later release might write it.
        yield* storage.insert({
          workspace: home,
          kind: limitKind.kind,
          id: `knock:${digestOf("poisoned")}`,
          owner: "limits",
          expiresAt: null,
          body: { _v: 99, _by: "later" }
        })
        const takeAll = (from: typeof one, name: string) =>
          Effect.forEach(Array.from({ length: 10 }), () => Effect.result(Context.get(from, Limiter).take(of(name))))
        yield* takeAll(one, "poisoned")
        yield* takeAll(one, "greedy")
        const { share } = Context.get(one, LimitSharing)
        expect((yield* Effect.result(share))._tag).toBe("Failure")
        expect((yield* Effect.result(share))._tag).toBe("Failure")

        yield* Context.get(two, Limiter).take(of("greedy"), 3)
        yield* Context.get(two, LimitSharing).share
        expect((yield* Effect.result(Context.get(two, Limiter).take(of("greedy"))))._tag).toBe("Failure")
      })
    ))

  test("is done many at once, and what fails takes nobody along", () =>
    run(
      Effect.gen(function* () {
        const storage = yield* Storage
        const gate = Latch.makeUnsafe()
        let begun = 0
        const refused = `knock:${digestOf("caller 0")}`
        const away = new StorageUnavailable({ outcome: "not_done", message: "away" })
        const one = yield* process.pipe(
          Effect.provideService(Storage, {
            ...storage,
            insert: (record) =>
              Effect.suspend(() => {
                begun++
                return Effect.andThen(gate.await, record.id === refused ? Effect.fail(away) : storage.insert(record))
              })
          })
        )
        const allowance = { name: "knock", burst: 10, refill: 1000 }
        for (let n = 0; n < 100; n++) {
          yield* Context.get(one, Limiter).take({ allowance, workspace: home, of: `caller ${n}` }, 5)
        }
        const { share } = Context.get(one, LimitSharing)
        const sharing = yield* Effect.forkChild(Effect.result(share), { startImmediately: true })
        expect(begun).toBe(64)
        yield* gate.open
        expect((yield* Fiber.join(sharing))._tag).toBe("Failure")
        begun = 0
        expect((yield* Effect.result(share))._tag).toBe("Failure")
        expect(begun).toBe(37)
      })
    ))
})
