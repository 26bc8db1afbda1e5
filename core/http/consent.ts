import { Effect } from "effect"
import { nothingToApprove } from "../pages/CommonErrors.ts"
import { seeOther } from "./answer.ts"
import type { Call, Endpoint } from "./Call.ts"
import { type ConsentDecision, consentDecision } from "./consentDecision.ts"
import { commonErrorPage } from "./faultPage.ts"
import type { HttpResponse } from "./Http.ts"
import type { Parts } from "./Parts.ts"

const draw = (parts: Parts, call: Call, decision: ConsentDecision): HttpResponse => {
  switch (decision._tag) {
    case "SignIn":
      return seeOther(decision.at)
    case "Return":
      return seeOther(decision.to)
    case "Answered":
      return parts.pages.consentAnswered(call.workspace, decision.page)
  }
}

/** A browser's form, answered with a page or with the way on. */
export const consentEndpoint =
  (parts: Parts): Endpoint =>
  (call) =>
    Effect.map(consentDecision(parts, call), (decision) => draw(parts, call, decision))

/** The page itself is only ever an answer to an authorization request; whoever comes here by hand is told so. */
export const consentMissingEndpoint =
  (parts: Parts): Endpoint =>
  (call) =>
    Effect.succeed(commonErrorPage(parts.pages, call, nothingToApprove))
