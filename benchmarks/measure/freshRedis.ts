import { Effect } from "effect"
import { runProgram } from "../../test/harness/runProgram.ts"
import type { RedisServer } from "../parts/Part.ts"
import { BenchFailed } from "./Talker.ts"

/** What another part has stored is gone; the server and its scripts stay. */
export const freshRedis = ({ server, cli }: RedisServer) =>
  Effect.gen(function* () {
    const { stdout, stderr } = yield* runProgram(cli, ["-p", `${server.port}`, "FLUSHALL"])
    if (stdout.trim() !== "OK") return yield* new BenchFailed({ message: `Redis was not emptied: ${stdout}${stderr}` })
    return server.url
  })
