import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { Effect } from "effect"
import { python } from "../harness/given.ts"
import { adaDecides, type Elsewhere, statusAt, withElsewhere } from "./elsewhere.ts"
import { httpsHost } from "./httpsHost.ts"

/** The client of MCP's Python SDK, where the machine has Python. */
const program = python()

interface Outcome {
  /** Where the person was sent, each time. */
  readonly sent: ReadonlyArray<URL>
  readonly done: ReadonlyArray<{
    readonly answers: ReadonlyArray<string>
    /** What it goes by. */
    readonly client: string
    readonly access: string
    readonly scope: string
  }>
}

/** Runs the client to its end; Ada decides wherever it sends her. */
const played = async (program: string, given: object): Promise<Outcome> => {
  const child = spawn(program, [join(import.meta.dir, "mcpPython.py")], { stdio: ["pipe", "pipe", "inherit"] })
  const sent: Array<URL> = []
  try {
    child.stdin.write(`${JSON.stringify(given)}\n`)
    for await (const line of createInterface({ input: child.stdout })) {
      // The lines are those of the script beside this file.
      const told = JSON.parse(line) as { readonly sent?: string; readonly done?: Outcome["done"] }
      if (told.done !== undefined) return { sent, done: told.done }
      if (told.sent === undefined) continue
      sent.push(new URL(told.sent))
      child.stdin.write(`${JSON.stringify(await adaDecides(new URL(told.sent)))}\n`)
    }
    throw new Error("the client ended before it was done")
  } finally {
    child.kill("SIGKILL")
  }
}

if (program !== undefined) {
  test("the MCP Python SDK is led from each API to the issuer, by registration and by its document, and comes back for more", () =>
    Effect.gen(function* () {
      const documents = yield* httpsHost
      const redirect = "http://localhost:3118/callback"
      const document = documents.publish("/python.json", { redirect_uris: [redirect] })
      const play = async ({ orders, tools }: Elsewhere) => {
        const { done, sent } = await played(program, {
          apis: [{ url: tools }, { url: orders }, { url: tools, document }],
          tools: ["read", "change", "read"],
          redirect
        })
        const said = ["read for ada", "change for ada", "read for ada"]
        expect(done.map(({ answers }) => answers)).toEqual([said, said, said])
        // It asks for what it has beside what it lacks, and for `offline_access`, as the issuer's metadata tells it.
        expect(sent.map(({ searchParams }) => [searchParams.get("resource"), searchParams.get("scope")])).toEqual([
          [tools, "tools:read offline_access"],
          [tools, "tools:read offline_access tools"],
          [orders, "orders:read offline_access"],
          [orders, "orders:read offline_access orders"],
          [tools, "tools:read offline_access"],
          [tools, "tools:read offline_access tools"]
        ])
        expect(done.map(({ client }) => client === document)).toEqual([false, false, true])
        expect(sent.map(({ searchParams }) => searchParams.get("client_id") === document)).toEqual([
          false,
          false,
          false,
          false,
          true,
          true
        ])
        const [ofTools = "", ofOrders = "", byDocument = ""] = done.map(({ access }) => access)
        for (const token of [ofTools, byDocument])
          expect([await statusAt(tools, token), await statusAt(orders, token)]).toEqual([200, 401])
        expect([await statusAt(tools, ofOrders), await statusAt(orders, ofOrders)]).toEqual([401, 200])
      }
      yield* Effect.promise(() => withElsewhere(play, { fetch: documents.fetch }))
      expect(documents.asked).toEqual(["/python.json"])
    }).pipe(Effect.scoped, Effect.runPromise))
}
