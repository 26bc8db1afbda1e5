import type { DocumentFaultName, InvalidRequestUri, UntrustedRequest } from "../rules/Refusal.ts"
import { type ReturnAddress, returnAddress } from "./Consent.ts"
import type { ErrorPage } from "./ErrorPage.ts"
import { type Notice, problemNotice } from "./Layout.ts"

/*
 * The words for people of every error that more than one endpoint has. Their counterpart for clients, the
 * `error_description`, stands in `http/faults.ts`, which also chooses the page for each refusal.
 */

/** An error page, and its status. */
export interface CommonError extends Omit<ErrorPage, "requestId"> {
  readonly status: number
}

/** RFC 6749 §4.1.2.1: the person is told about an unknown client, and not by a redirect. */
export const unknownClient = (clientId: string): CommonError => ({
  name: "unknown-client",
  status: 400,
  title: "We don't know this application",
  happened: "The application that sent you here is not registered here. Nothing was shared with it.",
  remedy: "Go back to the application and connect again. If that does not help, tell its developer.",
  developer: {
    explanation:
      "No client has this client_id. If the registration was deleted or has expired, register again (RFC 7591) and store the new client_id.",
    details: [["client_id", clientId]]
  }
})

export const clientDisabled = (clientId: string): CommonError => ({
  name: "client-disabled",
  status: 400,
  title: "This application is disabled",
  happened: "An owner has disabled the application that sent you here. Nothing was shared with it.",
  remedy: "If you need the application, ask an owner to enable it again.",
  developer: {
    explanation: "The client is disabled. Its registration and its grants are kept, but none of them works.",
    details: [["client_id", clientId]]
  }
})

/** RFC 6749 §4.1.2.1: a redirect URI that does not match must not be redirected to. */
export const redirectUriMismatch = (clientId: string, redirectUri: string): CommonError => ({
  name: "redirect-uri-mismatch",
  status: 400,
  title: "The return address does not match",
  happened:
    "The application asked us to send you to an address that it has not registered. That can be a mistake or an attempt to trick you, so we stopped here. Nothing was shared.",
  remedy: "If you followed a link, do not use it again. If you started in the application itself, tell its developer.",
  developer: {
    explanation:
      "redirect_uri must equal a registered one character for character: scheme, host, path, query and final slash. Only the port of a loopback address may differ.",
    details: [
      ["client_id", clientId],
      ["redirect_uri", redirectUri]
    ]
  }
})

/** A request that cannot be answered by a redirect. `explanation` is for the client's developer. */
export const badRequest = (
  explanation: string,
  details: ReadonlyArray<readonly [string, string]> = []
): CommonError => ({
  name: "bad-request",
  status: 400,
  title: "This link is incomplete",
  happened: "The application sent you here with a request that we cannot read. Nothing was shared with it.",
  remedy: "Go back to the application and try again. If that does not help, tell its developer.",
  developer: { explanation, details }
})

const whyOver: Record<InvalidRequestUri["reason"], string> = {
  malformed: "is not one that this server gave out",
  unknown_key: "is not one that this server gave out",
  forged: "is not one that this server gave out",
  unknown: "is not known any more",
  expired: "has expired",
  used: "was used before",
  other_client: "is not this client's",
  repeated: "came more than once",
  beside_request: "came together with the parameter request"
}

/** RFC 9126 §4: a request that was pushed is good for a moment, once, and for its own client. */
export const requestUriOver = (reason: InvalidRequestUri["reason"]): CommonError => ({
  name: "request-uri",
  status: 400,
  title: "This link is no longer valid",
  happened:
    "The request that the application left here has expired, was answered before, or is not its own. Nothing was shared with it now.",
  remedy: "Go back to the application and connect again. If that does not help, tell its developer.",
  developer: {
    explanation: `The request_uri ${whyOver[reason]}. Push the request again for each authorization (RFC 9126).`
  }
})

const inDocument: Record<DocumentFaultName, string> = {
  document_refused: "An owner of this workspace blocked the host of this client_id.",
  document_address: "Documents are fetched from ports 443 and 8443, unless the operator allows another.",
  document_too_long: "The document is longer than 5 KiB.",
  document_malformed: "The address has to answer 200 with a JSON object as application/json, and without a redirect.",
  document_mismatch:
    "The member client_id of the document has to equal the document's address, character for character.",
  document_secret:
    "The document has a client_secret or a private key, or asks for a method that takes a secret. Use none or private_key_jwt, with public keys.",
  document_unusable: "The document needs a redirect URI that can be had here, and members as RFC 7591 has them."
}

