import { join } from "node:path"
import { type Job, mark, type Said } from "./Job.ts"
import { root, runsOfLaws } from "./targets.ts"

/** A process that has not said a word for this long is in a loop that it will not leave. */
const silence = 600_000

/** Runs a job in a process of its own, and tells whether it came to its end. */
export const startTrial = async (job: Job, heard: (said: Said) => void): Promise<"ended" | "silent" | "broken"> => {
  const child = Bun.spawn(
    [process.execPath, "test", "--preload", "./test/mutation/preload.ts", "./test/mutation/trial.ts"],
    {
      cwd: root,
      // As this process changed it.
      env: { ...process.env, TESSERA_RUNS: String(runsOfLaws) },
      // Longer than a variable of the environment may be.
      stdin: new Blob([JSON.stringify(job)]),
      stdout: "pipe",
      stderr: "pipe"
    }
  )
  let silent = false
  let done = false
  const hush = () => {
    silent = true
    child.kill("SIGKILL")
  }
  let timer = setTimeout(hush, silence)
  const errors = new Response(child.stderr).text()
  let rest = ""
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    clearTimeout(timer)
    timer = setTimeout(hush, silence)
    const lines = (rest + chunk).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      if (!line.startsWith(mark)) continue
      // Written by trial.ts.
      const said = JSON.parse(line.slice(mark.length)) as Said
      if (said._tag === "Done") done = true
      else heard(said)
    }
  }
  clearTimeout(timer)
  await child.exited
  if (done) return "ended"
  if (silent) return "silent"
  process.stderr.write(`${join("test", "mutation", "trial.ts")} broke off:\n${await errors}\n`)
  return "broken"
}
