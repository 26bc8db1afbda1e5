import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { makeDice } from "../../../core/testing/Dice.ts"
import { patience, runs, seed } from "../runs.ts"
import { type Pattern, patternOf } from "./Pattern.ts"
import { patternsOf } from "./patterns.ts"

const root = join(import.meta.dir, "../../..")

const productPatterns = ["core", "runtimes", "adapters"].flatMap((folder) =>
  [...new Bun.Glob("**/*.ts").scanSync(join(root, folder))]
    .map((path) => join(folder, path))
    .filter((path) => !path.startsWith("core/testing/"))
    .toSorted()
    .flatMap((path) => patternsOf(path, readFileSync(join(root, path), "utf8")))
)

const small = 1024
const large = 4 * small

/** The parts of a text, one of which is repeated until the text is as long as it shall be. */
interface Shape {
  readonly head: string
  readonly pump: string
  readonly tail: string
}

const textOf = ({ head, pump, tail }: Shape, length: number): string =>
  head + pump.repeat(Math.max(0, Math.ceil((length - head.length - tail.length) / pump.length))) + tail

/** Each character by itself, and as many others as the runs allow: the beginning of what matches, and then too much. */
const shapesOf = ({ alphabet, ambiguous, sample }: Pattern, of: number): ReadonlyArray<Shape> => {
  const dice = makeDice(seed + of)
  const letters = [alphabet[0] ?? "a", ...alphabet.slice(1)] as const
  const pumps = [ambiguous[0] ?? letters[0], ...ambiguous.slice(1)] as const
  const some = (most: number) => Array.from({ length: dice.under(most + 1) }, () => dice.pick(letters)).join("")
  const grown = () => {
    const matching = sample(dice)
    return {
      head: matching.slice(0, dice.under(matching.length + 1)),
      pump: dice.chance(60) ? dice.pick(pumps) : dice.pick(letters) + some(2),
      tail: dice.chance(50) ? "\u0001" : some(2)
    }
  }
  return [
    ...letters.map((pump) => ({ head: "", pump, tail: "\u0001" })),
    ...Array.from({ length: Math.ceil(runs / 25) }, grown)
  ]
}

/** The first shape of which four times as much takes far more than four times as long. */
const steepest = (pattern: Pattern, of: number): Shape | undefined =>
  shapesOf(pattern, of).find((shape) => {
    const tooMany = small * 1000
    const few = pattern.steps(textOf(shape, small), tooMany)
    const most = few * 6
    return few > tooMany || pattern.steps(textOf(shape, large), most) > most
  })

test(
  "each pattern of the product takes as many times longer as its text is longer",
  () => {
    expect(productPatterns.length).toBeGreaterThan(50)
    const steep = productPatterns.flatMap(({ pattern, place }, index) => {
      const shape = steepest(patternOf(pattern), index)
      return shape === undefined ? [] : [`${place} ${pattern} on ${JSON.stringify(shape)}, with TESSERA_SEED=${seed}`]
    })
    expect(steep).toEqual([])
  },
  patience
)
