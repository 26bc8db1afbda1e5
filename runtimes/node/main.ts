#!/usr/bin/env node
import "../server/compileSchemas.ts"
import { Result } from "effect"
import { leave } from "../command/leave.ts"
import { exitStatus } from "../command/Outcome.ts"
import { run } from "../command/run.ts"
import { loadDotenv } from "./dotenv.ts"
import { listen } from "./listen.ts"

const loaded = loadDotenv(process.env)
if (Result.isFailure(loaded)) {
  process.stderr.write(`${loaded.failure.message}\n`)
  process.exit(exitStatus.usage)
}

const args = process.argv.slice(2)

const status = await run(args, {
  listen,
  interactive: process.stderr.isTTY === true,
  print: (text) => void process.stdout.write(text)
})

leave(status, args)
