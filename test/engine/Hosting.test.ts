import { describe, expect, test } from "bun:test"
import { Effect, Layer, Result } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { type Hosting, makeHosting } from "../../core/engine/Hosting.ts"
import { collectAll } from "../../core/engine/lists.ts"
import { issuerOf, makeOpenings, neverMoves } from "../../core/engine/Openings.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import type { Dice } from "../../core/testing/Dice.ts"
import { readTheme } from "../../core/workspace/Theme.ts"
import { Issuer, type Workspace, WorkspaceId } from "../../core/workspace/Workspace.ts"
import { addressOf } from "../../core/workspace/WorkspaceTable.ts"
import { law } from "../laws/law.ts"

const workspace = (id: string, issuer: string): Workspace => ({
  id: WorkspaceId.make(id),
  issuer: Issuer.make(issuer),
  name: id
})

const acme = workspace("acme", "https://acme.example")
const beta = workspace("beta", "https://id.example/beta")
const elsewhere = Issuer.make("https://id.example/t/acme")

const inStore = <A, E>(body: (hosting: Hosting, storage: Storage["Service"]) => Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const storage = yield* Storage
    return yield* body(makeHosting(storage, yield* Entropy), storage)
  }).pipe(Effect.provide(Layer.merge(Memory.layer, Entropy.layer)), Effect.runPromise)

const textOf = (of: Pick<Workspace, "issuer">) => {
  const { host, path } = addressOf(of)
  return host + path
}

const refusal = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.result(effect), (result) =>
    Result.isFailure(result) ? (result.failure as { reason?: string }).reason : undefined
  )

describe("workspaces in a store", () => {
  test("are found by id and by address, whole", () =>
    inStore((hosting) =>
      Effect.gen(function* () {
        const themed = { ...acme, theme: Result.getOrThrow(readTheme({ accent: "#0b6e4f", logo: "/logo.svg" })) }
        expect(yield* hosting.add(themed)).toBe("added")
        expect(yield* hosting.add(beta)).toBe("added")
        expect(yield* hosting.find(acme.id)).toEqual(themed)
        expect(yield* hosting.at("acme.example")).toEqual({ workspace: themed, deepest: 0 })
        expect(yield* hosting.at("id.example")).toEqual({ workspace: undefined, deepest: 1 })
        expect(yield* hosting.at("id.example/beta")).toEqual({ workspace: beta, deepest: 0 })
        expect(yield* hosting.at("other.example")).toEqual({ workspace: undefined, deepest: 0 })
        expect(yield* collectAll(hosting.list)).toEqual([themed, beta])
      })
    ))

  test("are added once, and again with no harm", () =>
    inStore((hosting) =>
      Effect.gen(function* () {
        yield* hosting.add(acme)
        expect(yield* hosting.add({ ...acme, name: "Other" })).toBe("present")
        expect((yield* hosting.find(acme.id))?.name).toBe("acme")
        expect(yield* refusal(hosting.add({ ...acme, issuer: beta.issuer }))).toBe("id_taken")
        expect(yield* refusal(hosting.add({ ...beta, issuer: acme.issuer }))).toBe("address_taken")
        // What was refused left nothing behind.
        expect(yield* collectAll(hosting.list)).toEqual([acme])
        expect(yield* hosting.add(beta)).toBe("added")
      })
    ))

  test("change in everything but id and issuer", () =>
    inStore((hosting) =>
      Effect.gen(function* () {
        yield* hosting.add(acme)
        const changed = yield* hosting.change(acme.id, (found) => ({
          ...found,
          id: beta.id,
          issuer: beta.issuer,
          name: "Acme Inc.",
          disabled: true
        }))
        expect(changed).toEqual({ ...acme, name: "Acme Inc.", disabled: true })
        expect((yield* hosting.at("acme.example")).workspace).toEqual(changed)
        expect(yield* refusal(hosting.change(beta.id, (found) => found))).toBe("unknown")
      })
    ))

  test("move, along with what the store remembers of their issuer, and free their address", () =>
    inStore((hosting, storage) =>
      Effect.gen(function* () {
        yield* hosting.add(acme)
        const entropy = yield* Entropy
        const openings = makeOpenings(
          { storage, entropy, audit: { record: () => Effect.void }, staleness: 5000 },
          neverMoves
        )
        yield* openings.open(acme)
        expect(yield* hosting.move(acme.id, elsewhere)).toBe(acme.issuer)
        expect((yield* hosting.at("acme.example")).workspace).toBeUndefined()
        expect(yield* hosting.at("id.example")).toEqual({ workspace: undefined, deepest: 2 })
        expect((yield* hosting.at("id.example/t/acme")).workspace?.id).toBe(acme.id)
        expect(yield* issuerOf(storage, acme.id)).toBe(elsewhere)
        expect(yield* hosting.add({ ...beta, issuer: acme.issuer })).toBe("added")
        expect(yield* refusal(hosting.move(acme.id, acme.issuer))).toBe("address_taken")
        expect((yield* hosting.find(acme.id))?.issuer).toBe(elsewhere)
        expect(yield* hosting.move(acme.id, elsewhere)).toBe(elsewhere)
        expect(yield* refusal(hosting.move(WorkspaceId.make("nobody"), elsewhere))).toBe("unknown")
      }).pipe(Effect.provide(Entropy.layer))
    ))

  test("are given back as they were where nothing changed, and as they are where something did", () =>
    inStore((hosting) =>
      Effect.gen(function* () {
        yield* hosting.add(acme)
        const { workspace: first } = yield* hosting.at("acme.example")
        expect((yield* hosting.at("acme.example", first)).workspace === first).toBe(true)
        yield* hosting.change(acme.id, (found) => ({ ...found, name: "Other" }))
        expect((yield* hosting.at("acme.example", first)).workspace?.name).toBe("Other")
        yield* hosting.move(acme.id, elsewhere)
        expect((yield* hosting.at("acme.example", first)).workspace).toBeUndefined()
        yield* hosting.add({ ...beta, issuer: acme.issuer })
        expect((yield* hosting.at("acme.example", first)).workspace?.id).toBe(beta.id)
      })
    ))

  test("lie beside the record of a workspace that has the registry's own name", () =>
    inStore((hosting, storage) =>
      Effect.gen(function* () {
        const odd = workspace("tessera-hosted", "https://odd.example")
        yield* hosting.add(odd)
        const openings = makeOpenings(
          { storage, entropy: yield* Entropy, audit: { record: () => Effect.void }, staleness: 5000 },
          neverMoves
        )
        yield* openings.open(odd)
        expect(yield* hosting.find(odd.id)).toEqual(odd)
        expect(yield* collectAll(hosting.list)).toEqual([odd])
      }).pipe(Effect.provide(Entropy.layer))
    ))
})

