import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { statementsOf } from "../../adapters/postgres/statements.ts"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import { outside } from "../measure/outside.ts"
import type { PostgresServer } from "./Part.ts"

const statements = statementsOf("tessera", "grant", false)

/** A statement of the adapter with the variables of a pgbench script in its holes. */
const filled = (statement: string, holes: ReadonlyArray<string>) =>
  statement.replaceAll(/\$(\d)/g, (_, n: string) => holes[Number(n) - 1] ?? "").replaceAll("\n", " ")

/** The id that `grantIdAt` makes of a number, within the statement, so that it costs no statement of its own. */
const id = "(lpad(:n::text, 21, '0') || 'A')"

const scripts = {
  select: filled(statements.get, ["'default'", id]),
  swap: `${filled(statements.get, ["'default'", id])} \\gset\n${filled(statements.replace, ["'default'", id, ":version", ":expires", ":body"])}`
}

const leastEach = 10

const names = { select: "pgbench, the same SELECT", swap: "pgbench, the same read and swap" }

/** pgbench with the adapter's own statements for one record, over rows that a server of ours has written. */
export const pgbench = (
  postgres: PostgresServer,
  url: string,
  script: "select" | "swap",
  grants: number,
  clients: number,
  millis: number
) =>
  Effect.gen(function* () {
    const folder = yield* throwawayFolder("pgbench")
    const file = join(folder, `${script}.sql`)
    writeFileSync(file, `\\set n random(0, ${grants - 1})\n${scripts[script]};\n`)
    const program = `${postgres.bin}/pgbench`
    const common = ["--no-vacuum", "--protocol=prepared", `--client=${clients}`, "--jobs=2", `--file=${file}`]
    let perSecond = 1000
    return outside({
      name: names[script],
      runtime: "C",
      store: "postgres",
      millis,
      families: [postgres.server.pid() ?? 0],
      command: (millis) => {
        // Its own clock knows whole seconds only.
        const each = Math.max(leastEach, Math.round((perSecond * millis) / 1000 / clients))
        return [program, [...common, `--transactions=${each}`, url]]
      },
      idle: [program, [...common, "--transactions=1", url]],
      read: (output) => {
        perSecond = Number(/^tps = ([\d.]+)/m.exec(output)?.[1] ?? 0)
        return {
          perSecond,
          requests: Number(/^number of transactions actually processed: (\d+)/m.exec(output)?.[1] ?? 0),
          p50: Number(/^latency average = ([\d.]+) ms/m.exec(output)?.[1] ?? 0)
        }
      }
    })
  })
