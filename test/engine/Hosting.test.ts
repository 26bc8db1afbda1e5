import { describe, expect, test } from "bun:test"
import { Effect, Layer, Result } from "effect"
import * as Memory from "../../adapters/memory/Memory.ts"
import { type Hosting, hostedKind, makeHosting, registry } from "../../core/engine/Hosting.ts"
import { collectAll } from "../../core/engine/lists.ts"
import { issuerOf, makeOpenings, neverMoves } from "../../core/engine/Openings.ts"
import { makeRecords } from "../../core/engine/Records.ts"
import { Entropy } from "../../core/ports/Entropy.ts"
import { Storage, StorageUnavailable } from "../../core/ports/Storage.ts"
import { digestOf } from "../../core/rules/Secret.ts"
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

const idAt = (at: string) => `at ${digestOf(at)}`

/** What lies at an address, and how often it was written. */
const addressRecord = (storage: Storage["Service"], at: string) =>
  Effect.map(makeRecords(storage, hostedKind).get(registry, idAt(at)), (kept) => {
    if (kept?.value._tag !== "Address") return undefined
    const { taking: _, ...value } = kept.value
    return { ...value, writes: kept.version }
  })

/** An address as a process left it that was stopped on the way. */
const leave = (storage: Storage["Service"], at: string, workspace: WorkspaceId | null) =>
  Effect.gen(function* () {
    const records = makeRecords(storage, hostedKind)
    const kept = yield* records.get(registry, idAt(at))
    const value = { _tag: "Address", at, workspace, deepest: 0, taking: "left" } as const
    yield* kept === undefined
      ? records.insert(registry, value, "left")
      : records.replace(registry, kept.version, value, "left")
  })

/** The same store, where something happens before its nth look at a record. */
const interrupted = <E>(
  below: Storage["Service"],
  { id, look }: { readonly id: string; readonly look: number },
  event: Effect.Effect<unknown, E>
): Storage["Service"] => {
  let looks = 0
  return {
    ...below,
    get: (key) =>
      Effect.suspend(() =>
        key.id === id && ++looks === look ? Effect.andThen(Effect.orDie(event), below.get(key)) : below.get(key)
      )
  }
}

const fault = <A, E>(effect: Effect.Effect<A, E>) => Effect.map(Effect.flip(effect), (failure) => ({ ...failure }))

const ghost = WorkspaceId.make("ghost")

