import { createInterface } from "node:readline"
import type { Order, Plan, Ready } from "../Plan.ts"

const say = (value: Ready | Plan | { readonly failure: string }) => process.stdout.write(`${JSON.stringify(value)}\n`)

/**
 * What the making of a plan leaves behind is no part of what is measured. Never a collection of everything on the spot:
 * both runtimes throw compiled code away with it. Node has its own with `--expose-gc` only.
 */
const collectGarbage = (): void => {
  if (typeof Bun === "undefined") globalThis.gc?.({ type: "minor" })
  else Bun.gc(false)
}

/** A server under test tells where it listens, answers each order with a plan, and ends with its input. */
export const obey = async (port: number, prepare: (order: Order) => Plan | Promise<Plan>): Promise<void> => {
  say({ port })
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      // What the harness writes.
      const plan = await prepare(JSON.parse(line) as Order)
      collectGarbage()
      say(plan)
    } catch (error) {
      say({ failure: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  }
  process.exit(0)
}
