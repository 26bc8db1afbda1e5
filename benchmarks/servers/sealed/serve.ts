import { randomBytes } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { Order, Plan } from "../../Plan.ts"
import { argument, get, getWithBearer, obey, portOf, post, redirectUri, verifier } from "../serving.ts"
import { bearer, credentials, grant, headers, introspect, metadata, token, userinfo } from "./answers.ts"
import { kinds, seal } from "./Seal.ts"

const publicHeaders = { "content-type": "application/json", "cache-control": "public, max-age=300" }

const answer = (body: string) => new Response(body, { headers })

const onBun = (): number => {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: (request) => {
      const { url } = request
      switch (url.slice(url.indexOf("/", 8))) {
        case "/oauth/token":
          return request.text().then((body) => answer(token(body)))
        case "/oauth/introspect":
          return request.text().then((body) => answer(introspect(body)))
        case "/rest/companies":
          return answer(bearer(request.headers.get("authorization")))
        case "/oauth/userinfo":
          return answer(userinfo(request.headers.get("authorization")))
        default:
          return new Response(metadata, { headers: publicHeaders })
      }
    }
  })
  return server.port ?? 0
}

const write = (response: ServerResponse, body: string, cache: string) => {
  response.writeHead(200, [
    "content-type",
    "application/json",
    "cache-control",
    cache,
    "content-length",
    String(Buffer.byteLength(body))
  ])
  response.end(body)
}

const read = (request: IncomingMessage, done: (body: string) => void) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => void chunks.push(chunk))
  request.on("end", () => done(Buffer.concat(chunks).toString()))
}

const onNode = (): Promise<number> =>
  portOf(
    createServer((request, response) => {
      switch (request.url) {
        case "/oauth/token":
          return read(request, (body) => write(response, token(body), "no-store"))
        case "/oauth/introspect":
          return read(request, (body) => write(response, introspect(body), "no-store"))
        case "/rest/companies":
          return write(response, bearer(request.headers.authorization), "no-store")
        case "/oauth/userinfo":
          return write(response, userinfo(request.headers.authorization), "no-store")
        default:
          return write(response, metadata, "public, max-age=300")
      }
    })
  )

const sealed = (kind: 1 | 2 | 3, count: number) =>
  Array.from({ length: count }, () => seal(kind, randomBytes(grant.length), 1, Date.now() + 86_400_000))

/** The same requests as Tessera's. */
const plan = ({ workload, count }: Order): Plan => {
  switch (workload) {
    case "client_credentials":
      return post("/oauth/token", { grant_type: "client_credentials", ...credentials })
    case "bearer_check":
      return getWithBearer("/rest/companies", sealed(kinds.access, count))
    case "userinfo":
      return getWithBearer("/oauth/userinfo", sealed(kinds.access, count))
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

await obey(await (argument("runtime", "bun") === "node" ? onNode() : onBun()), plan)
