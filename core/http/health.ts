import { Effect } from "effect"
import type { EndpointOf } from "../openapi/contract/Contract.ts"
import type { livenessContract, readinessContract } from "../openapi/contract/health.ts"
import { makeReadiness } from "../server/Readiness.ts"
import { json, noStore } from "./answer.ts"
import type { Parts } from "./Parts.ts"

/** The process runs and answers. */
export const livenessEndpoint: EndpointOf<typeof livenessContract> = () =>
  Effect.succeed(json(200, { status: "ok" }, noStore))

/** The process can do its work: the storage answers, and takes what is written. */
export const readinessEndpoint = (parts: Parts): EndpointOf<typeof readinessContract> => {
  const ready = makeReadiness(parts.storage)
  return Effect.fnUntraced(function* (call) {
    yield* ready(call.workspace.id)
    return json(200, { status: "ready" }, noStore)
  })
}
