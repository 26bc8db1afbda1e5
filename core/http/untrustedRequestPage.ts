import type { ErrorPage } from "../pages/ErrorPage.ts"
import type { UntrustedRequest } from "../rules/Refusal.ts"
import type { Call } from "./Call.ts"

const explanations: Record<UntrustedRequest["reason"], string> = {
  client_missing: "The parameter client_id is missing.",
  client_unknown:
    "No client with this client_id is registered here. Clients that never completed a flow are forgotten after a while: register again.",
  client_disabled: "An owner of this workspace has switched this client off.",
  client_repeated: "The parameter client_id came more than once.",
  redirect_uri_missing: "The parameter redirect_uri is missing; it is needed even where only one is registered.",
  redirect_uri_repeated: "The parameter redirect_uri came more than once.",
  redirect_uri_not_registered:
    "The redirect_uri is not one of those that the client registered. They are compared character by character; only the port of a loopback address may differ."
}

/** What a person sees who was sent here by an application that the server cannot place. */
export const untrustedRequestPage = (refusal: UntrustedRequest, call: Call): ErrorPage => ({
  title: "This link does not work",
  happened: "The application that sent you here is not set up correctly, so nothing was shared with it.",
  remedy: "Go back to the application and try to connect again. If that does not help, tell whoever makes it.",
  developer: { explanation: explanations[refusal.reason] },
  requestId: call.requestId
})
