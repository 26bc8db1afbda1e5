import "../server/compileSchemas.ts"
import { leave } from "../command/leave.ts"
import { run } from "../command/run.ts"
import { listen } from "./listen.ts"

const args = process.argv.slice(2)

const status = await run(args, {
  listen,
  interactive: process.stderr.isTTY === true,
  print: (text) => void process.stdout.write(text)
})

leave(status, args)
