import type { ErrorPage } from "../pages/ErrorPage.ts"
import type { Pages } from "../ports/Pages.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Refusal } from "../rules/Refusal.ts"
import type { Call } from "./Call.ts"
import type { HttpResponse } from "./Http.ts"
import { faultToWire } from "./wire.ts"

type Words = Pick<ErrorPage, "title" | "happened" | "remedy">

const words = (fault: Refusal | StorageUnavailable): Words => {
  switch (fault._tag) {
    case "ForgedForm":
      return fault.reason === "expired"
        ? {
            title: "This page has expired",
            happened: "It was open for too long, so nothing was done.",
            remedy: "Go back to where you came from and start again."
          }
        : {
            title: "This form cannot be used",
            happened: "It was not sent from the page that you have open, or you have signed in or out since.",
            remedy: "Go back, reload the page and try again."
          }
    case "NoSuchRoute":
      return fault.reason === "method"
        ? {
            title: "This page is opened differently",
            happened: "The address exists, but not for what was asked of it.",
            remedy: "Go back to where you came from and start again."
          }
        : {
            title: "There is nothing here",
            happened: "The address is not one of this server's.",
            remedy: "Check it for a slip, or go back to where you came from."
          }
    case "TooManyRequests":
      return {
        title: "One moment, please",
        happened: "There were too many attempts in a short time.",
        remedy: `Try again in ${fault.retryAfterSeconds} seconds.`
      }
    case "StorageUnavailable":
    case "Contended":
    case "Overloaded":
      return {
        title: "We cannot do this right now",
        happened: "The server is busy or a part of it is away. Nothing was changed.",
        remedy: "Wait a moment and try again."
      }
    default:
      return {
        title: "This did not work",
        happened: "The request was not complete, so nothing was done.",
        remedy: "Go back to where you came from and start again."
      }
  }
}

/** A refusal as a person reads it. */
export const faultPage = (pages: Pages["Service"], call: Call, fault: Refusal | StorageUnavailable): HttpResponse => {
  const wire = faultToWire(fault)
  const response = pages.error(call.workspace, wire.status, {
    ...words(fault),
    developer: { explanation: wire.description },
    requestId: call.requestId
  })
  return wire.headers === undefined ? response : { ...response, headers: [...response.headers, ...wire.headers] }
}