const issuers = ["https://a.example", "https://b.example", "https://b.example/x", "https://b.example/x/y"] as const

/** What a command does, and to which workspace. */
const drawn = (dice: Dice) => {
  const id = WorkspaceId.make(`w${dice.under(3)}`)
  const issuer = Issuer.make(dice.pick(issuers))
  return dice.chance(50)
    ? { id, issuer, act: (hosting: Hosting) => Effect.asVoid(hosting.add({ id, issuer, name: id })) }
    : { id, issuer, act: (hosting: Hosting) => Effect.asVoid(hosting.move(id, issuer)) }
}

/** Lets others go first before each call, and goes down at the call that is drawn. */
const unsteady = (below: Storage["Service"], dice: Dice, diesAt: number): Storage["Service"] => {
  let calls = 0
  const around = <A, E>(call: Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      for (let turn = dice.under(4); turn > 0; turn--) yield* Effect.yieldNow
      if (++calls >= diesAt) return yield* Effect.interrupt
      return yield* call
    })
  return {
    get: (key) => around(below.get(key)),
    insert: (record) => around(below.insert(record)),
    replace: (expected, record) => around(below.replace(expected, record)),
    remove: (key) => around(below.remove(key)),
    list: (listing) => around(below.list(listing)),
    sweep: below.sweep
  }
}

describe("the laws of hosting", () => {
  law("whoever adds and moves at once, and dies in between: no two workspaces are found at one address", (dice) =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const entropy = yield* Entropy
      const admins = Array.from({ length: 4 }, () => ({
        commands: Array.from({ length: 2 }, () => drawn(dice)),
        hosting: makeHosting(unsteady(storage, dice, dice.chance(30) ? 1 + dice.under(12) : 1000), entropy)
      }))
      const outcomes = yield* Effect.forEach(
        admins,
        ({ commands, hosting }) => Effect.forEach(commands, ({ act }) => Effect.exit(act(hosting))),
        { concurrency: "unbounded" }
      )
      const hosting = makeHosting(storage, entropy)
      const all = yield* collectAll(hosting.list)
      expect(new Set(all.map(({ id }) => id)).size).toBe(all.length)
      const found = new Map<string, string>()
      for (const issuer of issuers) {
        const at = textOf({ issuer: Issuer.make(issuer) })
        const { workspace } = yield* hosting.at(at)
        if (workspace === undefined) continue
        expect(textOf(workspace)).toBe(at)
        expect(found.has(workspace.id)).toBe(false)
        found.set(workspace.id, at)
      }
      // Who died may leave one behind that is nowhere; a second try brings it there, or says who is.
      const nobodyDied = outcomes.flat().every(({ _tag }) => _tag === "Success")
      for (const one of all) {
        if (nobodyDied) expect(found.get(one.id)).toBe(textOf(one))
        const again = yield* Effect.result(hosting.add(one))
        const { workspace } = yield* hosting.at(textOf(one))
        expect(workspace?.id === one.id).toBe(Result.isSuccess(again))
        expect(workspace).not.toBeUndefined()
      }
    }).pipe(Effect.provide(Layer.merge(Memory.layer, Entropy.layer), { local: true }), Effect.orDie)
  )
})

test("a store that is away is told, and nothing is taken for nobody", () =>
  inStore((_, storage) =>
    Effect.gen(function* () {
      const away = Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "away" }))
      const hosting = makeHosting({ ...storage, get: () => away }, yield* Entropy)
      const asked = yield* Effect.result(hosting.at("acme.example"))
      expect(Result.isFailure(asked) && asked.failure._tag).toBe("StorageUnavailable")
    }).pipe(Effect.provide(Entropy.layer))
  ))
