import type { ErrorPage } from "./ErrorPage.ts"

/** The errors that more than one endpoint meets, in the words that people read. Each says its status. */
export interface CommonError extends Omit<ErrorPage, "requestId"> {
  readonly status: number
}

/** RFC 6749 §4.1.2.1: an unknown client is told to the person, never by a redirect. */
export const unknownClient = (clientId: string): CommonError => ({
  status: 400,
  title: "We don't know this application",
  happened:
    "The application that sent you here is not registered with us, or no longer is. Nothing was shared with it.",
  remedy: "Go back to the application and connect again. If it happens again, tell the people who make it.",
  developer: {
    explanation:
      "No client has this client_id. If the registration was deleted or swept, register again (RFC 7591) and store the new client_id; do not reuse the old one.",
    details: [["client_id", clientId]]
  }
})

/** An owner switched it off; whoever was sent here can't do anything about that. */
export const clientDisabled = (clientId: string): CommonError => ({
  status: 400,
  title: "This application is switched off",
  happened: "An owner has switched off the application that sent you here. Nothing was shared with it.",
  remedy: "If you need it, ask an owner to switch it on again.",
  developer: {
    explanation: "The client is disabled. Its registration and its grants are kept, but none of them works.",
    details: [["client_id", clientId]]
  }
})

/** The same section: where the redirect URI does not match, there is nowhere safe to send anybody. */
export const redirectUriMismatch = (clientId: string, redirectUri: string): CommonError => ({
  status: 400,
  title: "The way back does not match",
  happened:
    "The application asked to send you to an address that it never registered. That can be a mistake or an attempt to trick you, so we stopped here. Nothing was shared.",
  remedy:
    "If you followed a link, don't use it again. If you started in the application itself, tell the people who make it.",
  developer: {
    explanation:
      "redirect_uri must equal a registered one character for character: scheme, host, path, query and slash at the end. Only the port of a loopback address may differ.",
    details: [
      ["client_id", clientId],
      ["redirect_uri", redirectUri]
    ]
  }
})

/** What can't even be answered by a redirect, in words for whoever builds the client. */
export const badRequest = (
  explanation: string,
  details: ReadonlyArray<readonly [string, string]> = []
): CommonError => ({
  status: 400,
  title: "This link is incomplete",
  happened: "The application sent you here with a request that we can't read. Nothing was shared with it.",
  remedy: "Go back to the application and try again. If it happens again, tell the people who make it.",
  developer: { explanation, details }
})

/** An authorization request that would not come through sign-in whole. */
export const requestTooLong = (explanation: string): CommonError => ({
  status: 400,
  title: "This request is too long",
  happened: "The application sent you here with more than we can keep while you sign in. Nothing was shared with it.",
  remedy: "Trying again won't help. Tell the people who make the application.",
  developer: { explanation }
})

/** A form without a csrf value that belongs to this session: an old tab, another account since, or a forgery. */
export const formExpired = (startAgainAt?: string): CommonError => ({
  status: 403,
  title: "This page is out of date",
  happened: "You signed in or out since this page was opened, or it was open for very long. Nothing was changed.",
  remedy: "Open it again and repeat what you were doing.",
  ...(startAgainAt === undefined ? {} : { next: { label: "Start again", href: startAgainAt } })
})

/** The consent page opened by hand: it only ever answers an application. */
export const nothingToApprove: CommonError = {
  status: 400,
  title: "There is nothing to approve here",
  happened: "This page only opens from an application that asks to connect.",
  remedy: "Go back to the application and connect again."
}

/** What none of our own pages sends. */
export const notUnderstood = (status: number, explanation: string): CommonError => ({
  status,
  title: "This did not work",
  happened: "What was sent here is not what this page expects. Nothing was changed.",
  remedy: "Go back to where you came from and start again.",
  developer: { explanation }
})

/** A set-up or invitation link that was used, has expired, or never was. */
export const linkSpent = (signInAt: string): CommonError => ({
  status: 410,
  title: "This link no longer works",
  happened:
    "Links like this one work once and only for a while. This one was used already, was taken back, or is too old.",
  remedy: "If you already made your account with it, sign in. If not, ask for a new link.",
  next: { label: "Sign in", href: signInAt }
})

export const pageNotFound = (home: string): CommonError => ({
  status: 404,
  title: "There is nothing here",
  happened: "No page has this address.",
  remedy: "Check it for a typing mistake, or start from the first page.",
  next: { label: "Go to the first page", href: home }
})

/** The address is a page's, but it was asked for in another way than browsers do. */
export const openedDifferently = (home: string): CommonError => ({
  status: 405,
  title: "This page opens differently",
  happened: "The address exists, but not for what was asked of it. Nothing was changed.",
  remedy: "Go back to where you came from, or start from the first page.",
  next: { label: "Go to the first page", href: home }
})

export const ownersOnly = (settings: string): CommonError => ({
  status: 403,
  title: "Only owners can open this",
  happened: "Your account is a member's. This page is for the owners of the workspace.",
  remedy: "Ask an owner to do it for you, or to make you one.",
  next: { label: "Back to settings", href: settings }
})

/** The storage is away or the server is overloaded. Answer with `Retry-After`. */
export const unavailable: CommonError = {
  status: 503,
  title: "We'll be right back",
  happened: "The server can't answer just now. Nothing that you did is lost, and nothing was done twice.",
  remedy: "Wait a few seconds and reload this page."
}
