import type { Schema } from "effect"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Refusal } from "../rules/Refusal.ts"

/** All that a request may be turned down by. */
export type Fault = Refusal | StorageUnavailable

/** A class of faults: its fields say which faults of its kind there can be. */
export interface FaultClass<F extends Fault = Fault> extends Schema.Decoder<F> {
  readonly fields: Schema.Struct.Fields
}
