import { expect, test } from "bun:test"
import { ConfigProvider, Effect, Redacted, Result } from "effect"
import { makeMemory } from "../../adapters/memory/MemoryStorage.ts"
import { openLazily, type StoreKind } from "../../adapters/StoreKind.ts"
import { StoreKinds } from "../../adapters/stores.ts"
import { type NewRecord, StorageUnavailable } from "../../core/ports/Storage.ts"
import { Contended } from "../../core/rules/Refusal.ts"
import { administerAll } from "../../runtimes/command/administration.ts"
import type { Trouble } from "../../runtimes/command/output.ts"
import { newSealKey } from "../../runtimes/server/SealKeyFile.ts"

const lasting: StoreKind = {
  schemes: ["lasting"],
  looks: "lasting:",
  shared: true,
  lasts: true,
  at: (url) =>
    Result.succeed({
      kind: lasting,
      described: "a store of a test",
      location: url,
      open: () => openLazily("a store of a test", () => Promise.resolve(makeMemory((body) => body, Effect.suspend)))
    })
}

const record: NewRecord = { workspace: "w", kind: "usage", id: "a", owner: "o", expiresAt: 1, body: {} }

type Act = Parameters<Parameters<typeof administerAll>[0]>[0]["services"]["storage"]

/** What its user is told of a command that does this, and then fails so. */
const told = (trouble: Trouble, act: (storage: Act) => Effect.Effect<unknown, unknown>) =>
  administerAll(function* ({ services }) {
    yield* Effect.ignore(act(services.storage))
    return yield* Effect.fail(trouble)
  }).pipe(
    Effect.flip,
    Effect.map(({ message, status }) => ({ message, status })),
    Effect.provideService(StoreKinds, [lasting]),
    Effect.provideService(
      ConfigProvider.ConfigProvider,
      ConfigProvider.fromEnvRecord({ DATABASE_URL: "lasting:", SEAL_KEYS: Redacted.value(newSealKey()) })
    ),
    Effect.runPromise
  )

const troubles: ReadonlyArray<Trouble> = [
  new StorageUnavailable({ outcome: "not_done", message: "away" }),
  new Contended()
]

test("a command that broke off after a write does not say that nothing was changed", async () => {
  for (const trouble of troubles) {
    const untouched = await told(trouble, () => Effect.void)
    const writes: ReadonlyArray<(storage: Act) => Effect.Effect<unknown, unknown>> = [
      (storage) => storage.insert(record),
      (storage) => Effect.andThen(storage.insert(record), storage.replace(1, record)),
      (storage) => storage.remove(record),
      (storage) => Effect.andThen(storage.insert(record), storage.sweep(2, 10))
    ]
    for (const write of writes) {
      const { message, status } = await told(trouble, write)
      expect(status).toBe(1)
      expect(message).not.toBe(untouched.message)
    }
    // What was only read, or tried in vain, is as it was.
    const vain = await told(trouble, (storage) =>
      Effect.andThen(
        Effect.ignore(storage.replace(7, record)),
        Effect.andThen(storage.get(record), storage.sweep(0, 1))
      )
    )
    expect(vain).toEqual(untouched)
  }
})
