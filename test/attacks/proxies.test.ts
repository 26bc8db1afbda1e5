import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { hiddenFields } from "../given/flow.ts"
import { owner, startServer } from "../given/server.ts"
import { serverOfFile } from "../given/serverOfFile.ts"
import { Visitor } from "../given/serverVisitor.ts"
import { scoped } from "../harness/scoped.ts"
import { sendTo } from "../runtimes/given/wire.ts"

const server = serverOfFile()

/** Headers that a proxy in front would write, and that any client can. */
const claims: ReadonlyArray<ReadonlyArray<readonly [string, string]>> = [
  [["host", "evil.example"]],
  [["host", "evil.example:80"]],
  [["host", "127.0.0.1@evil.example"]],
  [["host", ""]],
  [["x-forwarded-host", "evil.example"]],
  [["x-forwarded-server", "evil.example"]],
  [["x-host", "evil.example"]],
  [["x-original-host", "evil.example"]],
  [["x-forwarded-proto", "https"]],
  [["x-forwarded-port", "443"]],
  [["x-forwarded-prefix", "/evil"]],
  [["forwarded", "for=1.2.3.4;host=evil.example;proto=https"]],
  [["x-original-url", "/settings/keys"]],
  [["x-rewrite-url", "/settings/keys"]],
  [["x-http-method-override", "DELETE"]],
  [["origin", "https://evil.example"]],
  [["referer", "https://evil.example/"]]
]

test.each([...claims])("%p moves neither the issuer nor a link", async (...claim) => {
  // `test.each` spreads the pairs of one row.
  const headers = claim as unknown as ReadonlyArray<readonly [string, string]>
  const send = sendTo(server().port)
  const hosts = headers.some(([name]) => name === "host")
  for (const target of [
    "/.well-known/oauth-authorization-server",
    "/.well-known/oauth-protected-resource/rest/companies",
    "/rest/companies",
    "/login",
    "/settings/keys",
    "/",
    "/no/such/page"
  ]) {
    const answer = await send({ method: "GET", target, headers: [...headers, ["accept", "text/html"]] })
    expect([target, answer.status < 500]).toEqual([target, true])
    const everything = JSON.stringify(answer)
    expect([target, everything.includes("evil")]).toEqual([target, false])
    if (target.startsWith("/.well-known") && !hosts) {
      expect(JSON.parse(answer.body)).toMatchObject(
        target.endsWith("server") ? { issuer: server().url } : { authorization_servers: [server().url] }
      )
    }
    if (target === "/settings/keys") expect(answer.status).not.toBe(200)
  }
})

test("a request that names two hosts is refused", async () => {
  const send = sendTo(server().port)
  const answer = await send({
    method: "GET",
    target: "/healthz",
    headers: [
      ["host", `127.0.0.1:${server().port}`],
      ["host", "evil.example"]
    ]
  })
  expect(answer.status).toBe(400)
})

/** A person who keeps guessing, and says each time that they are another person. */
const guess = async (url: string, forwardedFor: string): Promise<number> => {
  const visitor = new Visitor(url)
  const fields = hiddenFields(await (await visitor.get("/login")).text())
  const claimed = { "x-forwarded-for": forwardedFor, "x-real-ip": forwardedFor, forwarded: `for=${forwardedFor}` }
  return (await visitor.post("/login", { ...fields, email: owner.email, password: "not it" }, claimed)).status
}

const guesses = async (url: string): Promise<ReadonlyArray<number>> => {
  const statuses: Array<number> = []
  for (let count = 1; count <= 8; count++) statuses.push(await guess(url, `198.51.100.${count}`))
  return statuses
}

describe("an address that a request claims for itself", () => {
  test("is not believed of strangers: guessing is slowed down all the same", async () => {
    expect(await guesses(server().url)).toContain(429)
  })

  test("is believed of a proxy that is trusted, and only from its end", () =>
    scoped(function* () {
      const behind = yield* startServer({ env: { TRUSTED_PROXIES: "127.0.0.1" } })
      yield* Effect.promise(async () => {
        expect(await guesses(behind.url)).not.toContain(429)
        const lied: Array<number> = []
        for (let count = 1; count <= 8; count++) lied.push(await guess(behind.url, `203.0.113.${count}, 192.0.2.7`))
        expect(lied).toContain(429)
      })
    }))
})
