import type { HttpResponse } from "../../http/Http.ts"
import { stepsOf } from "../script/Command.ts"
import { inWords } from "../script/inWords.ts"
import type { Falsified } from "./checkModel.ts"

const shown = (text: string): string => (text.length > 400 ? `${text.slice(0, 400)} …` : text)

const responseLines = (response: HttpResponse | null): ReadonlyArray<string> =>
  response === null
    ? ["  answered nothing"]
    : [
        `  answered ${response.status}`,
        ...response.headers
          .filter(([name]) => ["location", "www-authenticate", "content-type"].includes(name.toLowerCase()))
          .map(([name, value]) => `    ${name}: ${shown(value)}`),
        ...(response.body === "" ? [] : [`    ${shown(response.body)}`])
      ]

/** A failing run, as lines: how to see it again, the settings, the script, and the first answer that differs. */
export const report = ({ seed, world, original, script, difference }: Falsified): string => {
  const at = script.findIndex((command) => command.id === difference.command.id)
  const lines = script.slice(0, at + 1).map((command, index) => `  ${index + 1}. ${inWords(command)}`)
  const objections = new Map(
    difference.objections.map(({ step, rule, complaint }) => [
      `${step.id} ${rule}`,
      `  #${step.id}: ${complaint}  [${rule}]`
    ])
  )
  return [
    `The model and the system part ways. See it again with TESSERA_SEED=${seed} TESSERA_RUNS=1`,
    `${script.length} of ${original.length} commands are enough, under ${JSON.stringify(world)}:`,
    ...lines,
    "The first answer that differs:",
    ...difference.answers.flatMap(({ step, response }) => [
      ...(stepsOf(difference.command).length > 1 ? [`  to #${step.id}`] : []),
      ...responseLines(response)
    ]),
    "What the model would have let pass, and what is not so:",
    ...objections.values()
  ].join("\n")
}
