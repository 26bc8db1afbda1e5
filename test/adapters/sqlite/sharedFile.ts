/** What the programs beside this file do at once to one file, each told its path. */
import type { RecordKey } from "../../../core/ports/Storage.ts"

export const workspace = "shared"

/** Of the kind that is known once it was read, so that each process has to notice what the others write. */
export const counter: RecordKey = { workspace, kind: "grant", id: "counter" }
