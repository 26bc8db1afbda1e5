import { expect, test } from "bun:test"
import { createServer } from "node:http"
import { Effect, Logger } from "effect"
import * as ofBun from "../../runtimes/bun.ts"
import * as ofNode from "../../runtimes/node.ts"
import { freePort } from "../harness/freePort.ts"
import { sendTo } from "./given/wire.ts"

const fail = () => {
  throw new Error("a fault of the host's")
}

/** How a host may fail: at once, or after it has waited for something. */
const ways = [
  ["at once", fail],
  ["later", async () => fail()]
] as const

const failingBy = (onEarlyAnswer: () => void) => {
  const said: Array<string> = []
  const logger = Logger.make(({ cause }) => void said.push(String(cause)))
  return {
    said,
    options: {
      log: (entry: Effect.Effect<void>) => void Effect.runFork(Effect.provide(entry, Logger.layer([logger]))),
      onEarlyAnswer
    }
  }
}

const serve = () => ({ status: 200, headers: [], body: "fine" })

const told = async (port: number, said: ReadonlyArray<string>) => {
  const send = sendTo(port)
  expect((await send({ method: "POST", target: "/oauth/token", body: "x".repeat(70_000) })).status).toBe(413)
  expect(said).toHaveLength(1)
  expect(said[0]).toContain("a fault of the host's")
  expect((await send({ method: "GET", target: "/" })).status).toBe(200)
}

test.each(ways)(
  "a host that fails %s where it is told what was turned away changes no answer on Node, and ends no other",
  async (_, by) => {
    const { options: failing, said } = failingBy(by)
    const port = await Effect.runPromise(freePort)
    const server = createServer(ofNode.handler(serve, failing))
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
    try {
      await told(port, said)
    } finally {
      server.close()
    }
  }
)

test.each(ways)("nor %s on Bun", async (_, by) => {
  const { options: failing, said } = failingBy(by)
  const server = Bun.serve({ port: 0, ...ofBun.server(serve, failing) })
  try {
    await told(server.port ?? 0, said)
  } finally {
    await server.stop(true)
  }
})
