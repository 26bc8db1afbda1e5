import { describe, expect, test } from "bun:test"
import { Context, Effect, Layer } from "effect"
import * as memory from "../../adapters/memory/Memory.ts"
import { Storage, StorageScan, StorageUnavailable } from "../../core/ports/Storage.ts"
import type { CreateOptions, EmbeddedTessera } from "../../runtimes/tessera.ts"
import { bearer, issuer, letIn, letInAs, machine, people, registersItself, withHost } from "./host.ts"

const orders = `${issuer}/orders`
const needs = { scopes: ["api"] } as const

/** Two people at two places each: what the first of them has is bound to where they were when they let it in. */
const atPlaces = async (
  body: (auth: EmbeddedTessera, begun: Begun) => Promise<void>,
  storage: CreateOptions["storage"] = memory.layer
) => {
  let at = "bakery"
  const owner = { ...people, places: () => [{ id: at, label: at }] }
  await withHost({ owner, storage }, async (auth) => {
    const grants: Array<Had> = []
    for (const user of ["ada", "bob"]) {
      for (const place of ["bakery", "museum"]) {
        at = place
        const { access, client, refreshes } = await letIn(auth, user)
        grants.push({ name: `${user} ${place}`, access, client: client.id, refreshes })
      }
    }
    const alive = async () => {
      const names: Array<string> = []
      for (const { access, name } of grants) {
        if ((await auth.guard(bearer(orders, access), needs))._tag === "Admitted") names.push(name)
      }
      return names
    }
    await body(auth, { grants, alive })
  })
}

interface Had {
  readonly name: string
  readonly access: string
  readonly client: string
  readonly refreshes: () => Promise<number>
}

interface Begun {
  readonly grants: ReadonlyArray<Had>
  readonly alive: () => Promise<ReadonlyArray<string>>
}

const all = ["ada bakery", "ada museum", "bob bakery", "bob museum"]
const but = (...gone: ReadonlyArray<string>) => all.filter((name) => !gone.includes(name))

