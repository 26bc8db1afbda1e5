import type { HttpResponse } from "../../http/Http.ts"
import type { Expectation } from "../model/Expectation.ts"
import { foretell } from "../model/foretell.ts"
import type { State } from "../model/State.ts"
import type { World } from "../model/World.ts"
import type { Command, Step, Troubled } from "../script/Command.ts"
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

/** As if one had come after the other, in any order that fits: that is what "at the same time" may mean. */
const explainTogether = (evidence: Evidence, state: State, open: ReadonlyArray<Answered>): Explanation => {
  if (open.length === 0) return { ...nowhere, states: [state] }
  return joined(
    open.map((answered) => {
      const rest = open.filter((other) => other !== answered)
      const now = explainStep(evidence, state, answered)
      const then = joined(now.states.map((next) => explainTogether(evidence, next, rest)))
      return {
        states: then.states,
        rules: [...now.rules, ...then.rules],
        objections: [...now.objections, ...then.objections]
      }
    })
  )
}

const isUnavailable = (response: HttpResponse | null): boolean =>
  response?.status === 503 && headerOf(response, "retry-after") !== null

/**
 * A write was struck. Either the step came out as ever, or it answered 503; then what was not applied did not happen,
 * and of what was applied, or came after a first write, the model keeps both possibilities in mind.
 */
const explainTrouble = (evidence: Evidence, state: State, { fault }: Troubled, answered: Answered): Explanation => {
  const asEver = explainStep(evidence, state, answered)
  if (!isUnavailable(answered.response)) return asEver
  const mayHaveHappened = fault.write > 1 || fault.what === "lost, applied" || fault.what === "killed after"
  const nexts = foretell({ world: evidence.world, state, without: none }, answered.step).map(({ next }) => next)
  return {
    states: mayHaveHappened ? [state, ...nexts] : [state],
    rules: ["a struck write answers 503"],
    objections: []
  }
}

export const explain = (
  evidence: Evidence,
  states: ReadonlyArray<State>,
  command: Command,
  answers: ReadonlyArray<Answered>,
  wasStruck: boolean
): Explanation =>
  joined(
    states.map((state) => {
      const [only] = answers
      if (only === undefined) return { ...nowhere, states: [state] }
      if (command._tag === "Together") return explainTogether(evidence, state, answers)
      if (command._tag === "Troubled" && wasStruck) return explainTrouble(evidence, state, command, only)
      return explainStep(evidence, state, only)
    })
  )
