import type { Pages } from "../ports/Pages.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Refusal } from "../rules/Refusal.ts"
import { secretJson } from "./answer.ts"
import type { Call } from "./Call.ts"
import { faultPage } from "./faultPage.ts"
import type { HttpResponse } from "./Http.ts"
import type { ErrorForm } from "./Route.ts"
import { bearerError, oauthError } from "./wire.ts"

/** A fault in the form of the route that it came up on. */
export const answerFault = (
  pages: Pages["Service"],
  call: Call,
  form: ErrorForm,
  fault: Refusal | StorageUnavailable
): HttpResponse => {
  switch (form) {
    case "oauth":
      return fault._tag === "InvalidToken" || fault._tag === "TokenRequired"
        ? bearerError(call.workspace, fault)
        : oauthError(fault)
    case "bearer":
      return bearerError(call.workspace, fault)
    case "page":
      return faultPage(pages, call, fault)
  }
}

/** A fault of ours tells nothing of itself. */
export const broken = secretJson(500, {
  error: "server_error",
  error_description: "Something went wrong on our side."
})
