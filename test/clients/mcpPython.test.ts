import { expect, test } from "bun:test"
import { spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { python } from "../harness/given.ts"
import { adaDecides, statusAt, withElsewhere } from "./elsewhere.ts"

/** The client of MCP's Python SDK, where the machine has Python. */
const program = python()

interface Outcome {
  /** Where the person was sent, each time. */
  readonly sent: ReadonlyArray<URL>
  readonly done: ReadonlyArray<{
    readonly answers: ReadonlyArray<string>
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
  test("the MCP Python SDK is led from each API to the issuer, and comes back for more where a tool takes more", () =>
    withElsewhere(async ({ orders, tools }) => {
      const { done, sent } = await played(program, {
        urls: [tools, orders],
        tools: ["read", "change", "read"],
        redirect: "http://localhost:3118/callback"
      })
      const said = ["read for ada", "change for ada", "read for ada"]
      expect(done.map(({ answers }) => answers)).toEqual([said, said])
      // It asks for what it has beside what it lacks, and for `offline_access`, as the issuer's metadata tells it.
      expect(sent.map(({ searchParams }) => [searchParams.get("resource"), searchParams.get("scope")])).toEqual([
        [tools, "tools:read offline_access"],
        [tools, "tools:read offline_access tools"],
        [orders, "orders:read offline_access"],
        [orders, "orders:read offline_access orders"]
      ])
      const [ofTools = "", ofOrders = ""] = done.map(({ access }) => access)
      expect([await statusAt(tools, ofTools), await statusAt(orders, ofTools)]).toEqual([200, 401])
      expect([await statusAt(tools, ofOrders), await statusAt(orders, ofOrders)]).toEqual([401, 200])
    }))
}
