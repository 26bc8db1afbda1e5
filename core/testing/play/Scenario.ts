import {
  type Authorize,
  type Decide,
  type Ref,
  type Register,
  type Script,
  type Step,
  stepsOf
} from "../script/Command.ts"

/** The script as a dictionary: what a later line needs to know about an earlier one. */
export interface Scenario {
  readonly register: (ref: Ref) => Register | undefined
  /** Of a visit: what was pushed before it. */
  readonly authorize: (ref: Ref) => Authorize | undefined
  readonly decide: (ref: Ref) => Decide | undefined
}

/** Looks steps up as they are at that moment, so that a scenario may still grow. */
export const scenarioFrom = (steps: ReadonlyMap<Ref, Step>): Scenario => ({
  register: (ref) => {
    const step = steps.get(ref)
    return step?._tag === "Register" ? step : undefined
  },
  authorize: (ref) => {
    const step = steps.get(ref)
    if (step?._tag !== "Visit") return step?._tag === "Authorize" ? step : undefined
    const pushed = steps.get(step.request)
    return pushed?._tag === "Push" ? { ...pushed, _tag: "Authorize", twice: null } : undefined
  },
  decide: (ref) => {
    const step = steps.get(ref)
    return step?._tag === "Decide" ? step : undefined
  }
})

export const scenarioOf = (script: Script): Scenario =>
  scenarioFrom(new Map(script.flatMap(stepsOf).map((step) => [step.id, step])))
