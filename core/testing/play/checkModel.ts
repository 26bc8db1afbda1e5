import { Effect, type Scope } from "effect"
import { makeDice, seedOfRun } from "../Dice.ts"
import type { GrantTypeModel } from "../model/ownGrant.ts"
import { type World, worlds } from "../model/World.ts"
import type { Script } from "../script/Command.ts"
import { generate } from "../script/generate.ts"
import { shrink } from "../script/shrink.ts"
import { simpler } from "../script/simpler.ts"
import type { Player } from "./Player.ts"
import { type Difference, perform } from "./perform.ts"

export interface Runs {
  readonly seed: number
  /** How many scripts, from 1 on; anything else is a defect. */
  readonly runs: number
  /** The most lines of one script. */
  readonly longest?: number
  /** Settings of one's own, in place of those that would be drawn. */
  readonly world?: Partial<Omit<World, "seed" | "grantTypes">> & {
    /** Models of the host's own grant types, whose requests are drawn with the others. */
    readonly grantTypes?: ReadonlyArray<GrantTypeModel>
  }
}

/** Makes a system that starts empty under these settings, and a player of the script on it. */
export type Stage = (world: World, script: Script) => Effect.Effect<Player, never, Scope.Scope>

/** A script on which the system and the model part ways, as short as it could be made. */
export interface Falsified {
  readonly _tag: "Falsified"
  /** With `runs: 1`, this seed generates the same script again. */
  readonly seed: number
  readonly world: World
  readonly original: Script
  readonly script: Script
  readonly difference: Difference
}

export interface Agreed {
  readonly _tag: "Agreed"
  readonly runs: number
  readonly commands: number
  /** How often each row of the model's tables explained an answer, at most once per script. */
  readonly rules: ReadonlyMap<string, number>
}

/** 2033-05-18: any time will do, as long as it is always the same. */
const firstMorning = 2_000_000_000_123

/** The settings and the script that belong to one seed. */
export const scriptOf = (
  seed: number,
  longest: number,
  own?: Runs["world"]
): { readonly world: World; readonly script: Script } => {
  const dice = makeDice(seed)
  const of = (...residues: ReadonlyArray<number>) => residues.includes(seed % 128)
  const signOuts = of(15, 22, 31, 50, 54, 63, 79, 95, 118)
  const documents = own?.documents ?? of(5, 12, 24, 37, 44, 69, 92, 101)
  // By the seed and no chance, so that the others mean what they meant before there were keys and all that followed.
  const more = {
    keys: seed % 4 === 0,
    devices: seed % 4 === 1,
    exchanges: seed % 8 === 3 || seed % 16 === 14,
    openId: seed % 16 === 7 || seed % 16 === 10 || signOuts,
    signOuts,
    places: seed % 16 === 14,
    assertions: of(2, 6, 18, 38, 66, 70, 82, 102),
    claims: of(10, 15, 23, 31, 42, 50, 54, 58, 63, 74, 79, 90, 95, 118),
    signers: of(4, 20, 35, 36, 60, 98, 99, 111),
    jwts: of(19, 39, 43, 83, 98, 103),
    owners: of(9, 25, 57, 73, 88, 89, 105, 120)
  }
  // Where an owner answers clients, most ask; and some have no record before the answer.
  const asking = {
    ...(more.owners && !of(88) ? { workspaceAccess: "approved" as const } : {}),
    ...(of(25, 57, 73, 120) ? { rowsAtConsent: true } : {})
  }
  // A client with a document asks as all others do, so that it has scripts of its own.
  const drawn = documents ? { documents } : { ...more, ...asking }
  const world = { ...dice.pick(worlds(seed, firstMorning)), ...drawn, ...own }
  return { world, script: generate(dice, world, longest) }
}

/** Plays random scripts against a system and the model, compares every answer, and shrinks the first difference. */
export const checkModel = Effect.fnUntraced(function* (
  stage: Stage,
  { seed, runs, longest = 60, world: settings }: Runs
) {
  if (!Number.isSafeInteger(runs) || runs < 1) {
    // A fault of the caller, not of what is proved: to agree without a script would prove nothing.
    return yield* Effect.die(new RangeError(`runs has to be a whole number from 1 on, and was ${runs}`))
  }
  const playOnce = (world: World, script: Script) =>
    Effect.scoped(Effect.flatMap(stage(world, script), (player) => perform(world, script, player)))

  const rules = new Map<string, number>()
  let commands = 0
  for (let run = 0; run < runs; run++) {
    const own = seedOfRun(seed, run)
    const { world, script } = scriptOf(own, longest, settings)
    const playthrough = yield* playOnce(world, script)
    commands += playthrough.played
    for (const rule of playthrough.rules) rules.set(rule, (rules.get(rule) ?? 0) + 1)
    if (playthrough.difference === null) continue

    const fails = (candidate: Script) => Effect.map(playOnce(world, candidate), ({ difference }) => difference !== null)
    const shrunk = yield* shrink(script, fails, simpler)
    const again = yield* playOnce(world, shrunk)
    return {
      _tag: "Falsified",
      seed: own,
      world,
      original: script,
      script: shrunk,
      difference: again.difference ?? playthrough.difference
    } satisfies Falsified
  }
  return { _tag: "Agreed", runs, commands, rules } satisfies Agreed
})
