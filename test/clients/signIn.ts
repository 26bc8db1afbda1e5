import type { EmbeddedTessera } from "../../runtimes/tessera.ts"
import { people } from "../embed/host.ts"
import { hiddenFields } from "../given/flow.ts"

/** A client's requests, answered in this process. */
export const within = (auth: EmbeddedTessera) => (url: string, sent: object) => auth.handle(new Request(url, sent))

/** Ada reads the page and approves; what comes back is the address at the application. */
export const approve = async (auth: EmbeddedTessera, address: URL): Promise<URL> => {
  const cookie = "session=ada"
  const page = await auth.handle(new Request(address, { headers: { cookie } }))
  const answer = await auth.handle(
    new Request(`${auth.issuer}/consent`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", cookie, origin: auth.issuer },
      body: new URLSearchParams({ ...hiddenFields(await page.text()), decision: "approve" }).toString()
    })
  )
  return new URL(answer.headers.get("location") ?? "")
}

/** People who have a profile, and may sign out. */
export const owner = {
  ...people,
  profile: () => ({ name: "Ada", email: "ada@shop.example", email_verified: true }),
  signOut: () => [["set-cookie", "session=; Max-Age=0"]] as const
}

/** Where an application registers that it gets people back who signed out. */
export const signedOutUri = "https://shop.example/signed-out"

/** The address by which an application's library, or the application itself, has Ada signed out. */
export const endSessionAddress = (endpoint: string | undefined, idToken: string | undefined): URL => {
  const asked = { id_token_hint: idToken ?? "", post_logout_redirect_uri: signedOutUri, state: "over & out" }
  return new URL(`${endpoint}?${new URLSearchParams(asked)}`)
}

/** Ada's browser follows a link that signs her out; what comes back is where she is after. */
export const leave = async (auth: EmbeddedTessera, address: URL): Promise<string | undefined> => {
  const answer = await auth.handle(new Request(address, { headers: { cookie: "session=ada" } }))
  const isOut = answer.headers.getSetCookie().includes("session=; Max-Age=0")
  return isOut ? (answer.headers.get("location") ?? undefined) : `still signed in: ${answer.status}`
}

export const signedOutAt = `${signedOutUri}?state=over%20%26%20out`
