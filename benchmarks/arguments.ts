import { parseArgs } from "node:util"
import { allParts } from "./parts/all.ts"
import type { Part } from "./parts/Part.ts"

export interface Wish {
  readonly parts: ReadonlyArray<Part>
  readonly quick: boolean
  readonly soak: boolean
  readonly check: boolean
  readonly readme: boolean
  /** A planted fault: so many microseconds are spent at each request of ours. */
  readonly plant: number
  /** A run that has been kept, instead of a new one. */
  readonly from: string | undefined
}

export const usage = `npm run bench [-- OPTIONS]

  --only NAME,…   these parts only
  --quick         short rounds
  --soak          watch the memory for ten minutes; a million strangers of each kind
  --check         measure what benchmarks/budget.json judges, and nothing else, in short turns; the exit status is 1
                  when something falls short
  --plant MICROS  a fault, to see --check fail: each request of ours takes so many microseconds more
  --readme        write the section Performance of benchmarks/README.md, from a whole run
  --from FILE     take a run of artifacts/bench instead of a new one

${allParts.map(({ name, about }) => `  ${name.padEnd(14)}  ${about}`).join("\n")}
`

const mostPlanted = 10_000

/** What was asked for, or what is wrong with it. */
export const readArguments = (args: ReadonlyArray<string>): Wish | string => {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        only: { type: "string", multiple: true },
        quick: { type: "boolean", default: false },
        soak: { type: "boolean", default: false },
        check: { type: "boolean", default: false },
        readme: { type: "boolean", default: false },
        plant: { type: "string", default: "0" },
        from: { type: "string" },
        help: { type: "boolean", default: false }
      }
    })
    if (values.help) return usage
    const isShortened = values.only !== undefined || values.quick || (values.check && values.from === undefined)
    const plant = Number(values.plant)
    if (!(plant >= 0 && plant <= mostPlanted)) return `--plant takes microseconds, up to ${mostPlanted}.\n\n${usage}`
    if (values.from !== undefined && (isShortened || values.soak || plant > 0)) {
      return `--from takes a run as it was: neither --only nor --quick nor --soak nor --plant.\n\n${usage}`
    }
    if (values.readme && (isShortened || plant > 0))
      return `--readme takes a whole run: neither --only nor --quick nor --check nor --plant.\n\n${usage}`
    const names = values.only?.flatMap((text) => text.split(","))
    const unknown = names?.filter((name) => !allParts.some((part) => part.name === name)) ?? []
    if (unknown.length > 0) return `There is no part ${unknown.join(", ")}.\n\n${usage}`
    return {
      parts: names === undefined ? allParts : allParts.filter(({ name }) => names.includes(name)),
      quick: values.quick,
      soak: values.soak,
      check: values.check,
      readme: values.readme,
      plant,
      from: values.from
    }
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n\n${usage}`
  }
}
