import { Schema } from "effect"
import { json, noStore } from "../../http/answer.ts"
import { StorageUnavailable } from "../../ports/Storage.ts"
import type { Contract } from "./Contract.ts"

const says = <Word extends string>(word: Word) => Schema.Struct({ status: Schema.Literal(word) })

export const livenessContract = {
  id: "liveness",
  heading: "Health",
  summary: "Whether the process runs",
  callers: [{ shows: "nothing" }],
  answers: [{ description: "It runs.", like: () => json(200, {}, noStore), body: says("ok") }],
  faults: []
} as const satisfies Contract

export const readinessContract = {
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
