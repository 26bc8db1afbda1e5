import type { EmbeddedTessera } from "../../runtimes/tessera.ts"
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
