import { apiKey } from "./apiKey.ts"
import { bearer } from "./bearer.ts"
import { dpop } from "./dpop.ts"
import type { Presentation } from "./Presentation.ts"

/** How tokens and keys are shown. A request is read by the first row that knows it; challenges come in this order. */
export const presentations: ReadonlyArray<Presentation> = [bearer, apiKey, dpop]
