import { test } from "bun:test"
import { type Job, mark, type Said } from "./Job.ts"
import { tryFromStart } from "./tryFromStart.ts"
import { trySwitched } from "./trySwitched.ts"

const say = (said: Said): void => {
  process.stdout.write(`${mark}${JSON.stringify(said)}\n`)
}

/** Bun's runner is only asked for its `expect`: what is one test to it is a whole trial. */
const noTimeLimit = 2 ** 30

test(
  "a trial",
  async () => {
    // Written by the process that started this one.
    const job = JSON.parse(await Bun.stdin.text()) as Job
    await (job._tag === "Switched" ? trySwitched(job.mutants, job.hits, say) : tryFromStart(job.mutant, job.files, say))
    say({ _tag: "Done" })
    process.exit(0)
  },
  noTimeLimit
)
