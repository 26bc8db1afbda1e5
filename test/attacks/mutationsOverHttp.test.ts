import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { drawFrom } from "../../core/testing/Draw.ts"
import { challenge } from "../given/flow.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { register, Visitor } from "../given/serverVisitor.ts"
import { mutate, type Shot } from "./Mutation.ts"

/** The same kind of requests through a socket, a parser and a store that is a file, many at once. */

const seed = process.env.TEST_SEED ?? "over http"
const count = Number(process.env.TEST_HTTP_MUTATIONS ?? 1000)
const atOnce = 16

const server = serverOfFile({ env: { RATE_LIMITS: "off" } })

const arranged = async (): Promise<ReadonlyArray<Shot>> => {
  const { url } = server()
  const client = await register(url, {
    redirect_uris: ["https://app.example.org/callback"],
    grant_types: ["authorization_code", "client_credentials"],
    token_endpoint_auth_method: "client_secret_post"
  })
  const visitor = new Visitor(url)
  await visitor.signIn()
  const cookie = [...visitor.cookies].map((pair) => pair.join("=")).join("; ")
  const form = { "content-type": "application/x-www-form-urlencoded" }
  const credentials = `client_id=${client.client_id}&client_secret=${String(client.client_secret)}`
  const at = visitor.sessionPath
  const get = (target: string): Shot => ({ method: "GET", target, headers: { cookie }, body: "" })
  const post = (target: string, body: string): Shot => ({ method: "POST", target, headers: { ...form, cookie }, body })
  return [
    get("/.well-known/oauth-authorization-server"),
    get("/.well-known/oauth-protected-resource/rest/companies"),
    {
      method: "POST",
      target: "/oauth/register",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: ["https://a.example/cb"], client_name: "x", scope: "api" })
    },
    {
      ...get(`/oauth/register/${client.client_id}`),
      headers: { authorization: `Bearer ${String(client.registration_access_token)}` }
    },
    get(
      `${at}/oauth/authorize?response_type=code&client_id=${client.client_id}&redirect_uri=https%3A%2F%2Fapp.example.org%2Fcallback&code_challenge=${challenge}&code_challenge_method=S256&state=x`
    ),
    post("/oauth/token", `${credentials}&grant_type=client_credentials&scope=api`),
    post("/oauth/token", `${credentials}&grant_type=refresh_token&refresh_token=x`),
    post("/oauth/revoke", `${credentials}&token=x`),
    post("/oauth/introspect", `${credentials}&token=x`),
    { ...get("/oauth/userinfo"), headers: { authorization: "Bearer x" } },
    { ...get("/rest/companies"), headers: { authorization: "Bearer x" } },
    post(`${at}/consent`, "csrf=x&ticket=x&decision=approve"),
    get("/login?return_to=%2Fsettings"),
    get(`${at}/settings/apps?after=x`),
    get(`${at}/settings/clients?q=x`),
    post(`${at}/settings/keys`, "csrf=x&action=create&name=x&expires=30d"),
    get("/"),
    get(`${at}/`),
    get("/readyz")
  ]
}

/** In bytes, as the system sees it. */
const memory = () => {
  const status = readFileSync(`/proc/${server().pid()}/status`, "utf8")
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024
}

const sendable = ["GET", "get", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"]

/** What `fetch` itself will not send, the raw bytes of wire.test.ts do. */
const isSendable = ({ method, headers }: Shot) => sendable.includes(method) && !("content-length" in headers)

const send = async (shot: Shot): Promise<void> => {
  const { method, target, headers, body } = shot
  const bare = method.toUpperCase() === "GET" || method === "HEAD"
  const request = { method, headers, redirect: "manual" as const, ...(bare ? {} : { body }) }
  const url = `${server().url}/${target.replace(/^\/+/, "").replace(/\p{Surrogate}/gu, "\ufffd")}`
  const answer = await fetch(url, { ...request, signal: AbortSignal.timeout(20_000) }).catch((error: unknown) => error)
  const status = answer instanceof Response ? answer.status : String(answer)
  if (answer instanceof Response) await answer.arrayBuffer()
  expect({ shot, status, fine: typeof status === "number" && status < 500 }).toEqual({ shot, status, fine: true })
}

test(`${count} requests that are nearly right (TEST_SEED=${seed}): answered, and the server grows no fatter`, async () => {
  const draw = drawFrom(seed)
  const shots = await arranged()
  const volley = async (length: number) => {
    for (let sent = 0; sent < length; sent += atOnce) {
      const next = Array.from({ length: atOnce }, () =>
        mutate(draw, shots[draw.below(shots.length)] ?? (shots[0] as Shot))
      )
      await Promise.all(next.filter(isSendable).map(send))
    }
  }
  // The first half warms up what a process keeps for good: compiled code, prepared statements, its heap.
  await volley(count / 2)
  const before = memory()
  await volley(count / 2)
  expect(Math.max(0, memory() - before)).toBeLessThan(64 * 1024 * 1024)
  expect((await fetch(`${server().url}/readyz`)).status).toBe(200)
  expect(server().log()).not.toContain("a defect")
}, 180_000)
