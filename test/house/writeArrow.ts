import { writeFileSync } from "node:fs"
import { arrowText } from "./arrow.ts"

writeFileSync(new URL("arrow.json", import.meta.url), arrowText)