describe("ending what people let applications have", () => {
  type Which = Parameters<EmbeddedTessera["grants"]["endAll"]>[0]
  const rows: ReadonlyArray<readonly [which: Which, gone: ReadonlyArray<string>]> = [
    [{ user: "ada", place: "bakery" }, ["ada bakery"]],
    [{ user: "ada" }, ["ada bakery", "ada museum"]],
    [{ place: "museum" }, ["ada museum", "bob museum"]],
    [{ user: "bob", place: "castle" }, []],
    [{ user: "carol", place: "bakery" }, []],
    [{ user: "nobody here" }, []],
    [{ user: "ada", place: "bakery museum" }, []],
    [{ place: "BAKERY" }, []],
    [{ client: "A".repeat(22) }, []],
    [{ client: "no id" }, []]
  ]
  for (const [which, gone] of rows) {
    test(`${JSON.stringify(which)}: ${gone.length}, once, with all that came of it`, () =>
      atPlaces(async (auth, { alive, grants }) => {
        expect(await alive()).toEqual(all)
        expect(await auth.grants.endAll(which)).toBe(gone.length)
        expect(await alive()).toEqual(but(...gone))
        expect(await auth.grants.endAll(which)).toBe(0)
        for (const { name, refreshes } of grants) {
          expect([name, await refreshes()]).toEqual([name, gone.includes(name) ? 400 : 200])
        }
      }))
  }

  test("of one application leaves those beside it", () =>
    atPlaces(async (auth, { alive, grants }) => {
      expect(await auth.grants.endAll({ client: grants[2]?.client ?? "" })).toBe(1)
      expect(await alive()).toEqual(but("bob bakery"))
      expect(await auth.grants.endAll({ client: grants[0]?.client ?? "", user: "bob" })).toBe(0)
    }))

  test("knows an application by the id that it goes by, also one that holds its registration", () =>
    withHost({ registrationRows: "at_consent" }, async (auth) => {
      const itself = await registersItself(auth)
      expect(itself.client.id.length).toBeGreaterThan(22)
      const { access } = await letInAs(auth, "ada", itself)
      const { access: other } = await letIn(auth, "ada")
      const admitted = async (token: string) => {
        const checked = await auth.guard(bearer(orders, token), needs)
        return checked._tag === "Admitted" && "client" in checked.principal ? checked.principal.client : undefined
      }
      const told = (await auth.grants.list("ada")).items.map(({ client }) => client.id)
      // As everything else calls it.
      expect(told).toContain(itself.client.id)
      expect(await admitted(access)).toBe(itself.client.id)
      expect(await auth.grants.endAll({ client: itself.client.id })).toBe(1)
      expect([await admitted(access), typeof (await admitted(other))]).toEqual([undefined, "string"])
    }))

  test("ends no key, and nothing that an application has without a person", () =>
    atPlaces(async (auth) => {
      const { key } = await auth.apiKeys.create({ name: "Script" })
      const { client, token } = await machine(auth)
      const own = await token()
      for (const which of [{ client: client.id }, { place: "bakery" }, { user: client.id }])
        await auth.grants.endAll(which)
      for (const shown of [key, own]) {
        expect((await auth.guard(bearer(orders, shown), needs))._tag).toBe("Admitted")
      }
    }))

  test("goes on where it broke off", async () => {
    const kept = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    let left = Number.POSITIVE_INFINITY
    const replace: Storage["Service"]["replace"] = (expected, record) =>
      record.kind === "grant" && left-- <= 0
        ? Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "the test said so" }))
        : kept.replace(expected, record)
    await atPlaces(
      async (auth, { alive }) => {
        left = 1
        await expect(auth.grants.endAll({ user: "ada" })).rejects.toMatchObject({ _tag: "StorageUnavailable" })
        expect(await alive()).toHaveLength(3)
        left = Number.POSITIVE_INFINITY
        expect(await auth.grants.endAll({ user: "ada" })).toBe(1)
        expect(await alive()).toEqual(but("ada bakery", "ada museum"))
      },
      { ...kept, replace }
    )
  })

  const wrong: ReadonlyArray<readonly [which: unknown, option: string]> = [
    [{}, "grants.endAll"],
    [{ user: undefined }, "grants.endAll"],
    [undefined, "grants.endAll"],
    ["ada", "grants.endAll"],
    [{ usr: "ada" }, "grants.endAll usr"],
    [{ user: "ada", plaec: "bakery" }, "grants.endAll plaec"]
  ]
  for (const [which, option] of wrong) {
    test(`takes no ${JSON.stringify(which)}: it could mean everything`, () =>
      atPlaces(async (auth, { alive }) => {
        await expect(auth.grants.endAll(which as Which)).rejects.toMatchObject({ _tag: "BadOption", option })
        expect(await alive()).toEqual(all)
      }))
  }

  test("does not say that all has ended where a later release has grants that this one cannot read", async () => {
    const services = await Effect.runPromise(
      Effect.scoped(Layer.build(Layer.fresh(memory.layer))).pipe(
        Effect.map((built) => ({ storage: Context.get(built, Storage), scan: Context.get(built, StorageScan) }))
      )
    )
    const { scan, storage } = services
    const layer = Layer.mergeAll(Layer.succeed(Storage, storage), Layer.succeed(StorageScan, scan))
    await atPlaces(async (auth, { alive }) => {
      const { records } = await Effect.runPromise(scan.scan("grant", undefined, 1))
      const [known] = records
      if (known === undefined) throw new Error("no grants")
      const later = (workspace: string, version: number) =>
        storage.insert({ ...known, workspace, id: `later ${version}`, body: { _v: version, _by: "a later release" } })
      // What is of another workspace, and what nobody can read, is in nobody's way.
      await Effect.runPromise(Effect.andThen(later("elsewhere", 99), later(known.workspace, 1)))
      expect(await auth.grants.endAll({ user: "bob", place: "museum" })).toBe(1)
      expect(await auth.grants.endAll({ place: "museum" })).toBe(1)
      await Effect.runPromise(later(known.workspace, 99))
      await expect(auth.grants.endAll({ place: "bakery" })).rejects.toMatchObject({ _tag: "StorageUnavailable" })
      expect(await alive()).toEqual([])
    }, layer)
  })

  test("needs a person where the store cannot be read as a whole", async () => {
    const kept = await Effect.runPromise(Effect.provide(Storage, memory.layer))
    await atPlaces(async (auth, { alive }) => {
      await expect(auth.grants.endAll({ place: "bakery" })).rejects.toMatchObject({ option: "grants.endAll user" })
      expect(await alive()).toEqual(all)
      expect(await auth.grants.endAll({ user: "ada", place: "bakery" })).toBe(1)
    }, kept)
  })
})
