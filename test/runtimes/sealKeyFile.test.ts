import { describe, expect, test } from "bun:test"
import { readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { sealKeysIn } from "../../runtimes/server/SealKeyFile.ts"
import { scoped } from "../harness/scoped.ts"
import { throwawayFolder } from "../harness/throwawayFolder.ts"
import { startChild } from "./given/Child.ts"

describe("the file of seal keys", () => {
  test("is made once, for its owner's eyes only, and read from then on", () =>
    scoped(function* () {
      const path = join(yield* throwawayFolder("keys"), "deep", "tessera.db.keys")
      const first = yield* sealKeysIn(path)
      const second = yield* sealKeysIn(path)
      expect([first.made, second.made]).toEqual([true, false])
      expect(second.ring.map(({ id }) => id)).toEqual(first.ring.map(({ id }) => id))
      expect(statSync(path).mode & 0o777).toBe(0o600)
      expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700)
      expect(readdirSync(join(path, ".."))).toEqual(["tessera.db.keys"])
    }))

  test("is one file for many that start at once", () =>
    scoped(function* () {
      const folder = yield* throwawayFolder("keys")
      const path = join(folder, "tessera.db.keys")
      const script = `
          import { Effect } from "effect"
          import { sealKeysIn } from ${JSON.stringify(join(import.meta.dir, "../../runtimes/server/SealKeyFile.ts"))}
          process.stdout.write("ready\\n")
          await new Promise((resolve) => process.stdin.once("data", resolve))
          const { ring, made } = await Effect.runPromise(sealKeysIn(${JSON.stringify(path)}))
          process.stdout.write("key " + ring[0].id + " " + made + "\\n")
          process.exit(0)`
      // Bun finds packages from where a script lies.
      const file = join(folder, "start.ts")
      writeFileSync(file, script.replace('"effect"', JSON.stringify(import.meta.resolve("effect"))))
      const children = yield* Effect.forEach([1, 2, 3, 4], () => startChild(process.execPath, [file]))
      for (const child of children) yield* Effect.promise(() => child.says(/ready/))
      for (const child of children) child.process.stdin?.write("go\n")
      const said = yield* Effect.promise(() => Promise.all(children.map((child) => child.says(/key (\w+) (\w+)/))))
      expect(new Set(said.map(([, id]) => id)).size).toBe(1)
      expect(said.filter(([, , made]) => made === "true")).toHaveLength(1)
    }))

  test("is never made anew where it can't be read, and never told", () =>
    scoped(function* () {
      const path = join(yield* throwawayFolder("keys"), "tessera.db.keys")
      const broken = "dGhpcyBpcyBhIHNlY3JldA"
      writeFileSync(path, broken)
      const refusal = yield* Effect.flip(sealKeysIn(path))
      expect(refusal.message).toContain(path)
      expect(refusal.message).not.toContain(broken)
      expect(readFileSync(path, "utf8")).toBe(broken)
    }))

  test("is told apart that can't be read from one that can't be made, for the operator is to make no others", () =>
    scoped(function* () {
      const folder = yield* throwawayFolder("keys")
      const there = yield* Effect.flip(sealKeysIn(folder))
      expect(there.message).toContain(folder)
      expect(there.message).toContain("EISDIR")
      expect(there.message).not.toContain("SEAL_KEYS")
      // The draft beside it has a longer name than a file may have.
      const unmade = yield* Effect.flip(sealKeysIn(join(folder, "k".repeat(250))))
      expect(unmade.message).toContain("ENAMETOOLONG")
      expect(unmade.message).toContain("SEAL_KEYS")
    }))

  test("is not made anew where a link to it leads nowhere, as to a disk that is away", () =>
    scoped(function* () {
      const folder = yield* throwawayFolder("keys")
      const path = join(folder, "tessera.db.keys")
      symlinkSync(join(folder, "away", "tessera.db.keys"), path)
      const refusal = yield* Effect.flip(sealKeysIn(path))
      expect(refusal.message).toContain(path)
      expect(refusal.message).toContain("ENOENT")
      expect(readdirSync(folder)).toEqual(["tessera.db.keys"])
    }))

  test("may hold several, the newest in front", () =>
    scoped(function* () {
      const folder = yield* throwawayFolder("keys")
      const [one, two] = [join(folder, "one"), join(folder, "two")]
      const old = yield* sealKeysIn(one)
      const fresh = yield* sealKeysIn(two)
      writeFileSync(one, `${readFileSync(two, "utf8").trim()},${readFileSync(one, "utf8")}`)
      const both = yield* sealKeysIn(one)
      expect(both.ring.map(({ id }) => id)).toEqual([fresh.ring[0].id, old.ring[0].id])
      expect(Redacted.isRedacted(both.ring[0].bytes)).toBe(true)
    }))
})