/** A metadata document of which no client comes. Nothing in it is believed, so no browser is redirected. */
const documentUnusable = (reason: DocumentFaultName, clientId: string): CommonError => ({
  name: "client-document",
  status: 400,
  title: "We cannot tell which application this is",
  happened:
    reason === "document_refused"
      ? "An owner has blocked the address that the application goes by. Nothing was shared with it."
      : "The application goes by an address where nothing usable is told about it. Nothing was shared with it.",
  remedy: "Go back to the application and try again later. If that does not help, tell its developer.",
  developer: { explanation: inDocument[reason], details: [["client_id", clientId]] }
})

/** The same where nothing came of the address at all, which may be different in a moment. */
export const documentUnreachable: CommonError = {
  name: "client-document",
  status: 503,
  title: "The application's own address does not answer",
  happened:
    "The application goes by an address that tells what it is, and that could not be read just now. Nothing was shared with it.",
  remedy: "Wait a moment, then go back to the application and connect again."
}

/** A return address in a sentence. */
export const placeInWords = (address: ReturnAddress): string => {
  switch (address.kind) {
    case "site":
      return address.host
    case "thisDevice":
      return `${address.host} on this computer`
    case "app":
      return address.opens
    case "unknown":
      return "the application"
  }
}

/**
 * RFC 9700 §4.11.2: the registrant of the client chose the address, and perhaps for nothing but this redirect, so that
 * only the person may follow it. `href`: the address with the error.
 */
export const strangersError = (explanation: string, redirectUri: string, href: string): CommonError => {
  const place = placeInWords(returnAddress(redirectUri))
  return {
    name: "strangers-request",
    status: 400,
    title: "This application made a mistake",
    happened:
      "The application that sent you here registered itself, and nobody here has allowed it anything yet. We cannot answer its request. Nothing was shared with it.",
    remedy: `It wants to be told at ${place}. Go there only if you started this yourself and know this address.`,
    developer: { explanation },
    next: { label: `Go to ${place}`, href }
  }
}

/** An authorization request without a client or redirect URI that it could be answered to. */
export const untrustedRequest = ({ clientId = "", reason, redirectUri = "" }: UntrustedRequest): CommonError => {
  switch (reason) {
    case "client_unknown":
      return unknownClient(clientId)
    case "client_disabled":
      return clientDisabled(clientId)
    case "redirect_uri_not_registered":
      return redirectUriMismatch(clientId, redirectUri)
    case "client_missing":
      return badRequest("The parameter client_id is missing.")
    case "client_repeated":
      return badRequest("The parameter client_id was sent more than once.")
    case "redirect_uri_missing":
      return badRequest("The parameter redirect_uri is missing. It is required even if only one is registered.", [
        ["client_id", clientId]
      ])
    case "redirect_uri_repeated":
      return badRequest("The parameter redirect_uri was sent more than once.", [["client_id", clientId]])
    default:
      return documentUnusable(reason, clientId)
  }
}

/**
 * OpenID Connect RP-Initiated Logout §4: the person came to sign out, and did not; without an application there is a
 * page that asks.
 */
export const notSignedOut = (
  explanation: string,
  details: ReadonlyArray<readonly [string, string]>,
  signOutAt: string
): CommonError => ({
  name: "not-signed-out",
  status: 400,
  title: "You were not signed out",
  happened:
    "The application that sent you here asked to sign you out, by a request that we cannot use. If you were signed in, you still are.",
  remedy: "You can sign out here. Tell the application's developer, too.",
  developer: { explanation, details },
  next: { label: "Sign out", href: signOutAt }
})

/** The same where the client is none that there is, or the address after is not its own. */
export const untrustedSignOut = (fault: UntrustedRequest, signOutAt: string): CommonError => {
  const { clientId, reason, redirectUri } = fault
  const explanation =
    reason === "redirect_uri_not_registered"
      ? "post_logout_redirect_uri must equal one of the client's post_logout_redirect_uris character for character, even the port of a loopback address. It goes with a client_id or an id_token_hint."
      : (untrustedRequest(fault).developer?.explanation ?? "")
  const details = [
    ["client_id", clientId],
    ["post_logout_redirect_uri", redirectUri]
  ] as const
  return notSignedOut(
    explanation,
    details.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
    signOutAt
  )
}

