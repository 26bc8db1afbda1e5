import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { plainEnvironment, runProgram } from "../../harness/runProgram.ts"
import { runtimes } from "../sqlite/runtimes.ts"
import { certificates } from "./certificates.ts"
import { comesOfForm, nameOf, rows } from "./rows.ts"

interface Played {
  readonly name: string
  readonly method: "GET" | "POST"
  readonly came: string
  readonly dialed: ReadonlyArray<string>
  readonly lookups: number
  readonly requests: ReadonlyArray<string>
}

const scope = Scope.makeUnsafe()
const program = join(import.meta.dir, "playRows.ts")
const closed = new Map<string, number>()
const played = new Map<string, ReadonlyArray<Played>>()

beforeAll(
  () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const folder = yield* certificates
        for (const [runtime, command] of runtimes) {
          const [file, ...flags] = command()
          const ended = yield* runProgram(file, [...flags, program, folder], {
            env: {
              ...plainEnvironment,
              NODE_EXTRA_CA_CERTS: join(folder, "public.pem"),
              // None of them counts.
              HTTPS_PROXY: "http://127.0.0.1:9",
              https_proxy: "http://127.0.0.1:9",
              ALL_PROXY: "http://127.0.0.1:9",
              NODE_USE_ENV_PROXY: "1",
              NODE_TLS_REJECT_UNAUTHORIZED: "0"
            }
          })
          expect([runtime, ended.status, ended.status === 0 ? "" : ended.stderr]).toEqual([runtime, 0, ""])
          const lines = ended.stdout.split("\n").filter((line) => line.startsWith(`{"name"`))
          closed.set(runtime, Number(/^\{"closed":(\d+)\}$/m.exec(ended.stdout)?.[1]))
          played.set(
            runtime,
            lines.map((line): Played => JSON.parse(line))
          )
        }
      }).pipe(Scope.provide(scope))
    ),
  170_000
)

afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

describe.each(runtimes.map(([runtime]) => runtime))("over https on %s", (runtime) => {
  const of = (name: string, method: Played["method"] = "GET") =>
    played.get(runtime)?.find((one) => one.name === name && one.method === method)

  test("every row is played twice, under a name of its own", () => {
    expect(played.get(runtime)?.length).toBe(2 * rows.length)
    expect(new Set(rows.map(nameOf)).size).toBe(rows.length)
  })

  for (const row of rows) {
    const expected = [
      ["GET", row.comes],
      ["POST", comesOfForm(row)]
    ] as const
    for (const [method, comes] of expected) {
      test(`${method} ${nameOf(row)}: ${comes}`, () => {
        const came = of(nameOf(row), method)
        expect(came?.came).toBe(comes)
        if (row.dialed !== undefined) expect(came?.dialed).toEqual(row.dialed)
        const refused = comes === "bad_address" || comes === "address_refused"
        if (refused) expect([came?.dialed, came?.requests]).toEqual([[], []])
        // What is turned away is turned away by its first answer, and asked for once; a form is sent once in any case.
        const isOnce = method === "POST" ? !comes.includes("then") : row.comes !== "ok" && !refused
        if (isOnce) expect(came?.requests.length).toBeLessThanOrEqual(1)
        expect(came?.lookups).toBeLessThanOrEqual(row.dns?.length ?? 1)
      })
    }
  }

  test("no connection stays open, whatever came of it", () => {
    // Each row that came to a request has had one, and so have those whose TLS came to nothing.
    const requests = played.get(runtime)?.reduce((sum, { requests }) => sum + requests.length, 0) ?? 0
    expect(requests).toBeGreaterThan(50)
    expect(closed.get(runtime)).toBeGreaterThanOrEqual(requests)
  })

  test("a request names its host to TLS and to HTTP, and holds nothing that it need not", () => {
    const { requests } = of(JSON.stringify("https://KEYS.example/keys?tenant=1")) ?? {}
    expect(requests).toEqual([
      [
        "keys.example GET /keys?tenant=1 HTTP/1.1",
        "host: keys.example",
        "accept: application/json",
        "accept-encoding: identity",
        "user-agent: Tessera",
        "Connection: close",
        "",
        ""
      ].join("\r\n")
    ])
    const { requests: forms } = of(JSON.stringify("https://KEYS.example/keys?tenant=1"), "POST") ?? {}
    expect(forms?.map((form) => form.split("\r\n\r\n", 1))).toEqual([
      [
        [
          "keys.example POST /keys?tenant=1 HTTP/1.1",
          "host: keys.example",
          "accept: application/json",
          "accept-encoding: identity",
          "user-agent: Tessera",
          "content-type: application/x-www-form-urlencoded",
          "content-length: 18",
          "Connection: close"
        ].join("\r\n")
      ]
    ])
    expect(of(JSON.stringify("https://keys.example:8443/keys"))?.requests[0]).toContain(
      "\r\nhost: keys.example:8443\r\n"
    )
    expect(of(JSON.stringify("https://93.184.216.34/keys"))?.requests[0]).toStartWith("no name GET")
  })
})
