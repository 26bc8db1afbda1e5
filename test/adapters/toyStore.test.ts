import { expect, test } from "bun:test"
import { ConfigProvider, Effect, Layer, Option, Redacted, Result } from "effect"
import { makeMemory } from "../../adapters/memory/MemoryStorage.ts"
import { openLazily, readParameters, type StoreKind, textOf } from "../../adapters/StoreKind.ts"
import { readStoreUrl, StoreKinds, stores } from "../../adapters/stores.ts"
import { DuplicateRow } from "../../core/oauth/rowsByName.ts"
import { Storage } from "../../core/ports/Storage.ts"
import { Tessera } from "../../core/Tessera.ts"
import { parseKeyRing } from "../../core/token/KeyRing.ts"
import { bringUpToDate } from "../../runtimes/command/upkeep.ts"
import { application } from "../../runtimes/server/application.ts"
import { newSealKey } from "../../runtimes/server/SealKeyFile.ts"
import { readSettings } from "../../runtimes/server/Settings.ts"

/** A kind of store that several processes share, with a parameter and a way to be brought up to date. */
const toy: StoreKind = {
  schemes: ["toy"],
  looks: "toy:NAME",
  shared: true,
  lasts: true,
  at: (url) =>
    Result.map(
      readParameters(url.split("?")[1] ?? "", { colour: textOf("a colour", /^[a-z]+$/) }),
      ({ colour = "red" }) => {
        const described = `a ${colour} toy`
        const open = makeMemory((body) => body, Effect.suspend)
        return {
          kind: toy,
          described,
          location: url,
          open: () => openLazily(described, () => Promise.resolve(open)),
          migrate: () => ({
            atStart: false,
            plan: Effect.succeed({ pending: ["paint it"], sql: "" }),
            run: Effect.succeed(["paint it"])
          })
        }
      }
    )
}

const settingsOf = (environment: Readonly<Record<string, string>>) =>
  Effect.runSync(
    Effect.result(readSettings).pipe(
      Effect.provideService(StoreKinds, [...stores, toy]),
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnvRecord(environment))
    )
  )

const complaintsOf = (environment: Readonly<Record<string, string>>) => {
  const settings = settingsOf(environment)
  return Result.isFailure(settings) ? settings.failure.complaints : []
}

const key = Redacted.value(newSealKey())

test("a kind of store is added by a row alone: the server reads its URL, asks for keys, and serves over it", () =>
  Effect.gen(function* () {
    expect(Result.isFailure(readStoreUrl("toy:one"))).toBe(true)
    expect(complaintsOf({ DATABASE_URL: "nothing:one" })[0]).toContain("toy:NAME")
    expect(complaintsOf({ DATABASE_URL: "toy:one" })[0]).toContain("SEAL_KEYS")
    expect(complaintsOf({ DATABASE_URL: "toy:one?color=blue", SEAL_KEYS: key })[0]).toContain("color")
    const settings = Result.getOrThrow(settingsOf({ DATABASE_URL: "toy:one?colour=blue", SEAL_KEYS: key }))
    expect(settings.database.described).toBe("a blue toy")
    expect(bringUpToDate(settings.database, settings.storage)).toContain("tessera migrate")
    const ring = Result.getOrThrow(parseKeyRing(Redacted.make(key)))
    const { found, metadata } = yield* Effect.gen(function* () {
      const tessera = yield* Tessera
      const storage = yield* Storage
      const record = { workspace: "w", kind: "usage", id: "a", owner: "o", expiresAt: null, body: 1 } as const
      yield* storage.insert(record)
      const metadata = yield* tessera.handle({
        method: "GET",
        path: "/.well-known/oauth-authorization-server",
        query: "",
        headers: new Map([["host", "127.0.0.1:3000"]]),
        body: ""
      })
      return { metadata, found: yield* storage.get(record) }
    }).pipe(Effect.provide(Layer.fresh(application(settings, ring))))
    expect(metadata.status).toBe(200)
    expect(Option.getOrThrow(found).body).toBe(1)
  }).pipe(Effect.scoped, Effect.runPromise))

test("the package has an entry for each kind of store that hosts may use, and leaves its driver to them", async () => {
  const { exports, peerDependencies } = await packaged()
  for (const { driver, entry } of stores) {
    if (entry !== undefined) expect(Object.keys(exports)).toContain(`./storage/${entry}`)
    if (driver !== undefined) expect(Object.keys(peerDependencies)).toContain(driver)
  }
  const entries = Object.keys(exports).filter((name) => name.startsWith("./storage/"))
  expect(entries.sort()).toEqual(stores.map(({ entry }) => `./storage/${entry}`).sort())
})

const packaged = async () => {
  const { manifest } = await import("../../runtimes/package/manifest.mjs")
  return manifest(await Bun.file(`${import.meta.dir}/../../package.json`).json())
}

test("two kinds of store that share a scheme are refused", () => {
  expect(() => readStoreUrl("toy:one", [...stores, toy, toy])).toThrow(DuplicateRow)
})
