import { describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Context, Effect, Layer, Result } from "effect"
import { memory } from "../../adapters/memory/store.ts"
import type { Store } from "../../adapters/StoreKind.ts"
import { Storage, StorageScan } from "../../core/ports/Storage.ts"
import { everyRecord } from "../processes/olderRelease.ts"
import { playModel } from "./playModel.ts"
import { readWish, type Wish } from "./Wish.ts"

const wishOf = (...args: ReadonlyArray<string>) => readWish(args, () => 4711)
const wished = (...args: ReadonlyArray<string>): Wish => Result.getOrThrow(wishOf(...args))

const played = (wish: Wish) =>
  Effect.gen(function* () {
    const said: Array<string> = []
    const agreed = yield* playModel(wish, (line) => said.push(line))
    return { agreed, said }
  })

/** The store in memory, seen from outside too, and with a fault. */
const watched = (fault: (sound: Storage["Service"]) => Partial<Storage["Service"]> = () => ({})) =>
  Effect.gen(function* () {
    const kept = Result.getOrThrow(memory.at("memory:"))
    const built = yield* Layer.build(kept.open({}))
    const sound = Context.get(built, Storage)
    const opened = Context.add(built, Storage, Storage.of({ ...sound, ...fault(sound) }))
    const store: Store = { ...kept, open: () => Layer.succeedContext(opened) }
    return { store, sound, scan: Context.get(built, StorageScan).scan }
  })

describe("npm run model", () => {
  test("plays so many scripts over the store of a URL, from a seed that it prints first", () =>
    Effect.gen(function* () {
      const { agreed, said } = yield* played(wished("--scripts", "30", "--store", "memory:"))
      expect(agreed).toBe(true)
      expect(said[0]).toStartWith("Seed 4711: 30 scripts")
      expect(said.length).toBeLessThanOrEqual(22)
      expect(said.at(-1)).toContain("30 scripts")
    }).pipe(Effect.runPromise))

  test("leaves alone what others keep in the store, however old, and leaves nothing behind", () =>
    Effect.gen(function* () {
      const { scan, sound, store } = yield* watched()
      const others = { workspace: "workspace-0", kind: "grant", id: "g", owner: "o", expiresAt: 1000, body: 1 } as const
      yield* sound.insert(others)
      expect((yield* played({ ...wished("--scripts", "20"), store })).agreed).toBe(true)
      expect(yield* everyRecord(scan)).toEqual([{ ...others, version: 1 }])
    }).pipe(Effect.scoped, Effect.runPromise))

  test("shows where a store makes the core part from the model, and the seed that shows it again", () =>
    Effect.gen(function* () {
      // One that loses every swap of a grant, and says that it was done.
      const { store } = yield* watched((sound) => ({
        replace: (expected, record) => (record.kind === "grant" ? Effect.void : sound.replace(expected, record))
      }))
      const first = yield* played({ ...wished("--scripts", "200"), store })
      expect(first.agreed).toBe(false)
      const seed = /--scripts 1 --seed (\d+)/.exec(first.said.at(-1) ?? "")?.[1] ?? ""
      const again = yield* played({ ...wished("--scripts", "1", "--seed", seed), store })
      expect(again.agreed).toBe(false)
      expect(again.said.at(-2)).toBe(first.said.at(-2) ?? "")
    }).pipe(Effect.scoped, Effect.runPromise))

  const wrong = [
    ["--scripts", "0"],
    ["--scripts", "1e3"],
    ["--seed", "-1"],
    ["--store", "nothing:here"],
    ["--script", "3"],
    ["3"]
  ]
  test.each(wrong)("refuses %s %s", (...args) => {
    const refused = wishOf(...args)
    expect(Result.isFailure(refused) && refused.failure).toContain("npm run model")
  })

  test("is a program: status 0 where both agree, 2 where it does not understand", () => {
    const main = join(import.meta.dir, "main.ts")
    const ended = (...args: ReadonlyArray<string>) =>
      Bun.spawnSync([process.execPath, "--no-env-file", main, ...args], { stdout: "pipe", stderr: "pipe" })
    const agreed = ended("--scripts", "3")
    expect([agreed.exitCode, agreed.stdout.toString()]).toEqual([0, expect.stringMatching(/^Seed \d+: 3 scripts/)])
    const another = /^Seed \d+/.exec(ended("--scripts", "1").stdout.toString())?.[0]
    expect(another).not.toBe(/^Seed \d+/.exec(agreed.stdout.toString())?.[0])
    expect(ended("--scripts", "none").exitCode).toBe(2)
  })
})
