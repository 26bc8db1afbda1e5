import { readFileSync } from "node:fs"
import { constants } from "node:os"
import { join } from "node:path"

export const checkout = join(import.meta.dir, "../../..")

export interface Instruction {
  readonly name: string
  readonly text: string
}

/** From one FROM to the next. */
export interface Stage {
  readonly base: string
  readonly name: string | undefined
  readonly instructions: ReadonlyArray<Instruction>
}

/** Ours has an instruction to a line. */
export const stagesOf = (containerfile: string): ReadonlyArray<Stage> => {
  const stages: Array<Stage & { readonly instructions: Array<Instruction> }> = []
  for (const line of containerfile.split("\n")) {
    if (line === "" || line.startsWith("#")) continue
    const [, name = "", text = ""] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    if (name === "" || text.endsWith("\\")) throw new Error(`not an instruction of one line: ${line}`)
    if (name === "FROM") {
      const [base = "", as, alias] = text.split(" ")
      stages.push({ base, name: as === "AS" ? alias : undefined, instructions: [] })
    } else {
      const stage = stages.at(-1)
      if (stage === undefined) throw new Error(`before any FROM: ${line}`)
      stage.instructions.push({ name, text })
    }
  }
  return stages
}

export const ours = (): ReadonlyArray<Stage> =>
  stagesOf(readFileSync(join(checkout, "runtimes/container/Containerfile"), "utf8"))

export const every = ({ instructions }: Stage, name: string): ReadonlyArray<string> =>
  instructions.filter((one) => one.name === name).map(({ text }) => text)

/** The one instruction of its name. */
export const only = (stage: Stage, name: string): string => {
  const [text, ...more] = every(stage, name)
  if (text === undefined || more.length > 0) throw new Error(`${name} stands there ${more.length + 1} times, or never`)
  return text
}

/** A command without a shell: a JSON list of texts. */
export const words = (text: string): ReadonlyArray<string> => {
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list) || !list.every((word) => typeof word === "string")) throw new Error(`needs a shell: ${text}`)
  return list
}

export const signalNamed = (name: string): NodeJS.Signals => {
  const isSignal = (text: string): text is NodeJS.Signals => text in constants.signals
  if (!isSignal(name)) throw new Error(`no signal: ${name}`)
  return name
}

export const environment = (stage: Stage): Readonly<Record<string, string>> =>
  Object.fromEntries(
    every(stage, "ENV")
      .flatMap((text) => text.split(" "))
      .map((pair) => {
        const at = pair.indexOf("=")
        return [pair.slice(0, at), pair.slice(at + 1)]
      })
  )
