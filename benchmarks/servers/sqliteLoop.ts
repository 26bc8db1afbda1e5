import { createInterface } from "node:readline"
import { cpuOf } from "../load/CpuTime.ts"
import type { Sample } from "../Plan.ts"
import { argument } from "./serving.ts"
import { openSqliteRows } from "./sqliteRows.ts"
import { grantIdAt } from "./tessera/grants.ts"

/** One transaction after the other on a file of ours with our settings: read a grant, swap it, commit. */
const path = argument("store", "").slice("sqlite:".length)
const grants = Number(argument("grants", "1000"))
const rows = await openSqliteRows(path)

const run = (millis: number): Sample => {
  const start = performance.now()
  const cpu = cpuOf(process.pid)
  let requests = 0
  while (performance.now() - start < millis) {
    const id = grantIdAt(Math.floor(Math.random() * grants))
    rows.begin.run()
    if (!rows.swap(id, rows.read(id))) throw new Error(`${id} was not swapped`)
    rows.commit.run()
    requests++
  }
  const seconds = (performance.now() - start) / 1000
  return {
    requests,
    seconds,
    perSecond: requests / seconds,
    cpu: ((cpuOf(process.pid) - cpu) * 1000) / requests,
    databaseCpu: 0,
    p50: (seconds * 1000) / requests,
    p99: 0,
    memory: 0,
    generatorLoad: 0
  }
}

process.stdout.write(`${JSON.stringify({ port: 0 })}\n`)
for await (const line of createInterface({ input: process.stdin })) {
  // What the part asks.
  const { millis } = JSON.parse(line) as { readonly millis: number }
  process.stdout.write(`${JSON.stringify(run(millis))}\n`)
}
process.exit(0)
