import type { HttpResponse } from "../../http/Http.ts"
import { letIn } from "../model/bring.ts"
import { paced } from "../model/device.ts"
import { readingsOf } from "../model/document.ts"
import type { Expectation } from "../model/Expectation.ts"
import { predict } from "../model/predict.ts"
import { withProofSpent } from "../model/proof.ts"
import { type Grant, type State, withGrant } from "../model/State.ts"
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

interface Explanation {
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

/** Each state once, whatever way led there. */
const distinct = (states: ReadonlyArray<State>): ReadonlyArray<State> => {
  if (states.length < 2) return states
  const unique = new Set(states)
  return unique.size < 2 ? [...unique] : [...new Map([...unique].map((state) => [keyOf(state), state])).values()]
}

/** Of what never changes, the text that is made from it, once. */
const keptText = <T extends object>(textOf: (value: T) => string): ((value: T) => string) => {
  const kept = new WeakMap<T, string>()
  return (value) => {
    const known = kept.get(value)
    if (known !== undefined) return known
    const text = textOf(value)
    kept.set(value, text)
    return text
  }
}

/** Most of a state is that of the state before, so that it is written once for both. */
const textOfOne = keptText<object>(JSON.stringify)

const textOf = (value: unknown): string =>
  typeof value === "object" && value !== null ? textOfOne(value) : JSON.stringify(value)

/** What came at the same time stands in no order. */
const textOfAll = keptText<ReadonlyMap<string | number, unknown>>((map) =>
  JSON.stringify([...map].map(([name, value]) => `${name} ${textOf(value)}`).sort())
)

const keyOf = ({ now, keys, ...maps }: State): string =>
  [
    now,
    textOfOne(keys),
    ...[
      maps.clients,
      maps.requests,
      maps.devices,
      maps.pages,
      maps.grants,
      maps.access,
      maps.refresh,
      maps.places,
      maps.trusted,
      maps.met,
      maps.idTokens,
      maps.spent
    ].map(textOfAll)
  ].join()

const joined = (all: ReadonlyArray<Explanation>): Explanation => ({
  states: all.flatMap(({ states }) => states),
  rules: all.flatMap(({ rules }) => rules),
  objections: all.flatMap(({ objections }) => objections)
})

const none: ReadonlySet<string> = new Set()

const explainStep = ({ world, earlier, ledger }: Evidence, state: State, { step, response }: Answered): Explanation =>
  joined(
    predict({ world, state, without: none }, step).map(({ rule, expect, next }) => {
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
const isRecognised = (step: Step): boolean =>
  ["Redeem", "Poll", "Refresh", "Bring", "ClientCredentials", "OwnGrant", "Revoke"].includes(step._tag)

/** What may have been read of a client's document before anything is decided, and in how many writes that was kept. */
const readFor = (state: State, step: Step): ReadonlyArray<{ readonly state: State; readonly writes: number }> =>
  readingsOf({ state }, step).map(({ state: read }) => {
    const isKept = [...read.clients].some(
      ([ref, { document }]) => document?.record != null && document.record !== state.clients.get(ref)?.document?.record
    )
    // The client, and that it was changed, for other processes.
    return { state: read, writes: isKept ? 2 : 0 }
  })

/** The first write that is about what was asked: what proves a client or a key is remembered before anything is decided. */
const ownWrite = (step: Step, before = 0): number => {
  const isSigned = "signed" in step && step.signed !== undefined
  const isProven = step._tag !== "Rekey" && "key" in step && step.key !== undefined
  return 1 + before + Number(isSigned) + Number(isProven)
}

/** Whether the write that was struck was done. */
const wasApplied = ({ what }: Fault): boolean => what === "lost, applied" || what === "killed after"

/** A client one of whose writes was struck may or may not have completed a flow, been used, or got a record. */
const withFlowsOf = (before: State, after: State): State => ({
  ...after,
  clients: new Map(
    [...after.clients].map(([ref, client]) => {
      const { document, hasCompletedAFlow, heldUnder, keptUntil } = before.clients.get(ref) ?? {
        ...client,
        hasCompletedAFlow: false
      }
      const own = { ...client, hasCompletedAFlow, heldUnder, keptUntil }
      if (client.document === undefined) return [ref, own]
      return [ref, { ...own, document: { ...client.document, record: document?.record ?? null } }]
    })
  )
})

const withAndWithoutFlows = (before: State, nexts: ReadonlyArray<State>): ReadonlyArray<State> =>
  nexts.flatMap((next) => (next === before ? [next] : [next, withFlowsOf(before, next)]))

/** An answer to a device, or to a pushed request, and a client with a document are written apart from the grant. */
const halfDone = (before: State, step: Step, next: State): ReadonlyArray<State> => {
  const page = step._tag === "Decide" ? before.pages.get(step.page) : undefined
  if (step._tag !== "Decide" || page === undefined) return []
  const isApart = page.request !== null || before.clients.get(page.client)?.document !== undefined
  if (!isApart) return []
  return [step.decision === "approve" ? { ...next, grants: before.grants } : { ...before, grants: next.grants }]
}

/** The grants that end with a session, a place or a connection, each by a write of its own. */
const endedBy = (before: State, { _tag }: Step, next: State): ReadonlyArray<Grant> =>
  _tag === "SignOut" || _tag === "EndSession" || _tag === "EndAll"
    ? [...next.grants.values()].filter(({ death, name }) => death !== null && before.grants.get(name)?.death === null)
    : []

const partlyEnded = (before: State, step: Step, next: State): ReadonlyArray<State> => {
  const ended = endedBy(before, step, next)
  if (ended.length === 0) return []
  return ended.reduce<ReadonlyArray<State>>(
    (states, grant) => states.flatMap((state) => [state, withGrant(state, grant)]),
    [before]
  )
}

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
  if (!isUnavailable(response)) {
    // What could not be noted of a client is no reason to withhold its tokens.
    const explained = explainStep(evidence, state, answered)
    return { ...explained, states: withAndWithoutFlows(state, explained.states) }
  }
  const facts = { world: evidence.world, state, without: none }
  const read = readFor(state, step)
  const own = read.map(({ writes }) => ownWrite(step, writes))
  const isOfKey = fault.write === "signing key"
  if (
    alone &&
    fault.what === "lost, applied" &&
    (isOfKey || own.every((write) => fault.write === write)) &&
    isRecognised(step)
  ) {
    const complaint = "a write that was applied was not recognised when its answer was lost"
    return { ...nowhere, objections: [{ step, rule: "design 2", expected: { _tag: "Silence" }, complaint }] }
  }
  const predicted = predict(facts, step).map(({ next }) => next)
  // Their writes leave together, so that others than the one that was struck may be there.
  const leaveTogether = step._tag === "EndAll" && predicted.some((next) => endedBy(state, step, next).length > 1)
  const mayHaveHappened =
    !alone ||
    leaveTogether ||
    own.some(
      (write) => fault.write !== "signing key" && (fault.write > write || (fault.write === write && wasApplied(fault)))
    )
  const partly = (next: State) => [...halfDone(state, step, next), ...partlyEnded(state, step, next)]
  const nexts = withAndWithoutFlows(state, [...predicted, ...predicted.flatMap(partly)])
  // That a device polled was noted, and whom an issuer names let in, before anything was written.
  const early = step._tag === "Bring" ? letIn(facts, step) : paced(state, step)
  // What a client signed is remembered by the first write, or not; the key that signs is made beside that.
  const spent = withProofSpent(facts, step)
  const isSpent = fault.write !== 1 || wasApplied(fault)
  const reading = read.flatMap((one) => (one.state === state ? [] : [one.state, withFlowsOf(state, one.state)]))
  const before = [state, early, ...reading].flatMap((one) =>
    alone && !isOfKey ? [isSpent ? spent(one) : one] : [one, spent(one)]
  )
  return {
    states: mayHaveHappened ? [...before, ...nexts] : before,
    rules: ["a struck write answers 503"],
    objections: []
  }
}

/** As if one had come after the other, in any order that fits: that is what "at the same time" may mean. */
const explainTogether = (
  states: ReadonlyArray<State>,
  answers: ReadonlyArray<Answered>,
  explainOne: (state: State, answered: Answered) => Explanation
): Explanation => {
  // For each set of steps that may have come first, as bits: where the system may be after exactly those.
  const after = new Map<number, ReadonlyArray<State>>([[0, distinct(states)]])
  const explanations: Array<Explanation> = []
  const all = 2 ** answers.length - 1
  for (let done = 0; done < all; done++) {
    for (const state of distinct(after.get(done) ?? [])) {
      for (const [index, answered] of answers.entries()) {
        const bit = 1 << index
        if ((done & bit) !== 0) continue
        const explanation = explainOne(state, answered)
        explanations.push(explanation)
        after.set(done | bit, [...(after.get(done | bit) ?? []), ...explanation.states])
      }
    }
  }
  return { ...joined(explanations), states: distinct(after.get(all) ?? []) }
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
  return explainTogether(states, answers, explainOne)
}
