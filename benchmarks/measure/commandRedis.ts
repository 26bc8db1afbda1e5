import { Effect } from "effect"
import { runProgram } from "../../test/harness/runProgram.ts"
import type { RedisServer } from "../parts/Part.ts"
import { BenchFailed } from "./Talker.ts"

/** `ERR …`, `LOADING …`: redis-cli calls that a success. */
const refusal = /^[A-Z]{3,} /

/** What redis-cli answers there. The harness's `askRedis` gives back whatever is printed; a refusal is a failure here. */
export const commandRedis = Effect.fnUntraced(function* (
  { server, cli }: RedisServer,
  ...command: ReadonlyArray<string>
): Effect.fn.Return<string, BenchFailed> {
  const { status, stdout, stderr } = yield* runProgram(cli, ["-p", `${server.port}`, ...command])
  if (status !== 0 || refusal.test(stdout)) {
    return yield* new BenchFailed({ message: `redis-cli failed: ${stdout}${stderr}` })
  }
  return stdout.trim()
})
