import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { statementsOf } from "../../adapters/postgres/statements.ts"
import { placeOf } from "../../adapters/redis/RecordPlace.ts"
import { replaceScript } from "../../adapters/redis/scripts.ts"
import { runProgram } from "../../test/harness/runProgram.ts"
import { throwawayFolder } from "../../test/harness/throwawayFolder.ts"
import { cpuOfFamily } from "../load/CpuTime.ts"
import type { Sample } from "../Plan.ts"
import type { Entrant } from "./contest.ts"
import { BenchFailed, serverCore, startTalker } from "./processes.ts"
import type { PostgresServer, RedisServer } from "./services.ts"
import { commandRedis } from "./services.ts"

interface Outside {
  readonly name: string
  readonly runtime: string
  readonly store: string
  readonly case?: string
  /** A program that drives a database itself, for so many milliseconds, and what it printed of its rate. */
  readonly command: (millis: number) => readonly [program: string, args: ReadonlyArray<string>]
  /** The same with next to no work: what its connections cost the database is not part of what is compared. */
  readonly idle?: readonly [program: string, args: ReadonlyArray<string>]
  readonly read: (output: string) => { readonly perSecond: number; readonly requests: number; readonly p50: number }
  readonly families: ReadonlyArray<number>
  readonly millis: number
}

/** A database's processes end a little after their clients. */
const partingMillis = 150
const longest = 20_000

const cpuOf = (families: ReadonlyArray<number>) => families.reduce((sum, pid) => sum + cpuOfFamily(pid), 0)

/** A database's own benchmark program as an entrant: what it drives is the floor of a store. */
const outside = (options: Outside): Entrant => {
  const ran = Effect.fnUntraced(function* ([program, args]: readonly [string, ReadonlyArray<string>]) {
    const before = cpuOf(options.families)
    const { status, stdout, stderr } = yield* runProgram(program, args)
    if (status !== 0) return yield* new BenchFailed({ message: `${program} failed: ${stderr}` })
    yield* Effect.sleep(partingMillis)
    return { stdout, cpu: cpuOf(options.families) - before }
  })

  const turn = (millis: number): Effect.Effect<Sample, BenchFailed> =>
    Effect.gen(function* () {
      const idle = options.idle === undefined ? 0 : (yield* ran(options.idle)).cpu
      const { stdout, cpu } = yield* ran(options.command(millis))
      const { perSecond, requests, p50 } = options.read(stdout)
      if (!(perSecond > 0 && requests > 0)) {
        // On a crowded machine its connections alone can take that long.
        if (millis < longest) return yield* turn(millis * 3)
        return yield* new BenchFailed({ message: `${options.name} told no rate:\n${stdout}` })
      }
      return {
        requests,
        seconds: requests / perSecond,
        perSecond,
        cpu: 0,
        databaseCpu: (Math.max(0, cpu - idle) * 1000) / requests,
        p50,
        p99: 0,
        memory: 0,
        generatorLoad: 0
      }
    })
  return {
    name: options.name,
    runtime: options.runtime,
    case: options.case ?? "",
    store: options.store,
    warm: Effect.asVoid(turn(options.millis)),
    turn: turn(options.millis)
  }
}

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

/** rps, then avg, min, p50, p95, p99 and max latency. */
const columns = 7

/** What `redis-benchmark --csv` says. The command stands in front of the numbers, with quotes of its own unescaped. */
export const redisRate = (output: string): { readonly perSecond: number; readonly p50: number } => {
  const last = output.trim().split("\n").at(-1) ?? ""
  const numbers = [...last.matchAll(/"([\d.]+)"(?=,|$)/g)].slice(-columns).map(([, text]) => Number(text))
  const [perSecond = 0, , , p50 = 0] = numbers.length === columns ? numbers : []
  return { perSecond, p50 }
}

/**
 * The adapter's script with its comparison turned round: redis-benchmark knows no versions, and every swap has to
 * succeed. One record a call, as each of its clients asks for itself.
 */
const turned = replaceScript.lua.replace("if version ~= expected", "if version == expected")

/** Twelve digits come out of `__rand_int__`; with these around them they make a grant's id. */
const path = "default/grant/000000000__rand_int__A"
/** Beside the server's own records, which lie in the shards of their own paths. */
const shard = placeOf("floor", path).shard
const record = `${shard}:${path}`
const longAgo = "0"

const atOnce = 1000
const leastRequests = 1000

export const redisBenchmark = (redis: RedisServer, grants: number, body: string, clients: number, millis: number) =>
  Effect.gen(function* () {
    const { server, benchmark } = redis
    const expires = String(Date.now() + 30 * 86_400_000)
    const fillIn = `for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call('SET', string.gsub(KEYS[1], '__rand_int__', string.format('%012d', n)), ARGV[3])
end`
    const value = `1 1 ${expires} entry "user:user-1"\n${body}`
    for (let first = 0; first < grants; first += atOnce) {
      yield* commandRedis(
        redis,
        "EVAL",
        fillIn,
        "1",
        record,
        `${first}`,
        `${Math.min(grants, first + atOnce) - 1}`,
        value
      )
    }
    const sha = yield* commandRedis(redis, "SCRIPT", "LOAD", turned)
    const swap = ["EVALSHA", sha, "2", record, shard, longAgo, expires, "3000000000", body]
    const swapped = yield* commandRedis(redis, ...swap.map((part) => part.replace("__rand_int__", "0".repeat(12))))
    if (swapped !== "1") return yield* new BenchFailed({ message: `the script swapped nothing: ${swapped}` })
    let perSecond = 2000
    let requests = 0
    return outside({
      name: "redis-benchmark, the same script",
      runtime: "C",
      store: "redis",
      millis,
      families: [server.pid() ?? 0],
      command: (millis) => {
        requests = Math.max(leastRequests, Math.round((perSecond * millis) / 1000))
        return [
          benchmark,
          ["-p", `${server.port}`, "-c", `${clients}`, "-n", `${requests}`, "-r", `${grants}`, "--csv", ...swap]
        ]
      },
      read: (output) => {
        const rate = redisRate(output)
        perSecond = rate.perSecond
        return { perSecond, requests, p50: rate.p50 }
      }
    })
  })

/** The floor of a store in a file: a loop of one transaction each. */
export const sqliteLoop = (store: string, grants: number, millis: number) =>
  Effect.gen(function* () {
    const talker = yield* startTalker({
      name: "the loop over SQLite",
      command: process.execPath,
      args: [join(import.meta.dir, "../servers/sqliteLoop.ts"), `--store=${store}`, `--grants=${grants}`],
      core: serverCore
    })
    yield* talker.ask()
    // What the script answers.
    const turn = Effect.map(talker.ask({ millis }), (sample) => sample as Sample)
    return {
      name: "a loop, a transaction each",
      runtime: "bun",
      case: "",
      store: "sqlite",
      warm: Effect.asVoid(turn),
      turn
    } satisfies Entrant
  })
