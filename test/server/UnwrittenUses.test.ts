import { describe, expect, test } from "bun:test"
import { UnwrittenUses, type Use } from "../../core/engine/Usage.ts"
import { Instant } from "../../core/rules/Instant.ts"
import { WorkspaceId } from "../../core/workspace/Workspace.ts"

const [here, there] = [WorkspaceId.make("here"), WorkspaceId.make("there")]
const useOf = (workspace: WorkspaceId, id: string, at: number, thing: Use["thing"] = "grant"): Use => ({
  workspace,
  thing,
  id,
  usedAt: Instant.make(at)
})
const unwrittenOf = (...uses: ReadonlyArray<Use>) => {
  const unwritten = new UnwrittenUses()
  for (const use of uses) unwritten.set(use)
  return unwritten
}
const timeOf = (unwritten: UnwrittenUses, { id, thing, workspace }: Use): number | undefined =>
  unwritten.get(thing, workspace, id)

describe("last uses that are not written yet", () => {
  test("are the latest of each thing, in the order in which the things were first seen", () => {
    const unwritten = unwrittenOf(useOf(here, "a", 1), useOf(here, "b", 2), useOf(here, "a", 3))
    expect(unwritten.snapshot()).toEqual([useOf(here, "a", 3), useOf(here, "b", 2)])
    expect(unwritten.size).toBe(2)
  })

  test("are told apart by workspace and kind, whatever their ids", () => {
    const uses = [
      useOf(here, "a", 1),
      useOf(there, "a", 2),
      useOf(here, "a", 3, "client"),
      useOf(there, "a", 4, "client")
    ]
    const unwritten = unwrittenOf(...uses)
    expect(uses.map((use) => timeOf(unwritten, use))).toEqual([1, 2, 3, 4])
    expect(unwritten.snapshot()).toEqual(uses)
    for (const [at, use] of uses.entries()) {
      unwritten.written(use)
      expect(unwritten.snapshot()).toEqual(uses.slice(at + 1))
      expect(uses.map((one) => timeOf(unwritten, one))).toEqual([1, 2, 3, 4].map((n) => (n > at + 1 ? n : undefined)))
    }
  })

  test("are one for each thing, though whoever had its id before is gone", () => {
    const [first, second] = [useOf(here, "a", 1), useOf(there, "a", 2)]
    const unwritten = unwrittenOf(first, second)
    unwritten.written(first)
    const later = useOf(there, "a", 3)
    unwritten.set(later)
    expect(unwritten.snapshot()).toEqual([later])
    expect(timeOf(unwritten, later)).toBe(3)
  })

  test("stay when they were seen again while they were written", () => {
    const unwritten = unwrittenOf(useOf(here, "a", 1))
    const [before] = unwritten.snapshot()
    unwritten.set(useOf(here, "a", 2))
    if (before !== undefined) unwritten.written(before)
    expect(unwritten.snapshot()).toEqual([useOf(here, "a", 2)])
  })

  test("that cannot be written keep nobody waiting, neither others nor those of their kind", () => {
    const uses = [useOf(here, "a", 1), useOf(here, "b", 2), useOf(there, "c", 3), useOf(here, "d", 4, "client")]
    const unwritten = unwrittenOf(...uses)
    unwritten.postpone(useOf(here, "a", 1))
    expect(unwritten.snapshot().map(({ id }) => id)).toEqual(["c", "d", "b", "a"])
  })
})
