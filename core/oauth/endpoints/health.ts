import { Effect, Schema } from "effect"
import { makeReadiness } from "../../engine/Readiness.ts"
import { json, noStore } from "../../http/answer.ts"
import { bound, type Contract, type Endpoint, type HandlerOf, type Services } from "../../http/Route.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"

const says = <Word extends string>(word: Word) => Schema.Struct({ status: Schema.Literal(word) })

const livenessContract = {
  id: "liveness",
  heading: "Health",
  summary: "Whether the process runs",
  callers: [{ shows: "nothing" }],
  answers: [{ description: "It runs.", like: () => json(200, {}, noStore), body: says("ok") }],
  faults: []
} as const satisfies Contract

const readinessContract = {
  id: "readiness",
  heading: "Health",
  summary: "Whether the process can do its work",
  callers: [{ shows: "nothing" }],
  answers: [
    {
      description: "Its storage answers, and takes what is written.",
      like: () => json(200, {}, noStore),
      body: says("ready")
    }
  ],
  faults: [StorageUnavailable]
} as const satisfies Contract

/** The process runs and answers. */
const livenessHandler: HandlerOf<typeof livenessContract> = () => Effect.succeed(json(200, { status: "ok" }, noStore))

/** The process can do its work: the storage answers, and takes what is written. */
const readinessHandler = (services: Services): HandlerOf<typeof readinessContract> => {
  const ready = makeReadiness(services.storage)
  return Effect.fnUntraced(function* (call) {
    yield* ready(call.workspace.id)
    return json(200, { status: "ready" }, noStore)
  })
}

export const livenessEndpoint: Endpoint = {
  path: "/healthz",
  match: "exact",
  methods: { GET: bound(livenessContract, () => livenessHandler) },
  errors: "oauth",
  storeless: true,
  cors: false
}

export const readinessEndpoint: Endpoint = {
  path: "/readyz",
  match: "exact",
  methods: { GET: bound(readinessContract, readinessHandler) },
  errors: "oauth",
  cors: false
}
