import { afterEach, expect, test } from "bun:test"
import { AsyncLocalStorage } from "node:async_hooks"
import { createServer, type Server } from "node:http"
import type { HttpRequest } from "../../core/http/Http.ts"
import * as ofBun from "../../runtimes/bun.ts"
import * as ofNode from "../../runtimes/node.ts"

/** Who calls, as a framework tells it beside the request: Next's `cookies()`, or a middleware of the host's. */
const caller = new AsyncLocalStorage<string>()

/** Answers who is said to call at once, and later. */
const serve = async (_request: HttpRequest) => {
  const first = caller.getStore()
  await Promise.resolve()
  return { status: 200, headers: [], body: `${first} ${caller.getStore()}` }
}

const names = Array.from({ length: 40 }, (_, n) => `caller ${n}`)
const bodies = names.map((name) => `${name} ${name}`)

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
  server = undefined
})

test("what a host keeps beside a request is that request's, in a crowd behind the server of Bun", async () => {
  const { fetch: answer } = ofBun.server(serve)
  const ask = (name: string) =>
    caller.run(name, () => answer(new Request("http://a.example/", { method: "POST" }), { requestIP: () => null }))
  const answers = await Promise.all(names.map(ask))
  expect(await Promise.all(answers.map((answered) => answered.text()))).toEqual(bodies)
})

test("what a host keeps beside a request is that request's, in a crowd behind a handler on Node", async () => {
  const listener = ofNode.handler(serve)
  const listening = createServer((request, response) =>
    caller.run(String(request.headers["x-caller"]), () => listener(request, response))
  )
  server = listening
  const port = await new Promise<number>((resolve) =>
    listening.listen(0, "127.0.0.1", () => {
      const address = listening.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  )
  const ask = (name: string) => fetch(`http://127.0.0.1:${port}/`, { headers: { "x-caller": name } })
  const answers = await Promise.all(names.map(ask))
  expect(await Promise.all(answers.map((answered) => answered.text()))).toEqual(bodies)
})
