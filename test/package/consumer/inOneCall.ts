import { type CreateOptions, createTessera } from "tessera"
import * as ofFetch from "tessera/fetch"
import type { Server } from "./play.ts"

const owner = { signedIn: () => undefined, signInAt: () => "/sign-in" }

/** For authors who write promises: the same in one call. */
export const inOneCall = (storage: CreateOptions["storage"]): Server => {
  const auth = createTessera({
    issuer: "https://auth.example.com",
    storage,
    keys: "A".repeat(43),
    workspaceAccess: "registered",
    owner
  })
  const orders = ofFetch.guard(auth, { scopes: ["api"] }, (_request, principal) =>
    Response.json({ orders: [], of: principal._tag })
  )
  return {
    issuer: auth.issuer,
    handle: (request) => (request.url === `${auth.issuer}/orders` ? orders(request) : auth.handle(request)),
    close: auth.close
  }
}

/** What does not compile is complained about where it stands, and not at an option that is right. */
export const misspelt = (storage: CreateOptions["storage"]) => [
  createTessera({
    issuer: "https://auth.example.com",
    storage,
    keys: "A".repeat(43),
    owner,
    // @ts-expect-error: the option's name is `extras`
    extra: ["settings"]
  }),
  createTessera({
    workspaces: [],
    storage,
    keys: "A".repeat(43),
    owner,
    // @ts-expect-error: where there are several workspaces, too
    extra: ["settings"]
  })
]
