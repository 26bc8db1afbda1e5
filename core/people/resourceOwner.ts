import { Effect, Layer, Option } from "effect"
import { type Profile, ResourceOwner, type SignedIn } from "../ports/ResourceOwner.ts"
import { basePath } from "../workspace/Workspace.ts"
import { Accounts, type Here } from "./Accounts.ts"

const signedInAs = ({ session, account }: Here): SignedIn => ({
  user: account.id,
  session: session.id,
  label: account.email,
  role: account.role
})

/** The built-in accounts as the protocol sees them. An embedding host gives a layer of its own instead. */
export const resourceOwnerLayer = Layer.effect(
  ResourceOwner,
  Effect.map(Accounts, (accounts) => ({
    current: (workspace, request) => Effect.map(accounts.here(workspace, request), Option.map(signedInAs)),
    signInAt: (workspace, returnTo) => `${basePath(workspace.issuer)}/login?return_to=${encodeURIComponent(returnTo)}`,
    profile: (workspace, user) =>
      Effect.map(accounts.book.find(workspace.id, user), (account) =>
        account?._tag === "Active"
          ? Option.some<Profile>({
              sub: account.id,
              email: account.email,
              // Nobody ever asked the mailbox.
              email_verified: false,
              ...(account.name === null ? {} : { name: account.name })
            })
          : Option.none<Profile>()
      )
  }))
)
