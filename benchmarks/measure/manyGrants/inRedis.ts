import { Effect } from "effect"
import { lineOf, ownerKey, pathOf, placeOf } from "../../../adapters/redis/RecordPlace.ts"
import { type Head, parseHead } from "../../../adapters/redis/StoredValue.ts"
import { runProgram } from "../../../test/harness/runProgram.ts"
import type { RedisServer } from "../../parts/Part.ts"
import type { Executables } from "../../servers/start.ts"
import { grantIdAt } from "../../servers/tessera/grants.ts"
import { commandRedis } from "../commandRedis.ts"
import { BenchFailed } from "../Talker.ts"
import { firstGrant, startWithOne } from "./startWithOne.ts"

const prefix = "tessera"
const kept = { workspace: "default", kind: "grant" } as const
const userAt = (n: number) => `user-${n}`
const firstUser = userAt(0)
const placeFor = (id: string) => placeOf(prefix, pathOf({ ...kept, id }))

/** As Redis reads a command. All of it is ASCII. */
const command = (...words: ReadonlyArray<string>): string =>
  words.reduce((text, word) => `${text}$${word.length}\r\n${word}\r\n`, `*${words.length}\r\n`)

interface Original {
  readonly value: string
  readonly head: Head
  /** In ms. */
  readonly lifetime: string
}

const numbersByShard = (grants: number): Iterable<ReadonlyArray<number>> => {
  const shards = new Map<string, Array<number>>()
  for (let n = 1; n < grants; n++) {
    const { shard } = placeFor(grantIdAt(n))
    const numbers = shards.get(shard)
    if (numbers === undefined) shards.set(shard, [n])
    else numbers.push(n)
  }
  return shards.values()
}

/** Of each what an insert leaves there: the record, its line in its owner's list, and its place in its shard's index. */
function* copiesOf({ head, lifetime, value }: Original, grants: number): Generator<string> {
  // Cut once, because there are a million to put together.
  const pieces = value.split(firstGrant).map((piece) => piece.split(firstUser))
  for (const numbers of numbersByShard(grants)) {
    let written = ""
    const index: Array<string> = []
    for (const n of numbers) {
      const id = grantIdAt(n)
      const user = userAt(n)
      const { path, record, shard } = placeFor(id)
      written += command("SET", record, pieces.map((piece) => piece.join(user)).join(id), "PX", lifetime)
      written += command("ZADD", ownerKey(prefix, { ...kept, owner: `user:${user}` }), "0", lineOf(id, head.entry))
      if (index.length === 0) index.push("ZADD", shard)
      index.push(`${head.expiresAt}`, path)
    }
    yield written + command(...index)
  }
}

export const manyInRedis = (executables: Executables, redis: RedisServer, grants: number) =>
  Effect.gen(function* () {
    yield* startWithOne(executables, redis.server.url)
    const { record } = placeFor(firstGrant)
    const value = yield* commandRedis(redis, "GET", record)
    const lifetime = yield* commandRedis(redis, "PTTL", record)
    const head = yield* Effect.fromResult(parseHead(value.slice(0, value.indexOf("\n"))))
    const input = copiesOf({ value, head, lifetime }, grants)
    const { status, stdout, stderr } = yield* runProgram(redis.cli, ["-p", `${redis.server.port}`, "--pipe"], { input })
    if (status !== 0) return yield* new BenchFailed({ message: `Redis took no copies: ${stdout}${stderr}` })
  })
