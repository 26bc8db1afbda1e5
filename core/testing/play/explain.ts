import type { HttpResponse } from "../../http/Http.ts"
import type { Expectation } from "../model/Expectation.ts"
import { foretell } from "../model/foretell.ts"
import type { State } from "../model/State.ts"
import type { World } from "../model/World.ts"
import type { Command, Fault, Step } from "../script/Command.ts"
import type { Ledger } from "./Ledger.ts"
import { mismatch } from "./mismatch.ts"
import { headerOf } from "./reading.ts"

export interface Answered {
  readonly step: Step
  readonly response: HttpResponse | null
}

/** What the model would have let pass, and why the answer is not that. */
export interface Objection {
  readonly step: Step
  readonly rule: string
  readonly expected: Expectation
  readonly complaint: string
}

export interface Explanation {
  /** Every state that the system may be in after such answers; none: the model cannot explain them. */
  readonly states: ReadonlyArray<State>
  readonly rules: ReadonlyArray<string>
  readonly objections: ReadonlyArray<Objection>
}

interface Evidence {
  readonly world: World
  readonly earlier: Ledger
  readonly ledger: Ledger
}

const nowhere: Explanation = { states: [], rules: [], objections: [] }

const joined = (all: ReadonlyArray<Explanation>): Explanation => ({
  states: [...new Set(all.flatMap(({ states }) => states))],
  rules: all.flatMap(({ rules }) => rules),
  objections: all.flatMap(({ objections }) => objections)
})

const none: ReadonlySet<string> = new Set()

const explainStep = ({ world, earlier, ledger }: Evidence, state: State, { step, response }: Answered): Explanation =>
  joined(
    foretell({ world, state, without: none }, step).map(({ rule, expect, next }) => {
      if (expect._tag === "Silence" && response === null) return { states: [next], rules: [rule], objections: [] }
      const complaint = response === null ? "there is no answer" : mismatch(expect, { step, response, earlier, ledger })
      return complaint === null
        ? { states: [next], rules: [rule], objections: [] }
        : { states: [], rules: [], objections: [{ step, rule, expected: expect, complaint }] }
    })
  )

const isUnavailable = (response: HttpResponse | null): boolean =>
  response?.status === 503 && headerOf(response, "retry-after") !== null

/** Steps whose write carries a command id by which it is recognised, so that its lost answer costs nothing. */
const isRecognised = (step: Step): boolean => ["Redeem", "Refresh", "ClientCredentials", "Revoke"].includes(step._tag)

/**
 * A write was struck. Either the step came out as ever, or it answered 503; then what was not applied did not happen,
 * and of what was applied, or came after a first write, both possibilities are kept in mind.
 */
const explainTrouble = (
  evidence: Evidence,
  state: State,
  fault: Fault,
  alone: boolean,
  answered: Answered
): Explanation => {
  const { step, response } = answered
  if (!isUnavailable(response)) return explainStep(evidence, state, answered)
  if (alone && fault.what === "lost, applied" && fault.write === 1 && isRecognised(step)) {
    const complaint = "a write that was applied was not recognised when its answer was lost"
    return { ...nowhere, objections: [{ step, rule: "design 2", expected: { _tag: "Silence" }, complaint }] }
  }
  const mayHaveHappened = !alone || fault.write > 1 || fault.what === "lost, applied" || fault.what === "killed after"
  const nexts = foretell({ world: evidence.world, state, without: none }, step).map(({ next }) => next)
  return {
    states: mayHaveHappened ? [state, ...nexts] : [state],
    rules: ["a struck write answers 503"],
    objections: []
  }
}

/** As if one had come after the other, in any order that fits: that is what "at the same time" may mean. */
const explainTogether = (
  evidence: Evidence,
  state: State,
  open: ReadonlyArray<Answered>,
  explainOne: (state: State, answered: Answered) => Explanation
): Explanation => {
  if (open.length === 0) return { ...nowhere, states: [state] }
  return joined(
    open.map((answered) => {
      const rest = open.filter((other) => other !== answered)
      const now = explainOne(state, answered)
      const then = joined(now.states.map((next) => explainTogether(evidence, next, rest, explainOne)))
      return {
        states: then.states,
        rules: [...now.rules, ...then.rules],
        objections: [...now.objections, ...then.objections]
      }
    })
  )
}

export const explain = (
  evidence: Evidence,
  states: ReadonlyArray<State>,
  command: Command,
  answers: ReadonlyArray<Answered>,
  wasStruck: boolean
): Explanation => {
  const fault = command._tag === "Troubled" && wasStruck ? command.fault : null
  const explainOne = (state: State, answered: Answered): Explanation =>
    fault === null
      ? explainStep(evidence, state, answered)
      : explainTrouble(evidence, state, fault, answers.length === 1, answered)
  return joined(states.map((state) => explainTogether(evidence, state, answers, explainOne)))
}
