import type { Surroundings } from "../server/serve.ts"
import { run } from "./run.ts"
import { serves } from "./serves.ts"

/** What a server says last waits for no reader that stands still. */
const patience = 3000

/** Ends the process once what it wrote is out: a pipe takes a long text piece by piece. */
const leave = (status: number, args: ReadonlyArray<string>): void => {
  const end = () => process.exit(status)
  if (serves(args)) setTimeout(end, patience)
  process.stdout.write("", () => process.stderr.write("", end))
}

/** The whole program, with what its platform listens by. */
export const program = async (listen: Surroundings["listen"]): Promise<void> => {
  const args = process.argv.slice(2)
  const status = await run(args, {
    listen,
    interactive: process.stderr.isTTY === true,
    print: (text) => void process.stdout.write(text)
  })
  leave(status, args)
}
