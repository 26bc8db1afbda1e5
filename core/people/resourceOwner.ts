import { Effect, Layer, Option, Redacted } from "effect"
import { base64Url } from "../codec/Base64Url.ts"
import { note } from "../engine/AuditContext.ts"
import { Audit } from "../ports/Audit.ts"
import { Entropy } from "../ports/Entropy.ts"
import { type Profile, ResourceOwner, type SignedIn, type SignInHints } from "../ports/ResourceOwner.ts"
import type { UserId } from "../rules/Id.ts"
import { pagesPath } from "../workspace/SessionPath.ts"
import { basePath } from "../workspace/Workspace.ts"
import { type Active, normaliseEmail } from "./Account.ts"
import { Accounts, type Here } from "./Accounts.ts"
import { clearSessionCookie } from "./Cookie.ts"
import type { Session } from "./Sessions.ts"

/** A session of the built-in accounts as the `ResourceOwner` port tells it. */
export const signedInAs = ({ session, account }: Here): SignedIn => ({
  user: account.id,
  session: session.id,
  label: account.email,
  role: account.role,
  // RFC 8176: there is no other means.
  amr: ["pwd"],
  confirmedAt: session.confirmedAt,
  authenticatedAt: session.confirmedAt,
  ...(session.name === undefined ? {} : { name: session.name }),
  ...(session.before === undefined ? {} : { before: session.before })
})

/** `left`: the session's path where no person is signed in, so that the browser goes back there no more. */
const loginAt = (base: string, returnTo: string, { loginHint = "" }: SignInHints = {}, left?: string): string => {
  const email = normaliseEmail(loginHint)
  return `${base}/login?return_to=${encodeURIComponent(returnTo)}${
    email === undefined ? "" : `&login_hint=${encodeURIComponent(email)}`
  }${left === undefined ? "" : `&left=${encodeURIComponent(left)}`}`
}

const idOf = (account: Active | undefined): Option.Option<UserId> => Option.fromUndefinedOr(account?.id)

// Holds: a session of these accounts is named by its record's id.
const recordOf = ({ session }: SignedIn) => session as Session["id"]

/** The built-in accounts as the `ResourceOwner` port. A host with its own people gives another layer. */
export const resourceOwnerLayer = Layer.effect(
  ResourceOwner,
  Effect.map(Effect.all({ accounts: Accounts, audit: Audit, entropy: Entropy }), ({ accounts, audit, entropy }) => ({
    current: (workspace, request) =>
      Effect.map(accounts.here(workspace, request), (here) => Option.map(Option.fromUndefinedOr(here), signedInAs)),
    signInAt: (workspace, returnTo, _, hints) =>
      loginAt(basePath(workspace.issuer), returnTo, hints, workspace.sessionPath),
    switchAt: (workspace, returnTo, _, hints) => loginAt(pagesPath(workspace), returnTo, hints),
    hasSessionPaths: true,
    signOut: (workspace, _, signedIn) =>
      Effect.as(accounts.sessions.remove(workspace.id, recordOf(signedIn)), [clearSessionCookie(workspace)]),
    confirm: Effect.fn("people.confirm")(function* ({ id: workspace }, signedIn, password, now) {
      const { session, user } = signedIn
      const account = yield* accounts.book.findActive(workspace, user)
      if (account === undefined) return false
      const fits = yield* accounts.confirm(workspace, account, password, `session ${session}`, now)
      return fits && (yield* accounts.sessions.confirm(workspace, recordOf(signedIn), now))
    }),
    // By the email address, which an owner lets the issuer speak for. The password is one that no person knows.
    asserted: Effect.fn("people.asserted")(function* ({ id: workspace }, { email }, make) {
      const address = normaliseEmail(email ?? "")
      if (address === undefined) return Option.none()
      const known = idOf(yield* accounts.book.byEmail(workspace, address))
      if (Option.isSome(known) || !make) return known
      const password = Redacted.make(base64Url(entropy.bytes(32)), { label: "password" })
      return yield* accounts.open(workspace, { email: address, name: "", role: "member", password }).pipe(
        Effect.tap(({ id: account, role }) => {
          const event = { _tag: "AccountChanged", account, change: "opened", by: "server itself", role } as const
          return note(audit, { workspace, requestId: "server" }, event)
        }),
        Effect.map(({ id }) => Option.some(id)),
        // Another call made the account meanwhile, or none can.
        Effect.catchTag("AccountRefusal", () => Effect.map(accounts.book.byEmail(workspace, address), idOf))
      )
    }),
    places: (workspace, user) =>
      Effect.map(accounts.book.findActive(workspace.id, user), (found) => found?.places ?? []),
    claims: ["amr", "name", "email", "email_verified"],
    profile: (workspace, user) =>
      Effect.map(accounts.book.findActive(workspace.id, user), (found) =>
        Option.map(
          Option.fromUndefinedOr(found),
          ({ email, id, name }): Profile => ({
            sub: id,
            email,
            // No mail is ever sent to the address.
            email_verified: false,
            ...(name === null ? {} : { name })
          })
        )
      )
  }))
)
