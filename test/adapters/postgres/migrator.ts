import { Effect, Redacted } from "effect"
import { migrate } from "../../../adapters/postgres/Postgres.ts"

/** Runs the migrations of the database at its argument, and prints the names of those that it ran. */
const [url = ""] = process.argv.slice(2)
console.log(JSON.stringify(await Effect.runPromise(migrate({ url: Redacted.make(url) }))))
