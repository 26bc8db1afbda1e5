import "../server/compileSchemas.ts"
import { run } from "../command/run.ts"
import { listen } from "./listen.ts"

process.exit(
  await run(process.argv.slice(2), {
    listen,
    interactive: process.stderr.isTTY === true,
    print: (text) => void process.stdout.write(text)
  })
)
