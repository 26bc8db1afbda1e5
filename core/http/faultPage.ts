import type { CommonError } from "../pages/CommonErrors.ts"
import { rateLimitedPage } from "../pages/RateLimited.ts"
import type { Pages } from "../ports/Pages.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Refusal, TooManyRequests } from "../rules/Refusal.ts"
import type { Call } from "./Call.ts"
import { faultWords } from "./faultWords.ts"
import type { HttpResponse } from "./Http.ts"
import { faultToWire } from "./wire.ts"

/** What slows down guessing has a limit for each thing that it counts: `sign_in_pair`, `sign_in_login` … */
const isOfSignIn = (limit: string): boolean => limit === "sign_in" || limit.startsWith("sign_in_")

const tooMany = (pages: Pages["Service"], call: Call, fault: TooManyRequests): HttpResponse =>
  pages.show(call.workspace, 429, (place) =>
    rateLimitedPage(place, {
      retryAfterSeconds: fault.retryAfterSeconds,
      of: isOfSignIn(fault.limit) ? "attempts to sign in" : "requests",
      requestId: call.requestId
    })
  )

/** An error in words for people, under its own status, with the id by which an operator finds the request. */
export const commonErrorPage = (pages: Pages["Service"], call: Call, { status, ...words }: CommonError): HttpResponse =>
  pages.error(call.workspace, status, { ...words, requestId: call.requestId })

/** A refusal as a person reads it. */
export const faultPage = (pages: Pages["Service"], call: Call, fault: Refusal | StorageUnavailable): HttpResponse => {
  if (fault._tag === "TooManyRequests") return tooMany(pages, call, fault)
  const response = commonErrorPage(pages, call, faultWords(fault, call))
  const headers = faultToWire(fault).headers ?? []
  return { ...response, headers: [...response.headers, ...headers] }
}
