import { bearer, introspect, metadata, token } from "./answers.ts"

const secretHeaders = { "content-type": "application/json", "cache-control": "no-store" }
const publicHeaders = { "content-type": "application/json", "cache-control": "public, max-age=300" }

const answer = (body: string) => new Response(body, { headers: secretHeaders })

export const start = async (): Promise<number> => {
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
        default:
          return new Response(metadata, { headers: publicHeaders })
      }
    }
  })
  return server.port ?? 0
}
