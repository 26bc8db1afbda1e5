import { type CreateOptions, createTessera } from "tessera"
import * as ofFetch from "tessera/fetch"
import type { Server } from "./play.ts"

/** For authors who write promises: the same in one call. */
export const inOneCall = (storage: CreateOptions["storage"]): Server => {
  const auth = createTessera({
    issuer: "https://auth.example.com",
    storage,
    keys: "A".repeat(43),
    workspaceAccess: "registered",
    owner: { signedIn: () => undefined, signInAt: () => "/sign-in" }
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
