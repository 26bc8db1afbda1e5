import { Effect, Layer, Option } from "effect"
import { type Profile, ResourceOwner, type SignedIn } from "../ports/ResourceOwner.ts"
import { basePath } from "../workspace/Workspace.ts"
import { isActive } from "./Account.ts"
import { Accounts, type Here } from "./Accounts.ts"

/** A session of the built-in accounts as the `ResourceOwner` port tells it. */
export const signedInAs = ({ session, account }: Here): SignedIn => ({
  user: account.id,
  session: session.id,
  label: account.email,
  role: account.role
})

/** The built-in accounts as the `ResourceOwner` port. A host with its own people gives another layer. */
export const resourceOwnerLayer = Layer.effect(
  ResourceOwner,
  Effect.map(Accounts, (accounts) => ({
    current: (workspace, request) => Effect.map(accounts.here(workspace, request), Option.map(signedInAs)),
    signInAt: (workspace, returnTo) => `${basePath(workspace.issuer)}/login?return_to=${encodeURIComponent(returnTo)}`,
    profile: (workspace, user) =>
      Effect.map(accounts.book.find(workspace.id, user), (found) =>
        Option.map(
          Option.filter(found, isActive),
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
