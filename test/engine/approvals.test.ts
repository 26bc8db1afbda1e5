import { expect, test } from "bun:test"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Approval } from "../../core/engine/Grants.ts"
import { GrantId } from "../../core/rules/Id.ts"
import { standardPolicy } from "../../core/rules/Policy.ts"
import { inWorld, type World } from "../given/World.ts"
import { approved } from "../grant/given.ts"

const id = GrantId.make("g".repeat(22))

const begun = ({ services, workspace }: World) => services.grants.begin(workspace, approved(), id)
const takenBack = ({ services, workspace }: World) => services.grants.withdraw(workspace.id, approved(), id)
const endedByOwner = ({ services, workspace }: World) => services.grants.revokeGrant(workspace.id, id, "by_owner")

type Act = (world: World) => Effect.Effect<unknown, unknown>

const rows: ReadonlyArray<readonly [name: string, acts: ReadonlyArray<Act>, becomes: Approval["_tag"]]> = [
  ["is none where no person said yes", [], "None"],
  ["waits while its code is out", [begun], "Waiting"],
  ["waits up to the end of its code", [begun, () => TestClock.adjust(standardPolicy.codeTtl - 1)], "Waiting"],
  ["is over with its code", [begun, () => TestClock.adjust(standardPolicy.codeTtl)], "Expired"],
  ["is denied where its person took it back", [begun, takenBack], "Denied"],
  ["is denied where its person took it back before it began", [takenBack], "Denied"],
  ["is no denial where an owner ended it", [begun, endedByOwner], "Used"]
]

for (const [name, acts, becomes] of rows) {
  test(`an approval ${name}`, () =>
    inWorld(function* (world) {
      for (const act of acts) yield* act(world)
      expect((yield* world.services.grants.approvalOf(world.workspace, id))._tag).toBe(becomes)
    }))
}

test("an approval that waits has the code that it began with, and begins no second time", () =>
  inWorld(function* (world) {
    const code = yield* begun(world)
    expect(yield* world.services.grants.approvalOf(world.workspace, id)).toEqual({ _tag: "Waiting", code })
    expect((yield* Effect.flip(begun(world)))._tag).toBe("Conflict")
    expect(yield* takenBack(world)).toBe("withdrawn")
    expect(yield* takenBack(world)).toBe("was_over")
  }))
