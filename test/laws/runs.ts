/** How often a law is tried and what chance starts from: `TESSERA_RUNS` and `TESSERA_SEED`, else 100 and 1. */
const read = (name: string, usual: number): number => {
  const text = process.env[name]
  if (text === undefined || text === "") return usual
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${name} is not a whole number: ${text}`)
  return number
}

export const runs = read("TESSERA_RUNS", 100)

/** Scripts for the model, and a seed from which so many come upon every row that it has. */
const usualScripts = 500
const usualScriptSeed = 7
export const scripts = read("TESSERA_RUNS", usualScripts)

export const seed = read("TESSERA_SEED", 1)
export const scriptSeed = read("TESSERA_SEED", usualScriptSeed)
/** From other seeds, in as many scripts, some rows are rare enough to be missed. */
export const everyRowComes = scripts >= usualScripts && scriptSeed === usualScriptSeed

/** Laws take their time, and more of it when asked for more runs. */
export const patience = 60_000 + scripts * 120
