import * as Errors from "../pages/CommonErrors.ts"
import type { StorageUnavailable } from "../ports/Storage.ts"
import type { Refusal, TooManyRequests, UntrustedRequest } from "../rules/Refusal.ts"
import { basePath } from "../workspace/Workspace.ts"
import type { Call } from "./Call.ts"
import { readForm } from "./form.ts"
import { authorizeAt, consentPath } from "./paths.ts"
import { faultToWire } from "./wire.ts"

const untrusted = (refusal: UntrustedRequest): Errors.CommonError => {
  const { clientId = "", redirectUri = "" } = refusal
  switch (refusal.reason) {
    case "client_unknown":
      return Errors.unknownClient(clientId)
    case "client_disabled":
      return Errors.clientDisabled(clientId)
    case "redirect_uri_not_registered":
      return Errors.redirectUriMismatch(clientId, redirectUri)
    case "client_missing":
      return Errors.badRequest("The parameter client_id is missing.")
    case "client_repeated":
      return Errors.badRequest("The parameter client_id came more than once.")
    case "redirect_uri_missing":
      return Errors.badRequest(
        "The parameter redirect_uri is missing. It is needed even where only one is registered.",
        [["client_id", clientId]]
      )
    case "redirect_uri_repeated":
      return Errors.badRequest("The parameter redirect_uri came more than once.", [["client_id", clientId]])
  }
}

const unreadable = (fault: Refusal): Errors.CommonError => {
  const wire = faultToWire(fault)
  return Errors.notUnderstood(wire.status, wire.description)
}

/** The page of a form is at the form's own path, but for consent: that one opens from the request that it answers. */
const startAgainAt = (call: Call): string | undefined => {
  if (call.path !== consentPath) return basePath(call.workspace.issuer) + call.path
  const form = readForm(call.request)
  const asked = form._tag === "Success" ? form.success.get("request") : undefined
  return asked === undefined ? undefined : `${authorizeAt(call.workspace)}?${asked}`
}

/** What a person reads about a refusal. */
export const faultWords = (
  fault: Exclude<Refusal | StorageUnavailable, TooManyRequests>,
  call: Call
): Errors.CommonError => {
  const base = basePath(call.workspace.issuer)
  switch (fault._tag) {
    case "UntrustedRequest":
      return untrusted(fault)
    case "InvalidRequest":
      return fault.reason === "request_too_long" ? Errors.requestTooLong(fault.message) : unreadable(fault)
    case "ForgedForm":
      return Errors.formExpired(startAgainAt(call))
    case "OwnersOnly":
      return Errors.ownersOnly(`${base}/settings`)
    case "NoSuchRoute":
      return fault.reason === "method" ? Errors.openedDifferently(`${base}/`) : Errors.pageNotFound(`${base}/`)
    case "StorageUnavailable":
    case "Contended":
    case "Overloaded":
      return Errors.unavailable
    default:
      return unreadable(fault)
  }
}
