import type { Call } from "../http/Call.ts"
import { readParameters } from "../http/form.ts"
import type { Notice } from "../pages/Notice.ts"

/** What a form did, by the code that stands in the address of the page after it. The words are never in an address. */
const notices = {
  "app-revoked": { kind: "done", text: "Access is revoked. Whatever the application held stopped working." },
  "app-gone": { kind: "problem", text: "No such application is connected to your account. Nothing was changed." },
  "key-revoked": { kind: "done", text: "The key is revoked. It stopped working." },
  // Of two clicks, the answer to the second is the one that is seen, and the first may have done it all.
  "key-gone": {
    kind: "problem",
    text: "This key was replaced or revoked already. If you replaced it and never saw the new one, look for it in the list by when it was created, and rotate that one."
  },
  "client-disabled": { kind: "done", text: "The client is disabled. Its tokens stopped working." },
  "client-enabled": { kind: "done", text: "The client is enabled. What people allowed it counts again." },
  "client-deleted": { kind: "done", text: "The client is deleted, with everything that people allowed it." },
  "client-gone": {
    kind: "problem",
    text: "This client is not registered any more. If you just deleted it, that worked."
  }
} as const satisfies { readonly [code: string]: Notice }
export type NoticeCode = keyof typeof notices

const isCode = (code: string): code is NoticeCode => Object.hasOwn(notices, code)

/** Only where a page is looked at: the form on it is about to say something else. */
export const readNotice = (call: Call): Notice | undefined => {
  if (call.request.method === "POST" || call.request.query === "") return undefined
  const code = readParameters(call.request.query).parameters.get("done")
  return code !== undefined && isCode(code) ? notices[code] : undefined
}
