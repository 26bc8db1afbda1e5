import { Effect } from "effect"
import { json, noStore } from "./answer.ts"
import type { Endpoint } from "./Call.ts"
import type { Parts } from "./Parts.ts"

/** The process runs and answers. */
export const livenessEndpoint: Endpoint = () => Effect.succeed(json(200, { status: "ok" }, noStore))

/** The process can do its work: the storage answers. */
export const readinessEndpoint = (parts: Parts): Endpoint =>
  Effect.fnUntraced(function* (call) {
    yield* parts.storage.get({ workspace: call.workspace.id, kind: "client", id: "readiness" })
    return json(200, { status: "ready" }, noStore)
  })
