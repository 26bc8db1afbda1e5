/** One family of series, as Prometheus's text format 0.0.4 has it. */
export interface Family {
  readonly type: "counter" | "gauge" | "histogram"
  readonly help: string
  /** By name and labels as they stand there, such as `requests_total{method="GET"}`. */
  readonly samples: ReadonlyMap<string, number>
}

const name = "[a-zA-Z_:][a-zA-Z0-9_:]*"
const label = `[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\\n]|\\\\["\\\\n])*"`
const helpLine = new RegExp(`^# HELP (${name}) (.*)$`)
const typeLine = new RegExp(`^# TYPE (${name}) (counter|gauge|histogram)$`)
const sampleLine = new RegExp(`^((${name})(?:\\{${label}(?:,${label})*\\})?) (\\S+)$`)

const numberOf = (text: string): number => {
  if (text === "+Inf") return Number.POSITIVE_INFINITY
  if (!/^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/.test(text)) throw new Error(`no number: ${text}`)
  return Number(text)
}

const suffixes = { counter: [""], gauge: [""], histogram: ["_bucket", "_sum", "_count"] } as const

/** Reads an exposition and throws at whatever Prometheus would not take, or would not expect. */
export const parseExposition = (text: string): ReadonlyMap<string, Family> => {
  if (!text.endsWith("\n")) throw new Error("the last line does not end")
  const families = new Map<string, { type: Family["type"]; help: string; samples: Map<string, number> }>()
  let help: readonly [string, string] | undefined
  let current: string | undefined
  for (const line of text.slice(0, -1).split("\n")) {
    const [, helped, words] = helpLine.exec(line) ?? []
    if (helped !== undefined) {
      help = [helped, words ?? ""]
      continue
    }
    const [, typed, type] = typeLine.exec(line) ?? []
    if (typed !== undefined) {
      if (families.has(typed)) throw new Error(`${typed} comes twice`)
      if (help?.[0] !== typed) throw new Error(`${typed} has no help`)
      // The expression lets nothing else through.
      families.set(typed, { type: type as Family["type"], help: help[1], samples: new Map() })
      current = typed
      continue
    }
    const [, key = "", sampled = "", value = ""] = sampleLine.exec(line) ?? []
    const family = current === undefined ? undefined : families.get(current)
    if (family === undefined) throw new Error(`not under a family: ${line}`)
    if (!suffixes[family.type].some((suffix) => sampled === `${current}${suffix}`)) {
      throw new Error(`not of the family ${current}: ${line}`)
    }
    if (family.samples.has(key)) throw new Error(`comes twice: ${key}`)
    family.samples.set(key, numberOf(value))
  }
  for (const [name, family] of families) checkFamily(name, family)
  return families
}

const checkFamily = (name: string, { samples, type }: Family): void => {
  if (samples.size === 0) throw new Error(`${name} has no series`)
  if (type === "counter" && !name.endsWith("_total")) throw new Error(`${name} is a counter by another name`)
  if (type === "counter") {
    for (const [key, value] of samples) if (value < 0) throw new Error(`${key} is below zero`)
  }
  if (type !== "histogram") return
  for (const [key, count] of samples) {
    if (!key.startsWith(`${name}_count`)) continue
    const labels = key.slice(`${name}_count`.length).replace(/[{}]/g, "")
    const start = `${name}_bucket{${labels}${labels === "" ? "" : ","}le="`
    const buckets = [...samples].filter(([bucket]) => bucket.startsWith(start))
    const bounds = buckets.map(([bucket]) => numberOf(bucket.slice(start.length, -2)))
    if (bounds.at(-1) !== Number.POSITIVE_INFINITY) throw new Error(`${key} has no last bucket`)
    if (bounds.some((bound, at) => bound <= (bounds[at - 1] ?? Number.NEGATIVE_INFINITY))) {
      throw new Error(`the buckets of ${key} do not grow`)
    }
    const counts = buckets.map(([, held]) => held)
    if (counts.some((held, at) => held < (counts[at - 1] ?? 0))) throw new Error(`the counts of ${key} fall`)
    if (counts.at(-1) !== count) throw new Error(`${key} is not what its last bucket holds`)
    if (!samples.has(`${name}_sum${labels === "" ? "" : `{${labels}}`}`)) throw new Error(`${key} has no sum`)
  }
}

/** A series' value; 0 where there is none yet. */
export const sampleOf = (families: ReadonlyMap<string, Family>, series: string): number => {
  const family = families.get(series.replace(/\{.*$/, "")) ?? families.get(series.replace(/_count(\{.*)?$/, ""))
  return family?.samples.get(series) ?? 0
}
