import { createHash, randomBytes, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import type { Plan } from "../Plan.ts"
import { argument, obey, portOf, post } from "./serving.ts"

/** The least that a token endpoint can be: a form, one hash of a secret, 32 random bytes, some JSON. */
const secret = "a-secret-of-forty-three-characters-it-is-ok"
const digest = createHash("sha256").update(secret).digest()
const headers = { "content-type": "application/json", "cache-control": "no-store" }

const answer = (form: { readonly get: (name: string) => string | null }): string => {
  const shown = createHash("sha256")
    .update(form.get("client_secret") ?? "")
    .digest()
  if (!timingSafeEqual(shown, digest)) return JSON.stringify({ error: "invalid_client" })
  return JSON.stringify({
    access_token: randomBytes(32).toString("base64url"),
    token_type: "Bearer",
    expires_in: 3600,
    scope: "api"
  })
}

const onBun = (): number =>
  Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    fetch: async (request) => new Response(answer(new URLSearchParams(await request.text())), { headers })
  }).port ?? 0

const onElysia = async (): Promise<number> => {
  const { Elysia } = await import("elysia")
  const app = new Elysia()
    .post("/oauth/token", ({ body }) => {
      // Elysia has parsed the form into an object of texts.
      const fields = body as Readonly<Record<string, string>>
      return new Response(answer({ get: (name) => fields[name] ?? null }), { headers })
    })
    .listen({ hostname: "127.0.0.1", port: 0 })
  return app.server?.port ?? 0
}

const onNode = (): Promise<number> =>
  portOf(
    createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => void chunks.push(chunk))
      request.on("end", () => {
        const body = answer(new URLSearchParams(Buffer.concat(chunks).toString()))
        response.writeHead(200, { ...headers, "content-length": Buffer.byteLength(body) })
        response.end(body)
      })
    })
  )

/** Answers anything with a few bytes and reads nothing: what is left is the load generator's own limit. */
const onNothing = (): number => {
  const body = "x".repeat(200)
  const empty = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  return Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: (socket) => void socket.write(empty) } }).port
}

const starts = new Map<string, () => number | Promise<number>>([
  ["bun", onBun],
  ["elysia", onElysia],
  ["node", onNode],
  ["nothing", onNothing]
])
const plan: Plan = post("/oauth/token", {
  grant_type: "client_credentials",
  client_id: "benchmark",
  client_secret: secret
})
await obey(await (starts.get(argument("server", "bun")) ?? onBun)(), () => plan)
