import { expect, test } from "bun:test"
import { Effect } from "effect"
import { startGenerator } from "../../benchmarks/measure/processes.ts"
import type { Plan, Run } from "../../benchmarks/Plan.ts"

const valuesOf = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)

const plan = (use: Plan["use"], values: ReadonlyArray<string>): Plan => ({
  method: "POST",
  path: "/",
  headers: {},
  body: "{value}",
  use,
  values,
  expect: 200
})

const run = (port: number, of: Plan, chain?: string): Run => ({
  plan: of,
  ports: [port],
  connections: 4,
  warmMillis: 10,
  warmRequests: 8,
  millis: 30,
  chain,
  servers: [process.pid],
  families: []
})

/** Takes each value once, as an authorization server does, and gives its successor for it. */
const strict = () => {
  const used = new Set<string>()
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const value = await request.text()
      if (used.has(value)) return new Response("twice", { status: 400 })
      used.add(value)
      return Response.json({ refresh_token: `${value}'` })
    }
  })
  return { port: server.port ?? 0, used, stop: () => server.stop(true) }
}

test("a chain goes on where its last run ended: no answer is left behind", async () => {
  const server = strict()
  await Effect.gen(function* () {
    const generator = yield* startGenerator()
    const of = plan("chain", valuesOf("t", 6))
    let requests = 0
    for (let n = 0; n < 3; n++) requests += (yield* generator.run(run(server.port, of, "one"))).requests
    expect(requests).toBeGreaterThan(0)
    // Without the name it would start with what has been used up.
    const again = yield* Effect.flip(generator.run(run(server.port, of)))
    expect(again.message).toContain("was answered 400")
  }).pipe(Effect.scoped, Effect.runPromise)
  server.stop()
})

test("values that can be used once end a run, or its time does", async () => {
  const server = strict()
  await Effect.gen(function* () {
    const generator = yield* startGenerator()
    const few = yield* generator.run(run(server.port, plan("once", valuesOf("few", 40))))
    expect(few.requests).toBeGreaterThan(0)
    expect(few.requests).toBeLessThanOrEqual(40)
    const before = server.used.size
    yield* generator.run(run(server.port, plan("once", valuesOf("many", 100_000))))
    expect(server.used.size - before).toBeLessThan(100_000)
  }).pipe(Effect.scoped, Effect.runPromise)
  server.stop()
})

test("a turn has four answers for each connection, however soon its time is over", async () => {
  const server = strict()
  await Effect.gen(function* () {
    const generator = yield* startGenerator()
    const connections = 64
    const short = { ...run(server.port, plan("once", valuesOf("n", 10_000))), connections, millis: 0 }
    expect((yield* generator.run(short)).requests).toBeGreaterThanOrEqual(4 * connections)
  }).pipe(Effect.scoped, Effect.runPromise)
  server.stop()
})