/** An authorization request that is too long for the address of the sign-in page. */
export const requestTooLong = (explanation: string): CommonError => ({
  name: "request-too-long",
  status: 400,
  title: "This request is too long",
  happened: "The application's request is too long to keep while you sign in. Nothing was shared with it.",
  remedy: "Trying again will not help. Tell the application's developer.",
  developer: { explanation }
})

/** A form whose csrf value is not of this session: an old tab, another account since, or a forgery. */
export const formExpired = (startAgainAt?: string): CommonError => ({
  name: "form-expired",
  status: 403,
  title: "This page is out of date",
  happened: "You signed in or out after this page was opened, or it was open for too long. Nothing was changed.",
  remedy: "Open the page again and repeat what you were doing.",
  ...(startAgainAt === undefined ? {} : { next: { label: "Start again", href: startAgainAt } })
})

/** The consent page, opened without an application's request. */
export const nothingToApprove: CommonError = {
  name: "nothing-to-approve",
  status: 400,
  title: "There is nothing to approve here",
  happened: "This page only opens from an application that asks to connect.",
  remedy: "Go back to the application and connect again."
}

/** A request that no page of this server sends. */
export const notUnderstood = (status: number, explanation: string): CommonError => ({
  name: "not-understood",
  status,
  title: "This did not work",
  happened: "The server cannot use what was sent to this page. Nothing was changed.",
  remedy: "Go back to the previous page and start again.",
  developer: { explanation }
})

/** A set-up or invitation link that was used, was withdrawn, has expired or never existed. */
export const linkSpent = (signInAt: string): CommonError => ({
  name: "link-spent",
  status: 410,
  title: "This link no longer works",
  happened: "The link was already used, was withdrawn or has expired. Links like this one work only once.",
  remedy: "If you already created your account with it, sign in. Otherwise ask for a new link.",
  next: { label: "Sign in", href: signInAt }
})

export const pageNotFound = (home: string): CommonError => ({
  name: "page-not-found",
  status: 404,
  title: "Page not found",
  happened: "There is no page at this address.",
  remedy: "Check the address for a typing mistake, or go to the home page.",
  next: { label: "Go to the home page", href: home }
})

/** The address of a page, requested by a method that it does not have. */
export const openedDifferently = (home: string): CommonError => ({
  name: "wrong-method",
  status: 405,
  title: "This page cannot be opened like this",
  happened: "The address exists, but does not take this kind of request. Nothing was changed.",
  remedy: "Go back to the previous page, or go to the home page.",
  next: { label: "Go to the home page", href: home }
})

export const ownersOnly = (settings: string): CommonError => ({
  name: "owners-only",
  status: 403,
  title: "Only owners can open this page",
  happened: "This page is for owners of the workspace, and you are a member.",
  remedy: "Ask an owner to do it for you.",
  next: { label: "Back to settings", href: settings }
})

/** The storage is away or the server is overloaded. Answer with `Retry-After`. */
export const unavailable: CommonError = {
  name: "unavailable",
  status: 503,
  title: "The server is not available",
  happened: "The server cannot answer at the moment. Nothing was lost, and nothing was done twice.",
  remedy: "Wait a few seconds and reload this page."
}

/** The operator has disabled the workspace. Answer with `Retry-After`. */
export const workspaceDisabled: CommonError = {
  name: "workspace-disabled",
  status: 503,
  title: "This is closed for now",
  happened: "The operator of this server has disabled it for the time being. Nothing was lost.",
  remedy: "Come back later, or ask whoever runs it. What you allowed applications stays as it is."
}

/** A form that was sent after its session had ended. */
export const formAfterSignOut: Notice = problemNotice(
  "You were signed out before you sent the form. Nothing was changed."
)

/** What a rate limit counted, as a part of a sentence. Sign-in has a limit for each thing that it counts. */
export const limitInWords = (limit: string): string =>
  limit === "sign_in" || limit.startsWith("sign_in_") ? "attempts to sign in" : "requests"
