import { createInterface } from "node:readline"
import { Effect, Scope } from "effect"
import { connect } from "../../adapters/sqlite/connect.ts"
import { cpuOf } from "../load/CpuTime.ts"
import type { Sample } from "../load/Run.ts"
import { argument } from "./Argument.ts"
import { grantIdAt } from "./tessera/grants.ts"

/** One transaction after the other on a file of ours with our settings: read a grant, swap it, commit. */
const path = argument("store", "").slice("sqlite:".length)
const grants = Number(argument("grants", "1000"))
const scope = Scope.makeUnsafe()
const connection = await Effect.runPromise(Effect.provideService(connect(path), Scope.Scope, scope))
const begin = connection.prepare("BEGIN IMMEDIATE")
const commit = connection.prepare("COMMIT")
// As `adapters/sqlite/RecordTable.ts` has them for a grant that comes to expire later.
const select = connection.prepare(
  "SELECT owner, version, expires_at AS expiresAt, body FROM grants WHERE workspace = ? AND id = ?"
)
const swap = connection.prepare(
  `UPDATE grants SET version = version + 1, expires_at = ?1, body = ?2
    WHERE workspace = ?3 AND id = ?4 AND version = ?5 AND sweep_at <= ?1`
)

const run = (millis: number): Sample => {
  const start = performance.now()
  const cpu = cpuOf(process.pid)
  let requests = 0
  while (performance.now() - start < millis) {
    const id = grantIdAt(Math.floor(Math.random() * grants))
    begin.run()
    // The columns of the statement above.
    const row = select.get("default", id) as {
      readonly version: number
      readonly expiresAt: number
      readonly body: string
    }
    if (swap.run(row.expiresAt, row.body, "default", id, row.version) !== 1) throw new Error(`${id} was not swapped`)
    commit.run()
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
