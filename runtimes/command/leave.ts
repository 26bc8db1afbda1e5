import { serves } from "./serves.ts"

/** What a server says last waits for no reader that stands still. */
const patience = 3000

/** Ends the process once what it wrote is out: a pipe takes a long text piece by piece. */
export const leave = (status: number, args: ReadonlyArray<string>): void => {
  const end = () => process.exit(status)
  if (serves(args)) setTimeout(end, patience)
  process.stdout.write("", () => process.stderr.write("", end))
}
