import { Effect } from "effect"
import { runProgram } from "../../test/harness/runProgram.ts"
import type { PostgresServer } from "../parts/Part.ts"
import { BenchFailed } from "./Talker.ts"

/** What psql answers there. */
export const sql = (postgres: PostgresServer, url: string, text: string) =>
  Effect.flatMap(
    runProgram(`${postgres.bin}/psql`, [url, "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-At", "-c", text]),
    ({ status, stdout, stderr }) =>
      status === 0 ? Effect.succeed(stdout.trim()) : Effect.fail(new BenchFailed({ message: `psql failed: ${stderr}` }))
  )

const urlOf = (postgres: PostgresServer, name: string) => postgres.server.url.replace(/\/postgres$/, `/${name}`)

/** A database of one's own on the server. */
export const freshDatabase = (postgres: PostgresServer, name: string) =>
  Effect.as(sql(postgres, postgres.server.url, `CREATE DATABASE ${name}`), urlOf(postgres, name))

/** While nobody is connected to the original. */
export const copyDatabase = (postgres: PostgresServer, original: string, name: string) =>
  Effect.as(sql(postgres, postgres.server.url, `CREATE DATABASE ${name} TEMPLATE ${original}`), urlOf(postgres, name))
