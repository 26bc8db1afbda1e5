#!/usr/bin/env node
import "../server/compileSchemas.ts"
import { Result } from "effect"
import { exitStatus } from "../command/Outcome.ts"
import { program } from "../command/program.ts"
import { loadDotenv } from "./dotenv.ts"
import { listen } from "./listen.ts"

const loaded = loadDotenv(process.env)
if (Result.isFailure(loaded)) {
  process.stderr.write(`${loaded.failure.message}\n`)
  process.exit(exitStatus.usage)
}

await program(listen)
