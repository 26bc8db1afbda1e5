import { Effect } from "effect"
import { layer } from "../../../adapters/sqlite/Sqlite.ts"
import { Storage } from "../../../core/ports/Storage.ts"
import { workspace } from "./sharedFile.ts"

/** Opens the file, maybe as the first of many, and leaves a record in its own name. */
const [path = "", name = ""] = process.argv.slice(2)

await Effect.runPromise(
  Effect.flatMap(Storage, (store) =>
    store.insert({ workspace, kind: "account", id: name, owner: "arrivals", expiresAt: null, body: { name } })
  ).pipe(Effect.provide(layer({ path })))
)
