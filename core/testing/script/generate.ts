import type { Dice } from "../Dice.ts"
import { foretell } from "../model/foretell.ts"
import type { Facts } from "../model/Rule.ts"
import { beginning, type State } from "../model/State.ts"
import type { World } from "../model/World.ts"
import { type Command, type Fault, type Script, type Step, stepsOf } from "./Command.ts"
import { drawStep } from "./drawStep.ts"

const none: ReadonlySet<string> = new Set()

/** Where the model believes that things stand after a step: its first answer. */
const after = (world: World, state: State, step: Step): State => {
  const facts: Facts = { world, state, without: none }
  return foretell(facts, step)[0]?.next ?? state
}

const faults: readonly [Fault, ...ReadonlyArray<Fault>] = [
  { what: "not done", write: 1 },
  { what: "lost, not applied", write: 1 },
  { what: "lost, applied", write: 1 },
  { what: "killed before", write: 1 },
  { what: "killed after", write: 1 },
  { what: "not done", write: 2 },
  { what: "killed before", write: 2 }
]

const writes = (step: Step): boolean =>
  ["Register", "Decide", "Redeem", "Refresh", "ClientCredentials", "Revoke", "DeleteClient"].includes(step._tag)

const canMeet = (step: Step): boolean =>
  step._tag !== "Wait" && step._tag !== "Housekeeping" && step._tag !== "Register"

/** Company for a step: mostly the same again, else whatever else could be sent at that moment. */
const company = (dice: Dice, world: World, state: State, step: Step, id: number): Step | undefined => {
  if (dice.chance(65)) return { ...step, id }
  const other = drawStep(dice, world, state, id)
  return other !== undefined && canMeet(other) ? other : undefined
}

const drawCommand = (dice: Dice, world: World, state: State, id: number): Command | undefined => {
  const step = drawStep(dice, world, state, id)
  if (step === undefined) return undefined
  if (writes(step) && dice.chance(8)) return { _tag: "Troubled", id, fault: dice.pick(faults), during: step }
  if (canMeet(step) && dice.chance(10)) {
    const more = [1, 2, 3].slice(0, 1 + dice.under(3)).map((n) => company(dice, world, state, step, id + n))
    const steps = [step, ...more.filter((one) => one !== undefined)]
    return steps.length > 1 ? { _tag: "Together", id, steps } : step
  }
  return step
}

/** A script of a random length, each line drawn from what the lines before it made possible. */
export const generate = (dice: Dice, world: World, longest: number): Script => {
  const length = 5 + dice.under(longest - 4)
  const script: Array<Command> = []
  let state = beginning(world.startsAt)
  for (let line = 0; line < length; line++) {
    const command = drawCommand(dice, world, state, (line + 1) * 10)
    if (command === undefined) continue
    script.push(command)
    for (const step of stepsOf(command)) state = after(world, state, step)
  }
  return script
}
