import { randomBytes } from "node:crypto"
import type { Order, Plan } from "../../Plan.ts"
import { argument } from "../Argument.ts"
import { get, getWithBearer, post, redirectUri, verifier } from "../forms.ts"
import { obey } from "../obey.ts"
import { clientId, grant, secret } from "./answers.ts"
import { kinds, seal } from "./Seal.ts"

const credentials = { client_id: clientId, client_secret: secret }

const sealed = (kind: 1 | 2 | 3, count: number) =>
  Array.from({ length: count }, () => seal(kind, randomBytes(grant.length), 1, Date.now() + 86_400_000))

/** The same requests as Tessera's. */
const plan = ({ workload, count }: Order): Plan => {
  switch (workload) {
    case "client_credentials":
      return post("/oauth/token", { grant_type: "client_credentials", ...credentials })
    case "bearer_check":
      return getWithBearer("/rest/companies", sealed(kinds.access, count))
    case "introspection":
      return post("/oauth/introspect", { token: "{value}", ...credentials }, "cycle", sealed(kinds.access, count))
    case "metadata":
      return get("/.well-known/oauth-authorization-server")
    case "code_exchange": {
      const fields = { redirect_uri: redirectUri, code_verifier: verifier, ...credentials }
      return post(
        "/oauth/token",
        { grant_type: "authorization_code", code: "{value}", ...fields },
        "once",
        sealed(kinds.code, count)
      )
    }
    case "refresh":
      return post(
        "/oauth/token",
        { grant_type: "refresh_token", refresh_token: "{value}", ...credentials },
        "chain",
        sealed(kinds.refresh, count)
      )
    default:
      throw new Error(`the sealed floor has no ${workload}`)
  }
}

const start =
  argument("runtime", "bun") === "node" ? (await import("./onNode.ts")).start : (await import("./onBun.ts")).start
await obey(await start(), plan)