describe("the addresses of workspaces in a store", () => {
  test("say whose they are and how deep others lie below, and are written no more than that needs", () =>
    inStore((hosting, storage) =>
      Effect.gen(function* () {
        const at = (address: string) => addressRecord(storage, address)
        const host = workspace("host", "https://id.example")
        const deep = workspace("deep", "https://id.example/t/deep")
        yield* hosting.add(acme)
        expect(yield* at("acme.example")).toEqual({
          _tag: "Address",
          at: "acme.example",
          workspace: acme.id,
          deepest: 0,
          writes: 1
        })
        const id = { _tag: "Address", at: "id.example" }
        yield* hosting.add(beta)
        expect<unknown>(yield* at("id.example")).toEqual({ ...id, workspace: null, deepest: 1, writes: 1 })
        yield* hosting.add(workspace("gamma", "https://id.example/gamma"))
        expect((yield* at("id.example"))?.writes).toBe(1)
        yield* hosting.add(deep)
        expect<unknown>(yield* at("id.example")).toEqual({ ...id, workspace: null, deepest: 2, writes: 2 })
        yield* hosting.add(host)
        expect<unknown>(yield* at("id.example")).toEqual({ ...id, workspace: host.id, deepest: 2, writes: 3 })
        yield* hosting.add(workspace("delta", "https://id.example/delta"))
        yield* hosting.add(workspace("deeper", "https://id.example/t/u/deeper"))
        expect<unknown>(yield* at("id.example")).toEqual({ ...id, workspace: host.id, deepest: 3, writes: 4 })
        expect(yield* hosting.at("id.example")).toEqual({ workspace: host, deepest: 3 })
        yield* hosting.move(acme.id, elsewhere)
        expect(yield* at("acme.example")).toMatchObject({ workspace: null, deepest: 0 })
        expect(yield* hosting.list({ after: undefined, limit: 7 })).toMatchObject({ next: undefined })
        expect((yield* hosting.list({ after: undefined, limit: 7 })).values).toHaveLength(7)
      })
    ))

  test("are asked about who was there: not taken for another's, nor for one that is not there any more", () =>
    inStore((hosting, storage) =>
      Effect.gen(function* () {
        yield* hosting.add(acme)
        yield* hosting.add(beta)
        const { workspace: known } = yield* hosting.at("acme.example")
        expect(yield* hosting.at("acme.example", known)).toEqual({ workspace: acme, deepest: 0 })
        expect(yield* hosting.at("id.example/beta", known)).toEqual({ workspace: beta, deepest: 0 })
        expect(yield* hosting.at("nowhere.example", known)).toEqual({ workspace: undefined, deepest: 0 })
        const never = workspace("never", "https://acme.example")
        expect(yield* hosting.at("acme.example", never)).toEqual({ workspace: acme, deepest: 0 })
        yield* hosting.move(acme.id, elsewhere)
        yield* leave(storage, "acme.example", acme.id)
        expect(yield* hosting.at("acme.example", known)).toEqual({ workspace: undefined, deepest: 0 })
        expect(yield* hosting.at("acme.example")).toEqual({ workspace: undefined, deepest: 0 })
      })
    ))

  test("are free where their workspace is nowhere, and not where it is there and not told yet", () =>
    inStore((hosting, storage) =>
      Effect.gen(function* () {
        yield* leave(storage, "acme.example", ghost)
        expect(yield* hosting.at("acme.example")).toEqual({ workspace: undefined, deepest: 0 })
        expect(yield* hosting.add(acme)).toBe("added")
        expect((yield* hosting.at("acme.example")).workspace).toEqual(acme)
        // A second try brings back one whose address was lost.
        for (const again of [hosting.add(acme), hosting.move(acme.id, acme.issuer)]) {
          yield* leave(storage, "acme.example", ghost)
          yield* again
          expect((yield* hosting.at("acme.example")).workspace).toEqual(acme)
        }
        const rival = { ...beta, issuer: acme.issuer }
        yield* makeRecords(storage, hostedKind).insert(registry, { _tag: "Workspace", workspace: rival }, "rival")
        yield* leave(storage, "acme.example", rival.id)
        expect(yield* fault(hosting.add(acme))).toMatchObject({ reason: "address_taken", workspace: acme.id })
        // It was there before, so it stays.
        expect(yield* hosting.find(acme.id)).toEqual(acme)
      })
    ))

  const rows: ReadonlyArray<readonly [who: string, WorkspaceId | null, outcome: "added" | "address_taken"]> = [
    ["another", ghost, "address_taken"],
    ["no rival", null, "added"],
    ["the same, in another process", acme.id, "added"]
  ]
  for (const [who, holder, outcome] of rows) {
    test(`go to who came first: ${who}, between the look and the write`, () =>
      inStore((hosting, storage) =>
        Effect.gen(function* () {
          const late = { id: idAt("acme.example"), look: 2 }
          const slow = makeHosting(interrupted(storage, late, leave(storage, "acme.example", holder)), yield* Entropy)
          const added = yield* Effect.result(slow.add(acme))
          if (outcome === "added") expect(added).toEqual(Result.succeed("added"))
          else expect(added).toMatchObject({ failure: { reason: outcome, workspace: acme.id } })
          expect(yield* hosting.find(acme.id)).toEqual(outcome === "added" ? acme : undefined)
        }).pipe(Effect.provide(Entropy.layer))
      ))
  }

  test("are left to the workspace that took them while another moved", () =>
    inStore((hosting, storage) =>
      Effect.gen(function* () {
        const entropy = yield* Entropy
        const to = "id.example/t/acme"
        const rival = { ...beta, issuer: elsewhere }
        yield* hosting.add(acme)
        // Until acme is found there, any workspace may take the address.
        const overtaken = makeHosting(interrupted(storage, { id: "is acme", look: 2 }, hosting.add(rival)), entropy)
        expect(yield* fault(overtaken.move(acme.id, elsewhere))).toMatchObject({
          reason: "address_taken",
          workspace: acme.id
        })
        expect(yield* hosting.find(acme.id)).toEqual(acme)
        expect((yield* hosting.at("acme.example")).workspace).toEqual(acme)
        expect((yield* hosting.at(to)).workspace).toEqual(rival)
      }).pipe(Effect.provide(Entropy.layer))
    ))

  test("are not given up where another workspace has the former one already", () =>
    inStore((hosting, storage) =>
      Effect.gen(function* () {
        const entropy = yield* Entropy
        const follower = { ...beta, issuer: acme.issuer }
        yield* hosting.add(acme)
        const to = "id.example/t/acme"
        const moving = { id: idAt(to), look: 4 }
        const slow = makeHosting(interrupted(storage, moving, hosting.add(follower)), entropy)
        expect(yield* slow.move(acme.id, elsewhere)).toBe(acme.issuer)
        expect((yield* hosting.at("acme.example")).workspace).toEqual(follower)
        expect((yield* hosting.at(to)).workspace?.id).toBe(acme.id)
        // To where it is already changes nothing.
        expect(yield* hosting.move(acme.id, elsewhere)).toBe(elsewhere)
        expect((yield* hosting.at(to)).workspace?.id).toBe(acme.id)
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
  law("processes that add and move at once, and die in between: no two workspaces are found at one address", (dice) =>
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

test("a store that is away is told, and is not taken for an address without a workspace", () =>
  inStore((_, storage) =>
    Effect.gen(function* () {
      const away = Effect.fail(new StorageUnavailable({ outcome: "not_done", message: "away" }))
      const hosting = makeHosting({ ...storage, get: () => away }, yield* Entropy)
      const asked = yield* Effect.result(hosting.at("acme.example"))
      expect(Result.isFailure(asked) && asked.failure._tag).toBe("StorageUnavailable")
    }).pipe(Effect.provide(Entropy.layer))
  ))
