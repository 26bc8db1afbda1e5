import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { type ClientHttp2Session, connect, createServer, type IncomingHttpHeaders } from "node:http2"
import type { HttpRequest } from "../../core/http/Http.ts"
import * as ofExpress from "../../runtimes/express.ts"
import { guardOf } from "../../runtimes/guard/Check.ts"
import * as ofNode from "../../runtimes/node.ts"
import { createTessera } from "../../runtimes/tessera.ts"
import { options, people, redirectUri } from "../embed/host.ts"

const cookies: Array<string | null | undefined> = []
const auth = createTessera(
  options({
    owner: {
      ...people,
      signedIn: (request) => {
        cookies.push(request.headers.get("cookie"))
        return people.signedIn(request)
      }
    }
  })
)

const hostOf = ({ headers }: Pick<HttpRequest, "headers">) => headers.get("host") ?? "none"
const app = ofNode.handler((request) => ({ status: 200, headers: [], body: hostOf(request) }))
const guarded = ofExpress.guard(
  guardOf(async (call) => ({ _tag: "Refused", response: { status: 401, headers: [], body: hostOf(call) } })),
  { scopes: [] }
)

let session: ClientHttp2Session
const server = createServer()

beforeAll(async () => {
  const mount = ofExpress.mount(auth)
  // Node's compatibility layer, which every framework over `node:http2` stands on, has the shape of `node:http`'s.
  server.on("request", (request, response) =>
    Reflect.apply(mount, undefined, [
      request,
      response,
      () => Reflect.apply(request.url === "/guarded" ? guarded : app, undefined, [request, response, () => undefined])
    ])
  )
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const address = server.address()
  session = connect(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`)
})

afterAll(async () => {
  session.destroy()
  await new Promise((closed) => server.close(closed))
  await auth.close()
})

const ask = (headers: Record<string, string | Array<string>>, body?: string): Promise<readonly [number, string]> =>
  new Promise((resolve, reject) => {
    let status = 0
    let text = ""
    const stream = session.request(headers)
    stream.on("response", (answered: IncomingHttpHeaders) => {
      status = Number(answered[":status"])
    })
    stream.on("data", (bytes) => {
      text += bytes
    })
    stream.on("end", () => resolve([status, text]))
    stream.on("error", reject)
    stream.end(body)
  })

test("cookies that HTTP/2 brings one by one (RFC 9113 §8.2.3) are one header again", async () => {
  const { client } = await auth.clients.register({ client_name: "App", redirect_uris: [redirectUri] })
  const query = new URLSearchParams({ response_type: "code", client_id: client.id, redirect_uri: redirectUri })
  const [status] = await ask({ ":path": `/oauth/authorize?${query}`, cookie: ["theme=dark", "session=ada"] })
  expect([status, cookies]).toEqual([200, ["theme=dark; session=ada"]])
})

test("a body is read that HTTP/2 brings without saying how long it is", async () => {
  const post = { ":path": "/oauth/token", ":method": "POST", "content-type": "application/x-www-form-urlencoded" }
  const [status, text] = await ask(post, "grant_type=client_credentials&client_id=nobody")
  expect([status, JSON.parse(text).error]).toEqual([401, "invalid_client"])
  expect((await ask(post, "a".repeat(70_000)))[0]).toBe(413)
  expect((await ask({ ":path": "/.well-known/oauth-authorization-server" }))[0]).toBe(200)
})

describe("the host of a request over HTTP/2", () => {
  for (const path of ["/app", "/guarded"]) {
    test(`is its :authority (RFC 9113 §8.3.1), at ${path}`, async () => {
      expect((await ask({ ":path": path, ":authority": "red.example" }))[1]).toBe("red.example")
    })

    test(`is its Host header where it has that too, at ${path}`, async () => {
      const both = { ":path": path, ":authority": "red.example", host: "blue.example" }
      expect((await ask(both))[1]).toBe("blue.example")
    })
  }
})
