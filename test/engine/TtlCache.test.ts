import { expect, test } from "bun:test"
import { TtlCache } from "../../core/engine/caches.ts"
import { Instant, later } from "../../core/rules/Instant.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

const home = WorkspaceId.make("home")
const elsewhere = WorkspaceId.make("elsewhere")
const t0 = Instant.make(10_000_000)

test("what was read is at hand for a while", () => {
  const recent = new TtlCache<string>(10, 5000)
  recent.remember(home, "it", "read", t0, recent.forgotten)
  expect([0, 4999, 5000].map((by) => recent.get(home, "it", later(t0, by)))).toEqual(["read", "read", undefined])
})

test("and not for longer where the clock was set back", () => {
  const recent = new TtlCache<string>(10, 5000)
  recent.remember(home, "it", "read", t0, recent.forgotten)
  expect(recent.get(home, "it", later(t0, -1))).toBeUndefined()
  recent.remember(home, "it", "read again", later(t0, -3_600_000), recent.forgotten)
  expect(recent.get(home, "it", later(t0, -3_600_000))).toBe("read again")
})

test("and not in another workspace, where a record has the same id", () => {
  const recent = new TtlCache<string>(10, 5000)
  recent.remember(home, "it", "read", t0, recent.forgotten)
  expect(recent.get(elsewhere, "it", t0)).toBeUndefined()
  recent.forget(elsewhere, "it")
  expect(recent.get(home, "it", t0)).toBe("read")
  recent.forget(home, "it")
  expect(recent.get(home, "it", t0)).toBeUndefined()
})

test("and not where something was forgotten while it was read", () => {
  const recent = new TtlCache<string>(10, 5000)
  const before = recent.forgotten
  recent.forget(home, "it")
  recent.remember(home, "it", "read before", t0, before)
  expect(recent.get(home, "it", t0)).toBeUndefined()
})

test("and not where one thing after another was forgotten while it was read", () => {
  const ways = [
    (recent: TtlCache<string>) => recent.forget(home, "it"),
    (recent: TtlCache<string>) => recent.forgetAll(home),
    (recent: TtlCache<string>) => recent.forgetEverything()
  ]
  for (const first of ways) {
    for (const second of ways) {
      const recent = new TtlCache<string>(10, 5000)
      recent.remember(home, "it", "read", t0, recent.forgotten)
      const before = recent.forgotten
      first(recent)
      expect(recent.get(home, "it", t0)).toBeUndefined()
      second(recent)
      recent.remember(home, "it", "read before", t0, before)
      expect(recent.get(home, "it", t0)).toBeUndefined()
    }
  }
})

test("a whole workspace is forgotten, also what is being read, and no other", () => {
  const recent = new TtlCache<string>(10, 5000)
  const before = recent.forgotten
  for (const id of ["a", "b"]) recent.remember(home, id, "read", t0, before)
  recent.remember(elsewhere, "c", "read", t0, before)
  recent.forgetAll(home)
  expect([recent.get(home, "a", t0), recent.get(home, "b", t0), recent.get(elsewhere, "c", t0)]).toEqual([
    undefined,
    undefined,
    "read"
  ])
  recent.remember(home, "a", "read before", t0, before)
  expect(recent.get(home, "a", t0)).toBeUndefined()
})
