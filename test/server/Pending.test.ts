import { describe, expect, test } from "bun:test"
import { Instant } from "../../core/rules/Instant.ts"
import { Pending, type Use } from "../../core/server/Pending.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

const [here, there] = [WorkspaceId.make("here"), WorkspaceId.make("there")]
const useOf = (workspace: WorkspaceId, id: string, at: number, thing: Use["thing"] = "grant"): Use => ({
  workspace,
  thing,
  id,
  usedAt: Instant.make(at)
})
const pendingOf = (...uses: ReadonlyArray<Use>) => {
  const pending = new Pending()
  for (const use of uses) pending.set(use)
  return pending
}
const timeOf = (pending: Pending, { id, thing, workspace }: Use): number | undefined =>
  pending.get(thing, workspace, id)

describe("last uses that are not written yet", () => {
  test("are the latest of each thing, in the order in which the things were first seen", () => {
    const pending = pendingOf(useOf(here, "a", 1), useOf(here, "b", 2), useOf(here, "a", 3))
    expect(pending.snapshot()).toEqual([useOf(here, "a", 3), useOf(here, "b", 2)])
    expect(pending.size).toBe(2)
  })

  test("are told apart by workspace and kind, whatever their ids", () => {
    const uses = [
      useOf(here, "a", 1),
      useOf(there, "a", 2),
      useOf(here, "a", 3, "client"),
      useOf(there, "a", 4, "client")
    ]
    const pending = pendingOf(...uses)
    expect(uses.map((use) => timeOf(pending, use))).toEqual([1, 2, 3, 4])
    expect(pending.snapshot()).toEqual(uses)
    for (const [at, use] of uses.entries()) {
      pending.written(use)
      expect(pending.snapshot()).toEqual(uses.slice(at + 1))
      expect(uses.map((one) => timeOf(pending, one))).toEqual([1, 2, 3, 4].map((n) => (n > at + 1 ? n : undefined)))
    }
  })

  test("are one for each thing, though whoever had its id before is gone", () => {
    const [first, second] = [useOf(here, "a", 1), useOf(there, "a", 2)]
    const pending = pendingOf(first, second)
    pending.written(first)
    const later = useOf(there, "a", 3)
    pending.set(later)
    expect(pending.snapshot()).toEqual([later])
    expect(timeOf(pending, later)).toBe(3)
  })

  test("stay when they were seen again while they were written", () => {
    const pending = pendingOf(useOf(here, "a", 1))
    const [before] = pending.snapshot()
    pending.set(useOf(here, "a", 2))
    if (before !== undefined) pending.written(before)
    expect(pending.snapshot()).toEqual([useOf(here, "a", 2)])
  })

  test("that cannot be written keep nobody waiting, neither others nor those of their kind", () => {
    const uses = [useOf(here, "a", 1), useOf(here, "b", 2), useOf(there, "c", 3), useOf(here, "d", 4, "client")]
    const pending = pendingOf(...uses)
    pending.postpone(useOf(here, "a", 1))
    expect(pending.snapshot().map(({ id }) => id)).toEqual(["c", "d", "b", "a"])
  })
})
