import { Effect } from "effect"
import type { HttpResponse } from "../../http/Http.ts"
import type { World } from "../model/World.ts"
import type { Ref, Step } from "../script/Command.ts"
import { handedOver, type Ledger } from "./Ledger.ts"
import { playWith } from "./Player.ts"
import { scenarioFrom } from "./Scenario.ts"
import type { SystemUnderTest } from "./SystemUnderTest.ts"

/** A step that has no number yet. */
type Unnumbered = Step extends infer S ? (S extends Step ? Omit<S, "id"> : never) : never

export interface Act {
  readonly ref: Ref
  readonly response: HttpResponse
}

/** Plays step after step without a script: each answer decides what comes next. */
export interface Improvisation {
  readonly act: (step: Unnumbered) => Effect.Effect<Act>
  /** What stands behind a name such as `access#3`; empty where nothing does. */
  readonly text: (name: string) => string
  readonly ledger: () => Ledger
}

const silence: HttpResponse = { status: 0, headers: [], body: "" }

export const improvise = (system: SystemUnderTest, world: World): Improvisation => {
  const steps = new Map<Ref, Step>()
  const player = playWith(system, world, scenarioFrom(steps))
  const ledger = new Map<string, string>()
  return {
    act: (unnumbered) =>
      Effect.suspend(() => {
        const ref = steps.size + 1
        // A step is its number and the rest; `Unnumbered` is exactly the rest.
        const step = { ...unnumbered, id: ref } as Step
        steps.set(ref, step)
        return Effect.map(player.play(step, ledger), (response) => {
          if (response !== null) for (const [name, text] of handedOver(step, response)) ledger.set(name, text)
          return { ref, response: response ?? silence }
        })
      }),
    text: (name) => ledger.get(name) ?? "",
    ledger: () => ledger
  }
}
