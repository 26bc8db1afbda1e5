#!/usr/bin/env node
import "../server/compileSchemas.ts"
import { readFileSync } from "node:fs"
import * as util from "node:util"
import { Result, Schema } from "effect"
import { exitStatus } from "../command/output.ts"
import { program } from "../command/run.ts"
import { systemCode } from "../serve/defect.ts"
import { listen } from "./listen.ts"

// By its namespace: before Node 20.12 there is no `parseEnv` to import.

/** `message` says why, and nothing of what stands in the file. */
class DotenvUnread extends Schema.TaggedError<DotenvUnread>()("DotenvUnread", { message: Schema.String }) {}

const unread = (why: string) => Result.fail(new DotenvUnread({ message: `.env can't be read: ${why}` }))

const textOf = (): Result.Result<string | undefined, DotenvUnread> => {
  try {
    return Result.succeed(readFileSync(".env", "utf8"))
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return Result.succeed(undefined)
    return unread(thrown instanceof Error ? thrown.message : String(thrown))
  }
}

/**
 * Adds what `.env` says and the environment does not, as Bun does by itself. Node's own `loadEnvFile` takes a file that it
 * may not read for one that is not there.
 */
const loadDotenv = (environment: NodeJS.ProcessEnv): Result.Result<void, DotenvUnread> =>
  Result.flatMap(textOf(), (text) => {
    if (text === undefined) return Result.void
    if (util.parseEnv === undefined) return unread(`that needs Node 20.12 or later; this is ${process.version}`)
    for (const [name, value] of Object.entries(util.parseEnv(text))) environment[name] ??= value
    return Result.void
  })

const loaded = loadDotenv(process.env)
if (Result.isFailure(loaded)) {
  process.stderr.write(`${loaded.failure.message}\n`)
  process.exit(exitStatus.usage)
}

await program(listen)
