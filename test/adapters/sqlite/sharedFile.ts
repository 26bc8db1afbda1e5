/** What the programs beside this file do at once to one file, each told its path. */
import type { RecordKey } from "../../../core/ports/Storage.ts"

export const workspace = "shared"

export const counter: RecordKey = { workspace, kind: "usage", id: "counter" }
