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
  /** Who is at the browser that a consent page was drawn for, and for which client. */
  readonly asked: (ref: Ref) => { readonly client: Ref; readonly user: string } | undefined
  readonly decide: (ref: Ref) => Decide | undefined
}

/** Looks steps up as they are at that moment, so that a scenario may still grow. */
export const scenarioFrom = (steps: ReadonlyMap<Ref, Step>): Scenario => {
  const authorize: Scenario["authorize"] = (ref) => {
    const step = steps.get(ref)
    if (step?._tag !== "Visit") return step?._tag === "Authorize" ? step : undefined
    const pushed = steps.get(step.request)
    return pushed?._tag === "Push" ? { ...pushed, _tag: "Authorize", twice: null } : undefined
  }
  return {
    register: (ref) => {
      const step = steps.get(ref)
      return step?._tag === "Register" ? step : undefined
    },
    authorize,
    asked: (ref) => {
      const step = steps.get(ref)
      if (step?._tag !== "Enter") return authorize(ref)
      const device = steps.get(step.device)
      return device?._tag === "AskDevice" ? { client: device.client, user: step.user } : undefined
    },
    decide: (ref) => {
      const step = steps.get(ref)
      return step?._tag === "Decide" ? step : undefined
    }
  }
}

export const scenarioOf = (script: Script): Scenario =>
  scenarioFrom(new Map(script.flatMap(stepsOf).map((step) => [step.id, step])))
