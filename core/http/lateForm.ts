import type { Notice } from "../pages/Notice.ts"
import type { Call } from "./Call.ts"
import { addressOf, comeBackTo } from "./comeBackTo.ts"
import { readParameters } from "./form.ts"

const code = "signed-out"

/** Where somebody comes back to after a sign-in. A form is not sent again by that, so its page is to say so. */
export const wayBack = (call: Call): string =>
  call.request.method === "POST" ? addressOf(call.request.path, `done=${code}`) : comeBackTo(call)

/** For the page that they come back to, and for the sign-in on the way. */
export const lateFormNotice = (query: string): Notice | undefined =>
  readParameters(query).parameters.get("done") === code
    ? { kind: "problem", text: "You were signed out before you sent the last form. Nothing was changed." }
    : undefined
